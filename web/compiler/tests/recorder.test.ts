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

test('asks compiler.wasm for what is new alone', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  /** A step of a network, with another row count or another function in between. */
  const step = (rows: number, op: string): {program: number; feeds: number} => {
    const [x, w, scale] = [recorder.leaf('f32', [rows, 3]), recorder.leaf('f32', [3, 1]), recorder.constant('f32', [], Float32Array.of(2))];
    const [product] = recorder.record('MatMul', [x, w]) as [Recorded];
    const [scaled] = recorder.record('Mul', [product, scale]) as [Recorded];
    const [bent] = recorder.record(op, [scaled], op === 'LeakyRelu' ? {alpha: new Floats(0.5)} : undefined) as [Recorded];
    const [gradient] = recorder.gradient(bent, [w]) as [Recorded];
    const {program, feeds} = recorder.plan([gradient.id, bent.id]);
    assert.deepEqual(feeds, [w.id, x.id]);
    for (const {id} of [gradient, bent]) recorder.settle(id);
    for (const {id} of [x, w, scale, product, scaled, bent, gradient]) recorder.release(id);
    recorder.release(-1);
    return {program, feeds: feeds.length};
  };
  const kinds = [[4, 'Tanh'], [4, 'LeakyRelu'], [7, 'Tanh']] as const;
  const first = kinds.map(([rows, op]) => step(rows, op));
  assert.equal(new Set(first.map(({program}) => program)).size, 3);
  const {asked} = recorder;
  for (let round = 0; round < 20; ++round) {
    const at = (round * 7) % 3;
    assert.deepEqual(step(...(kinds[at] as (typeof kinds)[0])), first[at]);
  }
  assert.equal(recorder.asked, asked);
  step(7, 'LeakyRelu'); // a combination of what is known makes new nodes and one new program
  assert.ok(recorder.asked > asked);
});

test('constants that follow from shapes are known, too', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  for (let round = 0; round < 3; ++round) {
    const x = recorder.leaf('f32', [2, 5]);
    const [shape] = recorder.record('Shape', [x]) as [Recorded];
    const [ones] = recorder.record('ConstantOfShape', [shape]) as [Recorded];
    const [sum] = recorder.record('Add', [x, ones]) as [Recorded];
    assert.deepEqual(sum.shape, [2, 5]);
    assert.deepEqual(recorder.plan([sum.id]).feeds, [x.id]);
    assert.deepEqual(recorder.plan([shape.id]).feeds, []);
    assert.equal(recorder.plan([sum.id]).program, 0);
    for (const {id} of [x, shape, ones, sum]) recorder.release(id);
  }
});

test('a gradient goes through what the caller has, while it has a history', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  const values = new Map<number, number[]>();
  const shapes = new Map<number, number[]>();
  for (let round = 0; round < 3; ++round) {
    const x = recorder.leaf('f32', [2]);
    const [square] = recorder.record('Mul', [x, x]) as [Recorded];
    const [root] = recorder.record('Mul', [square, square]) as [Recorded];
    // x^4, of which the caller reads x^2: its gradient is 4 x^3 with a history, and 2 x^2 by x^2.
    recorder.settle(square.id, true);
    values.set(x.id, [2, 3]).set(square.id, [4, 9]);
    shapes.set(x.id, [2]).set(square.id, [2]);
    const [byX, bySquare] = [recorder.gradient(root, [x])[0], recorder.gradient(root, [square])[0]] as [Recorded, Recorded];
    const {asked} = recorder;
    assert.deepEqual(await compute(recorder, byX, values, shapes), [32, 108]);
    assert.deepEqual(await compute(recorder, bySquare, values, shapes), [8, 18]);
    assert.equal(recorder.asked, round === 0 ? asked + 2 : asked);
    recorder.forget(square.id);
    assert.deepEqual(await compute(recorder, byX, values, shapes), [0, 0]);
    for (const {id} of [x, square, root, byX, bySquare]) recorder.release(id);
    recorder.release(-1);
  }
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
  const again = recorder.traced({
    name: 'again',
    programs: [program],
    ports: [{name: 'pixels', dtype: 'f32', shape: [1, 3], feed: feeds.indexOf(x.id)}],
    feeds: feeds.map((id) => ({name: `weight${id}`, learnt: true, elements: [bytes.get(id) ?? []].flat()})),
    outputs: ['scores'],
    dims: [],
    opensParameters: false,
  });
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

test('a scalar is recorded after the memory grew', {skip}, async (context) => {
  const instantiate = WebAssembly.instantiate.bind(WebAssembly) as (module: WebAssembly.Module, imports?: WebAssembly.Imports) => Promise<WebAssembly.Instance>;
  let memory: WebAssembly.Memory | undefined;
  context.mock.method(WebAssembly, 'instantiate', async (module: WebAssembly.Module, imports?: WebAssembly.Imports) => {
    const instance = await instantiate(module, imports);
    memory = instance.exports['memory'] as WebAssembly.Memory;
    return instance;
  });
  const recorder = await Recorder.create({wasm});
  recorder.leaf('f32', [2]);
  memory?.grow(1);
  assert.deepEqual(recorder.leaf('f32', []).shape, []);
});
