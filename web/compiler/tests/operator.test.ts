import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {load, tensor} from '../../runtime/src/index.ts';
import {compile, CompileError, float, type Operator, operator} from '../src/index.ts';
import {ownOperator as model} from './onnx.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, 'build-wasm/compiler.wasm');
const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
const wasm = skip ? undefined : new WebAssembly.Module(readFileSync(path));

const common = {domain: 'com.example', inputs: ['x']} as const;
const squaredSwish = operator({
  ...common,
  name: 'SquaredSwish',
  attributes: {alpha: float(1)},
  define: (call, {x}, {alpha}) => call('Mul', call('Mul', x, x), call('Sigmoid', call('Mul', x, alpha))),
});
const spread = operator({
  ...common,
  name: 'Spread',
  define: (call, {x}) => {
    const axes = call('Constant', {value_ints: [1]});
    return call('Sub', call('ReduceMax', x, axes, {keepdims: 0}), call('ReduceMin', x, axes, {keepdims: 0}));
  },
});

const input = [-1, 0.5, 2, 3, 1, -4, 0, 8];
const relu = input.map((x) => Math.max(x, 0));

async function runs(onnx: Uint8Array, own: Operator, wanted: readonly number[]): Promise<void> {
  using ready = await load(await compile(onnx, {target: 'wasm', wasm, operators: [own]}));
  const {y} = await ready.run({x: tensor(input, [2, 4])});
  const found = (await y?.data()) as Float32Array;
  assert.equal(found.length, wanted.length);
  wanted.forEach((value, at) => assert.ok(Math.abs(Number(found[at]) + value) < 1e-5, `${at}: ${found[at]}`));
}

test('an operator of expressions runs, with its default and with the node\'s attribute', {skip}, async () => {
  const swish = (alpha: number) => relu.map((x) => (x * x) / (1 + Math.exp(-alpha * x)));
  await runs(model('SquaredSwish'), squaredSwish, swish(1));
  await runs(model('SquaredSwish', [2, 4], 3), squaredSwish, swish(3));
});

test('an operator of reductions runs', {skip}, () => runs(model('Spread', [2]), spread, [3, 8]));

test('every target fuses an operator of its own with its neighbours', {skip}, async () => {
  for (const target of ['wasm', 'webgpu', 'webgl'] as const) {
    const files = await compile(model('SquaredSwish'), {target, wasm, operators: [squaredSwish, spread]});
    const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as {kernels: unknown[]};
    assert.equal(manifest.kernels.length, 1, target);
  }
});

test('says what is wrong with an operator', {skip}, async () => {
  const wrong = operator({...common, name: 'Spread', define: (call, {x}) => call('Frobnicate', x)});
  const compiling = compile(model('Spread', [2]), {target: 'wasm', wasm, operators: [wrong]});
  await assert.rejects(compiling, (problem) => {
    assert.ok(problem instanceof CompileError);
    assert.match(problem.message, /\[Frobnicate\] "Spread\/v0": is an unknown operator/);
    return true;
  });
  await assert.rejects(compile(model('Spread', [2]), {target: 'wasm', wasm}), /\[Spread\] "mine"/);
  assert.throws(() => operator({...common, name: 'Two', outputs: ['a', 'b'], define: (call, {x}) => call('Neg', x)}), /1 values for 2 outputs/);
  assert.throws(() => operator({...common, name: 'X', outputs: ['x'], define: (call, {x}) => call('Neg', x)}), /names of their own/);
  assert.throws(() => operator({...common, name: 'N', define: (call) => call('Add', 1, 2)}), /Add has only numbers/);
});
