/** Feeds that are arrays alone: what takes the shape from the input, and what says which dimensions are open. */
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {tinyPackage} from '../../tests/fixtures/tiny.ts';
import {type Feed, GossamerError, load, tensor} from '../src/index.ts';
import {asTensors} from '../src/plain/plain.ts';
import type {ValuePort} from '../src/session/ports.ts';

const port = (name: string, dtype: ValuePort['dtype'], ...shape: (number | string)[]): ValuePort => ({name, dtype, shape, tensor: 0, strings: dtype === 'string'});
const isInput = (message: RegExp) => (problem: unknown): boolean => {
  assert.ok(problem instanceof GossamerError, String(problem));
  assert.equal(problem.code, 'input');
  assert.match(problem.message, message);
  return true;
};

test('run() takes arrays where shapes are clear', async () => {
  for (const n of [4, undefined]) {
    using model = await load(await tinyPackage('wasm', {n}), {device: 'wasm'});
    const forms: Feed[] = [Float32Array.of(0, 1, 2, 3), [0, 1, 2, 3], [[0, 1, 2, 3]], [Float32Array.of(0, 1, 2, 3)], {data: [0, 1, 2, 3], shape: [1, 4]}, tensor([0, 1, 2, 3], [1, 4])];
    for (const x of forms) {
      for (const k of [BigInt64Array.of(1n, -8n), [1, -8], [1n, -8n]]) {
        const {y, m} = await model.run({x, k});
        assert.deepEqual([...((await y?.data()) ?? [])], [3, 8, 13, 18]);
        assert.deepEqual(y?.shape, [1, 4]);
        assert.deepEqual([...((await m?.data()) ?? [])], [2n, -7n]);
      }
    }
  }
});

test('arrays are taken at the call', async () => {
  using model = await load(await tinyPackage('wasm', {n: 4}), {device: 'wasm'});
  const values = Float32Array.of(0, 1, 2, 3);
  const rows = [[0, 1, 2, 3]];
  const runs = [model.run({x: values, k: [1, 2]}), model.run({x: rows, k: [1, 2]})];
  values.fill(NaN);
  rows[0]?.fill(NaN);
  for (const run of runs) assert.deepEqual([...((await (await run)['y']?.data()) ?? [])], [3, 8, 13, 18]);
});

test('what cannot be a feed says what to pass', async () => {
  using model = await load(await tinyPackage('wasm', {n: 4}), {device: 'wasm'});
  const k = [1, 2];
  const wrong: [unknown, RegExp][] = [
    [new Float32Array(5), /"x" wants f32 \[1, 4\]; 5 values were given, 4 are needed/],
    [new Float64Array(4), /Float32Array, not a Float64Array: pass Float32Array\.from\(values\)/],
    [BigInt64Array.of(1n, 2n, 3n, 4n), /Float32Array\.from\(values, Number\)/],
    [[[1, 2], [3]], /differ in length/],
    [[1, 2, 'three', 4], /element 2 is three: pass numbers/],
    [[[1, 2], [3, 4]], /"x" wants f32 \[1, 4\], the tensor is f32 \[2, 2\]/],
    [{data: [1, 2, 3], shape: [1, 4]}, /shape \[1, 4\] has 4 elements, 3 values were given/],
    [null, /null was given: pass a Float32Array, or tensor\(data, \[1, 4\]\)/],
    [new ArrayBuffer(16), /a value of class ArrayBuffer was given/],
    [Promise.resolve(), /a value of class Promise was given/],
    [{type: 'float32', dims: [1, 4], data: new Float32Array(4)}, /a value of class Object was given/],
  ];
  for (const [x, message] of wrong) await assert.rejects(model.run({x: x as Feed, k}), isInput(message));
  await assert.rejects(model.run({x: new Float32Array(4), k: Int32Array.of(1, 2)}), isInput(/BigInt64Array\.from\(values, BigInt\)/));
  await assert.rejects(model.run({x: new Float32Array(4), k: [1.5, 2]}), isInput(/element 0 is 1.5: pass integers/));
  await assert.rejects(model.run({x: new Float32Array(4)}), isInput(/"k" is missing/));
  await assert.rejects(model.run({x: new Float32Array(4), k, z: [1]}), isInput(/no input "z"; it has "x", "k"/));
  for (const feeds of [undefined, null, new Float32Array(4), [1], new Map([['x', 1]]), tensor([1])]) {
    await assert.rejects(model.run(feeds as never), isInput(/an object of values by the names of the inputs: \{x: \.\.\.\}/));
  }
});

test('what one input tells of a dimension another takes', () => {
  const inputs = [port('mask', 'bool', 'batch', 'length'), port('ids', 'i64', 'batch', 'length'), port('square', 'f32', 'side', 'side'), port('scale', 'f32')];
  const ids = tensor(new BigInt64Array(6), [2, 3], 'i64');
  const all = asTensors(inputs, {mask: new Uint8Array(6), ids, square: new Float32Array(9), scale: 0.5});
  assert.deepEqual(Object.entries(all).map(([name, {dtype, shape}]) => [name, dtype, shape]).sort(), [
    ['ids', 'i64', [2, 3]], ['mask', 'bool', [2, 3]], ['scale', 'f32', []], ['square', 'f32', [3, 3]],
  ]);
  const both = {mask: new Uint8Array(6), ids: new BigInt64Array(6)};
  assert.throws(() => asTensors(inputs, both), isInput(/"mask" wants bool \[batch, length\]; the 6 values do not tell batch, length: pass tensor\(data, \[batch, length\]\) or \{data, shape\}/));
  assert.throws(() => asTensors(inputs, {square: new Float32Array(8)}), isInput(/8 values were given, which no side makes/));
  const pixels = [port('image', 'f32', 'batch', 3, 2)];
  assert.deepEqual(asTensors(pixels, {image: new Float32Array(24)})['image']?.shape, [4, 3, 2]);
  assert.throws(() => asTensors(pixels, {image: new Float32Array(25)}), isInput(/25 values/));
  assert.deepEqual(asTensors([port('words', 'string', 'n')], {words: ['a', 'bc']})['words'], {data: ['a', 'bc'], shape: [2], dtype: 'string'});
  assert.throws(() => asTensors([port('words', 'string', 'n')], {words: [1]}), isInput(/pass an array of strings/));
});
