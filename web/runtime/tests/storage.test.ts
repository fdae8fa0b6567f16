import assert from 'node:assert/strict';
import {test} from 'node:test';

import {decode, encode, fromHalf, halvesOf, numbersOf, toHalf} from '../src/values/encoding.ts';
import {fromStorage, toStorage} from '../src/values/storage.ts';
import {tensor} from '../src/values/tensor.ts';
import {GossamerError} from '../src/values/types.ts';

test('half floats keep every value and round to nearest even', () => {
  for (let bits = 0; bits < 65536; ++bits) {
    const value = fromHalf(bits);
    if (Number.isNaN(value)) assert.ok(Number.isNaN(fromHalf(toHalf(value))));
    else assert.equal(toHalf(value), bits, `${value}`);
  }
  assert.equal(toHalf(65519), 0x7bff);
  assert.equal(toHalf(65520), 0x7c00);
  assert.equal(toHalf(1 + 2 ** -11), 0x3c00);
  assert.equal(toHalf(1 + 3 * 2 ** -11), 0x3c02);
  assert.equal(toHalf(2 ** -25), 0);
  assert.equal(toHalf(3 * 2 ** -25), 2);
});

test('arrays of halves are converted as one by one, in engines with Float16Array and without', () => {
  const bits = Uint16Array.from({length: 65536}, (_, at) => at).filter((each) => !Number.isNaN(fromHalf(each)));
  const numbers = Float32Array.from(bits, fromHalf);
  assert.deepEqual(numbersOf(bits), numbers);
  assert.deepEqual(halvesOf(numbers), bits);
  assert.deepEqual(numbersOf(bits.subarray(3, 9)), numbers.subarray(3, 9));
  const between = numbers.map((number) => number * (1 + 2 ** -12));
  assert.deepEqual(halvesOf(between), Uint16Array.from(between, toHalf));
  assert.ok(numbersOf(Uint16Array.of(0x7e00, 0xfc01)).every(Number.isNaN));
});

test('values travel through their own form and through wider storage', () => {
  const floats = Float32Array.of(0, -1.5, 3.25, 2 ** -14);
  for (const dtype of ['f16', 'bf16', 'f32'] as const) {
    assert.deepEqual(decode(encode(floats, dtype), dtype), floats);
    assert.deepEqual(fromStorage(toStorage(floats, dtype, 'f32', 'x'), 'f32', dtype), floats);
  }
  // In the same class, which is not gone through value by value.
  assert.equal((fromStorage(encode(floats, 'f32'), 'f32', 'f16') as Float32Array).buffer, floats.buffer);
  assert.equal(toStorage(floats, 'f16', 'f32', 'x').buffer, floats.buffer);
  const wide = BigInt64Array.of(-5n, 2147483647n);
  assert.deepEqual(fromStorage(toStorage(wide, 'i64', 'i32', 'x'), 'i32', 'i64'), wide);
  assert.deepEqual(fromStorage(toStorage(Int8Array.of(-128, 127), 'i8', 'i32', 'x'), 'i32', 'i8'), Int8Array.of(-128, 127));
  assert.deepEqual(fromStorage(Uint8Array.from([2, 0, 0, 0]), 'i32', 'bool'), Uint8Array.of(1));
  const bytes = Uint8Array.of(0, 1, 1);
  assert.deepEqual(fromStorage(toStorage(bytes, 'bool', 'u32', 'x'), 'u32', 'bool'), bytes);
});

test('small types travel as their codes, one a byte', () => {
  const codes = Uint8Array.of(0, 0x7e, 0x80, 0xff);
  for (const dtype of ['f8e4m3fn', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'f6e3m2', 'u2'] as const) {
    assert.deepEqual(decode(encode(codes, dtype), dtype), codes);
    assert.deepEqual(fromStorage(toStorage(codes, dtype, 'i32', 'x'), 'i32', dtype), codes);
  }
  const numbers = Int8Array.of(-8, 7, -1);
  assert.deepEqual(fromStorage(toStorage(numbers, 'i4', 'i32', 'x'), 'i32', 'i4'), numbers);
  assert.equal(tensor(new Uint8Array(2)).dtype, 'u8');
  assert.deepEqual(tensor([-8, 7], [2], 'i4').data, Int8Array.of(-8, 7));
});

test('an integer that 32 bits cannot hold is an error, not another number', () => {
  assert.throws(
    () => toStorage(BigInt64Array.of(1n, 4294967296n), 'i64', 'i32', 'input "ids"'),
    new GossamerError('input', 'input "ids": element 1 is 4294967296; this device has i32 only'),
  );
});

test('a tensor has the type of its array unless one is given', () => {
  assert.equal(tensor(new Float32Array(2)).dtype, 'f32');
  assert.equal(tensor(new BigInt64Array(2)).dtype, 'i64');
  assert.equal(tensor(new Uint8ClampedArray(2)).dtype, 'u8');
  assert.equal(tensor([1, 2, 3]).dtype, 'f32');
  assert.equal(tensor([true, false]).dtype, 'bool');
  assert.deepEqual(tensor([1, 2], [2], 'i64').data, BigInt64Array.of(1n, 2n));
  const values = new Float32Array(6);
  assert.equal(tensor(values, [2, 3]).data, values);
  assert.throws(() => tensor(values, [2, 4]), /shape \[2, 4\] has 8 elements, the data has 6/);
  assert.throws(() => tensor(values, [-6]), /is not a shape/);
});
