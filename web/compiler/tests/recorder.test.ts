import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {load, tensor} from '../../runtime/src/index.ts';
import {CompileError, Compiler, Floats, type Recorded, Recorder} from '../src/index.ts';
import {perceptron} from './onnx.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, 'build-wasm/compiler.wasm');
const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
const wasm = skip ? undefined : new WebAssembly.Module(readFileSync(path));

/** Computes one tensor from leaves' elements. */
async function compute(
  recorder: Recorder,
  wanted: Recorded,
  elements: ReadonlyMap<number, readonly number[]>,
  shapes: ReadonlyMap<number, readonly number[]>,
): Promise<number[]> {
  using compiler = await Compiler.open({wasm});
  const {program, feeds} = recorder.plan([wanted.id]);
  using model = await load(await compiler.compile(recorder.model(program), {target: 'wasm'}));
  const given = feeds.map((id, at) => [`i${at}`, tensor([...(elements.get(id) ?? [])], [...(shapes.get(id) ?? [])])]);
  const {o0} = await model.run(Object.fromEntries(given) as Record<string, ReturnType<typeof tensor>>);
  return Array.from((await o0?.data()) as Float32Array);
}

test('records, plans, and the program runs', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  const a = recorder.leaf('f32', [2, 3]);
  const b = recorder.leaf('f32', [3]);
  const [sum] = recorder.record('Add', [a, b]) as [Recorded];
  const [leaky] = recorder.record('LeakyRelu', [sum], {alpha: new Floats(0.5)}) as [Recorded];
  const axes = recorder.constant('i64', [1], BigInt64Array.of(1n));
  const [total] = recorder.record('ReduceSum', [leaky, axes], {keepdims: 0}) as [Recorded];
  assert.deepEqual([total.dtype, total.shape], ['f32', [2]]);
  const values = new Map([[a.id, [1, 2, 3, -4, -5, -6]], [b.id, [1, 1, 1]]]);
  const shapes = new Map([[a.id, [2, 3]], [b.id, [3]]]);
  assert.deepEqual(await compute(recorder, total, values, shapes), [9, -6]);
});

test('says at the call what does not fit', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  const [a, b] = [recorder.leaf('f32', [2, 3]), recorder.leaf('f32', [4, 5])];
  assert.throws(
    () => recorder.record('MatMul', [a, b]),
    (error: unknown) => error instanceof CompileError && /\[MatMul\].*f32 \[2, 3\], f32 \[4, 5\]/.test(error.message),
  );
  assert.throws(() => recorder.record('MatMuld', [a, b]), /no operator of the catalog/);
  assert.throws(() => recorder.constant('f32', [3], Float32Array.of(1)), /4 bytes, its shape says 12/);
  recorder.release(a.id);
  assert.throws(() => recorder.record('Neg', [a]), /disposed/);
  assert.throws(() => recorder.plan([a.id]), /disposed/);
});

test('gives every structure one program, and forgets what is released', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  const programs = new Set<number>();
  let x = recorder.leaf('f32', [8]);
  for (let step = 0; step < 1000; ++step) {
    const [next] = recorder.record('Tanh', [x]) as [Recorded];
    const {program, feeds} = recorder.plan([next.id]);
    programs.add(program);
    assert.deepEqual(feeds, [x.id]);
    assert.deepEqual(recorder.release(x.id), []);
    recorder.settle(next.id);
    assert.deepEqual(recorder.release(-1), [x.id]);
    x = next;
  }
  assert.equal(programs.size, 1);
});

test('records a model, whose weights are leaves, and writes it again', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  const model = recorder.import(perceptron('n'));
  assert.deepEqual(model.inputs, [{name: 'x', dtype: 'f32', shape: ['n', 3]}]);
  assert.deepEqual(model.outputs, ['y']);
  assert.deepEqual(model.leaves.map(({name, shape, trainable}) => [name, shape, trainable]), [['w', [3, 2], true], ['b', [2], true]]);
  const x = recorder.leaf('f32', [1, 3]);
  const leaves = model.leaves.map(({dtype, shape}) => recorder.leaf(dtype, shape));
  const [y] = recorder.apply(model, [x], leaves) as [Recorded];
  assert.deepEqual(y.shape, [1, 2]);
  const {program, feeds} = recorder.plan([y.id]);
  const bytes = new Map(leaves.map(({id}, at) => [id, model.leaves[at]?.bytes]));
  const weights = feeds.map((id) => bytes.get(id));
  const inputs = feeds.map((id) => (id === x.id ? 'pixels' : `weight${id}`));
  const again = recorder.model(program, {name: 'again', inputs, outputs: ['scores'], weights});
  using compiler = await Compiler.open({wasm});
  using loaded = await load(await compiler.compile(again, {target: 'wasm'}));
  assert.deepEqual(loaded.describe(), {inputs: ['pixels: f32 [1, 3]'], outputs: ['scores: f32 [1, 2]']});
  const {scores} = await loaded.run({pixels: tensor([0, 1, 0], [1, 3])});
  assert.deepEqual(await scores?.data(), Float32Array.of(3.5, 0));
  assert.throws(() => recorder.apply(model, [recorder.leaf('f32', [1, 4])], leaves), /\[MatMul\] "product".*f32 \[1, 4\]/);
  assert.throws(() => recorder.import(Uint8Array.of(8)), CompileError);
});

test('a compiler that stays compiles as a fresh one, and goes on after an error', {skip}, async () => {
  using stays = await Compiler.open({wasm});
  const first = await stays.compile(perceptron(4), {target: 'wasm'});
  await assert.rejects(stays.compile(Uint8Array.of(1, 2, 3), {target: 'wasm'}), CompileError);
  const both = await Promise.all([
    stays.compile(perceptron(4), {target: 'wasm'}),
    stays.compile(perceptron(4), {target: 'webgpu'}),
  ]);
  assert.deepEqual(both[0], first);
  using other = await Compiler.open({wasm});
  assert.deepEqual(both[1], await other.compile(perceptron(4), {target: 'webgpu'}));
});

test('small programs compile within milliseconds', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  using compiler = await Compiler.open({wasm});
  const KINDS = ['Add', 'MatMul', 'Relu', 'Softmax', 'ReduceMean', 'Exp', 'Transpose', 'Conv', 'Sigmoid', 'LayerNormalization'];
  const times: number[] = [];
  const one = async (op: string, n: number): Promise<number> => {
    const image = op === 'Conv';
    const x = recorder.leaf('f32', image ? [1, n % 7 + 1, 16, 16] : [n, n + 1]);
    const other = {
      Add: [n, n + 1], MatMul: [n + 1, n + 2], Conv: [4, n % 7 + 1, 3, 3], LayerNormalization: [n + 1],
    }[op];
    const inputs = other ? [x, recorder.leaf('f32', other)] : [x];
    const [made] = recorder.record(op, inputs) as [Recorded];
    const start = performance.now();
    await compiler.compile(recorder.model(recorder.plan([made.id]).program), {target: 'wasm'});
    return performance.now() - start;
  };
  for (let round = 0; round < 25; ++round) {
    for (const op of KINDS) {
      const time = await one(op, 8 + round);
      if (round >= 20) times.push(time);
    }
  }
  times.sort((a, b) => a - b);
  const late = times[Math.floor(times.length * 0.95)] as number;
  console.log(`compilations: median ${times[times.length >> 1]?.toFixed(2)} ms, 95th percentile ${late.toFixed(2)} ms`);
  // The goal is 5 ms on a machine that does nothing else.
  assert.ok(late <= 20, `${late} ms`);
});
