import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {load, tensor} from '../../runtime/src/index.ts';
import {compile} from '../src/index.ts';
import {verify} from '../src/verify.ts';
import {perceptron} from './onnx.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, 'build-wasm/compiler.wasm');
const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
const wasm = skip ? undefined : new WebAssembly.Module(readFileSync(path));
const x = tensor([1, 2, 3, 4, 5, 6], [2, 3]);

/** The same model with one weight three times as large. */
function spoiled(): Uint8Array {
  const model = perceptron(2).slice();
  const view = new DataView(model.buffer);
  for (let at = model.length - 4; at > 0; --at) {
    if (view.getFloat32(at, true) !== 4) continue;
    view.setFloat32(at, 12, true);
    return model;
  }
  throw new Error('no weight is 4');
}

test('a model that is right says so', {skip}, async () => {
  for (const n of [2, 'n']) {
    using model = await load(await compile(perceptron(n), {target: 'wasm', wasm, verifiable: true}));
    const verdict = await model.verify({x});
    assert.equal(verdict.ok, true);
    assert.ok(verdict.compared >= 1);
    assert.deepEqual(verdict.outputs.map(({tensor: name, error}) => [name, error < 1e-6]), [['y', true]]);
  }
});

test('names the first kernel that differs', {skip}, async () => {
  const files = await compile(perceptron(2), {target: 'wasm', wasm});
  const others = await compile(spoiled(), {target: 'wasm', wasm});
  using right = await load(files);
  using wrong = await load(others);
  const early = await verify(load, () => Promise.resolve({exposed: others, reference: files}), right, {x});
  assert.equal(early.ok, false);
  assert.equal(early.first?.tensor, 'y');
  assert.match(early.first?.origin ?? '', /MatMul "product"/);
  assert.ok((early.outputs[0]?.error ?? 1) < 1e-6);
  // The kernels alone are right, the model is not.
  const late = await verify(load, () => Promise.resolve({exposed: files, reference: files}), wrong, {x});
  assert.equal(late.ok, false);
  assert.equal(late.first, undefined);
  assert.ok((late.outputs[0]?.error ?? 0) > 0.05);
});

test('says when there is nothing to compare with', {skip}, async () => {
  using model = await load(await compile(perceptron(2), {target: 'wasm', wasm}));
  await assert.rejects(model.verify({x}), /verifiable: true/);
});
