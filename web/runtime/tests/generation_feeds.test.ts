/** What generate() feeds besides tokens. */
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {besides} from '../src/generate/feeds.ts';
import type {Manifest} from '../src/package/manifest.ts';
import type {ComputeDevice, DeviceTensor} from '../src/tensors/tensors.ts';

/** The mask of a run of 2 tokens after 1. */
const maskOf = (dtype: string, batch = 1): unknown => {
  const inputs = [{name: 'attention_mask', dtype, shape: [batch, 1, {plan: 0}, {plan: 1}], tensor: 0}];
  const made = besides({inputs} as unknown as Manifest, [], {} as ComputeDevice, undefined as unknown as typeof DeviceTensor, batch);
  return made.feeds(1, 2)['attention_mask'];
};

test('masks for each token hide later ones', () => {
  const shape = [1, 1, 2, 3];
  assert.deepEqual(maskOf('f32'), {dtype: 'f32', shape, data: Float32Array.of(0, 0, -Infinity, 0, 0, 0)});
  assert.deepEqual(maskOf('bool'), {dtype: 'bool', shape, data: Uint8Array.of(1, 1, 0, 1, 1, 1)});
  assert.deepEqual(maskOf('i64'), {dtype: 'i64', shape, data: BigInt64Array.of(1n, 1n, 0n, 1n, 1n, 1n)});
});

test('masks for each token are the same for each text', () => {
  const row = [0, 0, -Infinity, 0, 0, 0];
  assert.deepEqual(maskOf('f32', 2), {dtype: 'f32', shape: [2, 1, 2, 3], data: Float32Array.from([...row, ...row])});
});
