// Test data that other programs wrote.
import assert from 'node:assert/strict';
import test from 'node:test';
import {comparisonsOf} from '../lib/job.mjs';
import {readTensor} from '../models/exported.mjs';
import {tensorFile} from '../models/onnx_file.mjs';
import {models} from '../models/table.mjs';

test('a tensor of test data reads back: name, shape, type, elements', () => {
  const tensors = [
    {name: 'x', shape: [2, 3], type: 'f32', data: Float32Array.of(1, -2, 0.5, 4, 5, 6)},
    {name: 'ids', shape: [1, 2], type: 'i64', data: BigInt64Array.of(-1n, 7n)},
    {name: 'empty', shape: [2, 0], type: 'f32', data: new Float32Array()},
    {name: 'scalar', shape: [], type: 'i32', data: Int32Array.of(9)},
  ];
  for (const tensor of tensors) assert.deepEqual(readTensor(tensorFile(tensor)), tensor);
});

test('rows of the zoo are measured where their files are, on cpu, wasm and webgpu', () => {
  const rows = models.filter(({part}) => part === 'zoo');
  assert.ok(rows.length > 12);
  for (const device of ['cpu', 'wasm', 'webgpu', 'webgl']) {
    const wanted = device === 'webgl' ? [] : rows.filter(({here}) => here());
    assert.deepEqual(comparisonsOf({devices: [device], parts: ['zoo']}).map(({model}) => model), wanted.map(({name}) => name));
  }
});
