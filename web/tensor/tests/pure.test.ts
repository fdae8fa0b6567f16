// What needs no compiler: shapes, types, random numbers.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {promote} from '../src/dtype.ts';
import {manualSeed, normal, permutation, philox, uniform, words} from '../src/random.ts';
import * as shapes from '../src/shape.ts';

test('Philox gives the numbers of its authors\' known answers', () => {
  // Random123's kat_vectors, philox4x32 10.
  const answers: [number[], [number, number], string][] = [
    [[0, 0, 0, 0], [0, 0], '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    [[0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff], '408f276d 41c83b0e a20bc7c6 6d5451fd'],
    [[0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0], 'd16cfe09 94fdcceb 5001e420 24126ea1'],
  ];
  for (const [counter, key, wanted] of answers) {
    const block = Uint32Array.from(counter);
    philox(block, key);
    assert.equal(Array.from(block, (word) => word.toString(16).padStart(8, '0')).join(' '), wanted);
  }
});

test('random numbers follow from the seed and have the distribution that they should', () => {
  manualSeed(3);
  const [first, second] = [words(6), words(6)];
  assert.notDeepEqual(first, second);
  manualSeed(3);
  assert.deepEqual(words(6), first);
  const even = uniform(10_000, -1, 3);
  assert.ok(even.every((value) => value >= -1 && value < 3));
  assert.ok(Math.abs(even.reduce((sum, value) => sum + value, 0) / 10_000 - 1) < 0.05);
  const bell = normal(10_001, 2, 3);
  const mean = bell.reduce((sum, value) => sum + value, 0) / bell.length;
  const spread = bell.reduce((sum, value) => sum + (value - mean) ** 2, 0) / bell.length;
  assert.ok(Math.abs(mean - 2) < 0.15 && Math.abs(spread - 9) < 0.5, `${mean} ${spread}`);
  assert.deepEqual([...permutation(100)].sort((a, b) => a - b), Array.from({length: 100}, (_, at) => at));
});

test('shapes', () => {
  const strides = shapes.computeStrides([2, 3, 4]);
  assert.deepEqual(strides, [12, 4, 1]);
  assert.equal(shapes.indexToPos([1, 2, 3], strides), 23);
  assert.deepEqual(shapes.posToIndex(23, strides), [1, 2, 3]);
  const index = [0, 2];
  assert.ok(shapes.incrementIndex(index, [2, 3]));
  assert.deepEqual(index, [1, 0]);
  assert.ok(shapes.decrementIndex(index, [2, 3]));
  assert.deepEqual(index, [0, 2]);
  assert.ok(!shapes.incrementIndex([1, 2], [2, 3]) && !shapes.decrementIndex([0, 0], [2, 3]));
  assert.ok(shapes.checkEquivShapes([1, 2], [2, 1, 1]) && !shapes.compareShapes([1, 2], [2, 1]));
  assert.deepEqual(shapes.broadcastShapes([3, 1], [2, 1, 4]), [2, 3, 4]);
  assert.throws(() => shapes.broadcastShapes([3], [2]), /\[3\] and \[2\] do not fit: 3 and 2 on axis 0/);
  assert.deepEqual(shapes.inferShape([2, -1, 0], 0, 'x'), [2, 0, 0]);
  assert.throws(() => shapes.inferShape([-1, -1], 4, 'x'), /4 elements/);
});

test('types promote as in PyTorch', () => {
  const rows: [Parameters<typeof promote>, string][] = [
    [['bool', 'u8'], 'u8'], [['u8', 'i8'], 'i16'], [['i8', 'i32'], 'i32'], [['u16', 'i32'], 'i32'], [['i64', 'f16'], 'f16'], [['u32', 'i32'], 'i64'], [['f16', 'f32'], 'f32'],
  ];
  for (const [[a, b], wanted] of rows) {
    assert.equal(promote(a, b), wanted);
    assert.equal(promote(b, a), wanted);
  }
});
