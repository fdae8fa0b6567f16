import assert from 'node:assert/strict';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {largest, perceptron, relu, scaled, squeezed, squeezedIfOne, sum, summedOver} from '../../compiler/tests/onnx.ts';
import {env, InferenceSession, Tensor} from '../src/index.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = join(root, 'web/ort/dist/compiler.wasm');
const skip = existsSync(path) ? false : 'compiler.wasm is not built (make web)';
env.wasm.wasmPaths = {wasm: pathToFileURL(path)};
env.gossamer.cache = false;

/** The shape of a session's first input. */
const shapeOf = ({inputMetadata: [input]}: InferenceSession): unknown => input?.isTensor && input.shape;

const FOUR = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 10, 10];
const WANTED = Float32Array.of(1.5, 0, 3.5, 0, 5.5, 0, 81.5, 2);
const x = (rows = 4): Tensor => new Tensor('float32', Float32Array.from(FOUR.slice(0, 3 * rows)), [rows, 3]);

test('a session as code for onnxruntime-web makes and uses it', {skip}, async () => {
  const session = await InferenceSession.create(perceptron('n'), {
    executionProviders: ['webnn', {name: 'webgpu'}, 'cpu'], // Node has no GPU
    graphOptimizationLevel: 'all',
    enableCpuMemArena: true,
    preferredOutputLocation: {y: 'gpu-buffer'}, // of webgpu, if that is there
    extra: {session: {}},
  });
  assert.deepEqual([session.inputNames, session.outputNames], [['x'], ['y']]);
  assert.deepEqual(session.inputMetadata, [{name: 'x', isTensor: true, type: 'float32', shape: ['n', 3]}]);
  assert.equal(session.outputMetadata[0]?.name, 'y');
  const {y} = await session.run({x: x()}, {logSeverityLevel: 3});
  assert.ok(y instanceof Tensor);
  assert.deepEqual([y.type, y.dims, y.size, y.location], ['float32', [4, 2], 8, 'cpu']);
  assert.deepEqual(y.data, WANTED);
  assert.deepEqual(await y.getData(), WANTED);
  // By names, and into a tensor of the caller's.
  assert.deepEqual((await session.run({x: x(1)}, ['y']))['y']?.data, WANTED.slice(0, 2));
  const mine = new Tensor('float32', new Float32Array(8), [4, 2]);
  assert.equal((await session.run({x: x()}, {y: mine}))['y'], mine);
  assert.deepEqual(mine.data, WANTED);
  assert.deepEqual((await session.run({x: x()}, {y: null}, {tag: 'a'}))['y']?.data, WANTED);
  await session.release();
  await assert.rejects(session.run({x: x()}), /the session was released: create another/);
});

test('models come as bytes, parts of buffers, files; dimensions are fixed by name', {skip}, async () => {
  const model = perceptron('n');
  const buffer = new ArrayBuffer(model.length + 20);
  new Uint8Array(buffer).set(model, 7);
  const folder = mkdtempSync(join(tmpdir(), 'ort-'));
  const file = join(folder, 'model.onnx');
  writeFileSync(file, model);
  const overrides = {freeDimensionOverrides: {n: 4, nobody: 2}};
  try {
    for (const session of [
      await InferenceSession.create(buffer, 7, model.length, overrides),
      await InferenceSession.create(model.slice().buffer, overrides),
      await InferenceSession.create(new Blob([model as Uint8Array<ArrayBuffer>]), {freeDimensionOverridesByName: {n: 4}}),
      await InferenceSession.create(file, overrides),
      await InferenceSession.create(pathToFileURL(file), overrides),
    ]) {
      assert.deepEqual(shapeOf(session), [4, 3]);
      assert.deepEqual((await session.run({x: x()}))['y']?.data, WANTED);
      await assert.rejects(session.run({x: x(2)}), /input "x": float32\[4, 3\] was given float32\[2, 3\]/);
      await session.release();
    }
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('sessions share a device and run at the same time; a dimension may be empty', {skip}, async () => {
  const [a, b] = await Promise.all([InferenceSession.create(perceptron('n')), InferenceSession.create(perceptron(4, 'Tanh'))]);
  const all = await Promise.all(Array.from({length: 12}, (_, at) => (at % 2 ? a : b).run({x: x()})));
  all.forEach((made, at) => assert.deepEqual(Array.from(made['y']?.data as Float32Array, (value) => value <= 1), Array.from(WANTED, (value) => value <= 1 || at % 2 === 0)));
  const none = await a.run({x: new Tensor('float32', new Float32Array(0), [0, 3])});
  assert.deepEqual([none['y']?.dims, none['y']?.data.length], [[0, 2], 0]);
  assert.deepEqual((await a.run({x: x()}))['y']?.data, WANTED);
  await a.release();
  assert.equal((await b.run({x: x()}))['y']?.size, 8); // the other's device is still there
  await b.release();
});

test('what Transformers.js does to a session and its tensors', {skip}, async () => {
  const session = Object.assign(await InferenceSession.create(perceptron('n'), {logSeverityLevel: 3, executionProviders: []}), {config: {dtype: 'fp32'}});
  assert.equal(session.config.dtype, 'fp32');
  // Its tensors are of onnxruntime-common, whose dims it sets.
  const foreign = {type: 'float32' as const, data: Float32Array.from(FOUR), dims: [12] as readonly number[], location: 'cpu' as const};
  foreign.dims = [4, 3];
  const {y} = await session.run({x: foreign as unknown as Tensor});
  assert.ok(y);
  Object.assign(y, {dims: [2, 4]});
  assert.deepEqual([y.dims, y.data], [[2, 4], WANTED]);
  y.dispose();
  assert.equal(y.location, 'none');
  assert.throws(() => y.data, /disposed/);
  await session.release();
});

test('elements of every type, in the arrays of onnxruntime-web', {skip}, async () => {
  const [FLOAT16, DOUBLE, INT32, INT64] = [10, 11, 6, 7];
  const Half = (globalThis as {Float16Array?: unknown}).Float16Array;
  for (const [type, name, data, wanted] of [
    [INT64, 'int64', BigInt64Array.of(-3n, 2n ** 40n, 0n, 7n), BigInt64Array.of(0n, 2n ** 40n, 0n, 7n)],
    [INT32, 'int32', Int32Array.of(-3, 1, 0, 7), Int32Array.of(0, 1, 0, 7)],
    [DOUBLE, 'float64', Float64Array.of(-3, 0.1, 0, 7), Float64Array.of(0, 0.1, 0, 7)],
    // 1.5 and -2 as bits of binary16.
    [FLOAT16, 'float16', Uint16Array.of(0x3e00, 0xc000, 0, 0x3c00), Uint16Array.of(0x3e00, 0, 0, 0x3c00)],
  ] as const) {
    const session = await InferenceSession.create(relu(type));
    const [given] = session.inputMetadata;
    assert.equal(given?.isTensor && given.type, name);
    const result = await session.run({[session.inputNames[0] as string]: new Tensor(name, data, [4])});
    const {data: made} = Object.values(result)[0] as Tensor;
    if (name === 'float16' && Half) assert.deepEqual(Array.from(made as unknown as ArrayLike<number>), [1.5, 0, 0, 1]);
    else assert.deepEqual(made, wanted);
    await session.release();
  }
});

test('bad models and feeds are errors that say what to do', {skip}, async () => {
  const session = await InferenceSession.create(perceptron('n'));
  const wrong: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
    [() => session.run({}), /input "x" is missing in feeds; the model takes "x": float32\[n, 3\]/],
    [() => session.run({x: x(), z: x()}), /there is no input "z"; the model takes "x"/],
    [() => session.run({x: new Tensor('int32', new Int32Array(12), [4, 3])}), /"x": float32\[n, 3\] was given int32\[4, 3\]/],
    [() => session.run({x: new Tensor('float32', new Float32Array(12))}), /was given float32\[12\]/],
    [() => session.run({x: {} as Tensor}), /is not a Tensor: pass new Tensor\('float32', data, dims\)/],
    [() => session.run({x: x()}, ['nobody']), /no output "nobody"; it has y/],
    [() => session.run({x: x()}, []), /fetches are empty/],
    [() => session.run({x: x()}, {y: new Tensor('float32', new Float32Array(1))}), /output "y" is float32\[4, 2\], the tensor for it float32\[1\]/],
    [() => session.run(x() as never), /feeds is an object of tensors by the names of the inputs \(x\)/],
    [() => InferenceSession.create(Uint8Array.of(1, 2, 3)), /cannot be compiled: .*truncated or not an ONNX model \(check that it was copied completely/],
    [() => InferenceSession.create(new TextEncoder().encode('<html><title>404')), /cannot be compiled: the file is an HTML page, not an ONNX model/],
    // As onnxruntime-web, it has no gradients.
    [() => InferenceSession.create(perceptron(4, 'Gradient', 'ai.onnx.preview.training')), /\[Gradient\].* is an unknown operator of the domain ai\.onnx\.preview\.training/],
    [() => InferenceSession.create(new TextEncoder().encode('....ORTM....')), /\.ort format.*give the \.onnx file/],
    [() => InferenceSession.create(join(root, 'no/such.onnx')), /the model could not be had from .*such\.onnx: ENOENT/],
    [() => InferenceSession.create('http://127.0.0.1:1/model.onnx'), /the model could not be had from http/],
    [() => InferenceSession.create(12 as never), /give the address of a model, or its bytes/],
    [() => InferenceSession.create(new ArrayBuffer(8), 4, 5), /5 bytes from 4 on are no part of a buffer of 8/],
    [() => InferenceSession.create(perceptron(4), {executionProviders: ['cuda', 'webgpu']}), /none of the execution providers .*cuda: it is no execution provider here.*webgpu: /],
    [() => InferenceSession.create(perceptron(4), {preferredOutputLocation: 'gpu-buffer'}), /'gpu-buffer' is for the execution provider 'webgpu'/],
    [() => InferenceSession.create(perceptron(4), {executionProviders: ['wasm'], preferredOutputLocation: {z: 'cpu'}}), /no output "z"/],
    [() => InferenceSession.create(perceptron('n'), {freeDimensionOverrides: {n: -1}}), /-1 is no extent for "n"/],
  ];
  for (const [work, message] of wrong) await assert.rejects(work, message);
  assert.deepEqual((await session.run({x: x()}))['y']?.data, WANTED); // it is still of use
  await session.release();
});

test('tensors are made, checked and reshaped as onnxruntime-web does', () => {
  assert.deepEqual(new Tensor('int64', [1, 2]).data, BigInt64Array.of(1n, 2n));
  assert.deepEqual(new Tensor('bool', [true, false], [2, 1]).data, Uint8Array.of(1, 0));
  assert.deepEqual([new Tensor(['a', 'b']).type, new Tensor([true]).type, new Tensor(new Uint8ClampedArray(3)).type], ['string', 'bool', 'uint8']);
  assert.deepEqual(new Tensor('int4', new Int8Array(2), [3]).size, 3);
  assert.deepEqual(x().reshape([2, 6]).dims, [2, 6]);
  assert.throws(() => x().reshape([5]), /\[5\] has not the 12 elements of \[4, 3\]/);
  assert.throws(() => new Tensor('float32', [1, 2], [3]), /dims \[3\] have 3 places, the data has 2/);
  assert.throws(() => new Tensor('float32', [1], [-1]), /\[-1\] are no dims/);
  assert.throws(() => new Tensor('floot' as 'float32', [1]), /no type "floot"/);
  assert.throws(() => new Tensor('int32', new Float32Array(1)), /needs a Int32Array, not a Float32Array/);
  assert.throws(() => new Tensor([1, 2] as never), /say the type of numbers/);
});

test('a compiled model is kept by its content', {skip}, async () => {
  const kept = new Map<string, Response>();
  let puts = 0;
  const cache = {
    match: (key: string) => Promise.resolve(kept.get(key)?.clone()),
    put: (key: string, response: Response) => Promise.resolve(void (++puts, kept.set(key, response))),
    keys: () => Promise.resolve([...kept.keys()]),
    delete: (key: string) => Promise.resolve(kept.delete(key)),
  };
  Object.assign(globalThis, {caches: {open: () => Promise.resolve(cache)}});
  env.gossamer.cache = true;
  try {
    const answer = async (): Promise<unknown> => {
      const session = await InferenceSession.create(perceptron('n'), {freeDimensionOverrides: {n: 4}});
      const {y} = await session.run({x: x()});
      await session.release();
      return y?.data;
    };
    for (let time = 0; time < 3; ++time) assert.deepEqual(await answer(), WANTED);
    assert.deepEqual([puts, kept.size], [1, 1]);
    // What was damaged there is made again.
    const [key, response] = [...kept][0] as [string, Response];
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder('latin1').decode(bytes);
    assert.equal(['["kernels.wasm",', '["kernels.relaxed.wasm",'].filter((name) => text.includes(name)).length, 1, 'for this engine alone');
    bytes.fill(7, bytes.length - 20);
    kept.set(key, new Response(bytes));
    assert.deepEqual(await answer(), WANTED);
    assert.equal(puts, 2);
    await (await InferenceSession.create(perceptron('n'), {freeDimensionOverrides: {n: 3}})).release();
    assert.equal(kept.size, 2);
  } finally {
    Reflect.deleteProperty(globalThis, 'caches');
    env.gossamer.cache = false;
  }
});

test('sessions one after the other share a compiler', {skip}, async () => {
  const own = WebAssembly.instantiate.bind(WebAssembly);
  let compilers = 0;
  const counting = (module: WebAssembly.Module, imports: WebAssembly.Imports = {}): Promise<WebAssembly.Instance> => {
    if ('gossamer' in imports) ++compilers;
    return own(module, imports);
  };
  Object.assign(WebAssembly, {instantiate: counting});
  try {
    const create = async (n: number): Promise<void> => (await InferenceSession.create(perceptron('n'), {freeDimensionOverrides: {n}})).release();
    for (const n of [5, 6, 7]) await create(n);
    assert.ok(compilers <= 1, `${compilers} for three sessions`);
    await Promise.all([create(8), create(9)]);
    assert.ok(compilers <= 2, `${compilers} for two at a time`);
    await assert.rejects(InferenceSession.create(Uint8Array.of(1, 2, 3)), /cannot be compiled/);
    await create(10);
    assert.ok(compilers <= 2, 'and after one that failed');
  } finally {
    Object.assign(WebAssembly, {instantiate: own});
  }
});

test('in Node.js, compiled models are kept in a folder', {skip}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ort-'));
  const answer = async (n: number): Promise<void> => {
    const session = await InferenceSession.create(perceptron('n'), {freeDimensionOverrides: {n}});
    assert.deepEqual((await session.run({x: x(n)}))['y']?.data, WANTED.slice(0, 2 * n));
    await session.release();
  };
  const kept = (): string[] => readdirSync(env.gossamer.cache as string).sort();
  try {
    env.gossamer.cache = join(folder, 'some/where');
    await answer(4);
    const [first = ''] = kept();
    assert.match(first, /^[0-9a-f]{64}\.package$/);
    const file = join(env.gossamer.cache, first);
    const made = statSync(file).ino;
    await answer(4);
    assert.equal(statSync(file).ino, made); // it was not written again
    // A damaged one is made again: cut, with another list, with other bytes.
    const whole = readFileSync(file);
    for (const damaged of [whole.subarray(0, 3), whole.subarray(0, whole.length - 9), Buffer.concat([Buffer.from([255, 255, 255, 255]), whole.subarray(4)]), Buffer.from(whole).fill(7, whole.length - 20)]) {
      writeFileSync(file, damaged);
      await answer(4);
      assert.deepEqual([kept(), Buffer.compare(readFileSync(file), whole)], [[first], 0]);
    }
    // The latest used ones stay, and nothing of writers that ended.
    const old = new Date(Date.now() - 5_000_000);
    for (let at = 0; at < 40; ++at) {
      const name = join(env.gossamer.cache, `${at}.${at < 3 ? 'part' : 'package'}`);
      writeFileSync(name, '');
      utimesSync(name, old, old);
    }
    await answer(3);
    assert.equal(kept().length, 32);
    assert.ok(kept().includes(first) && !kept().some((name) => name.endsWith('.part')));
    // By default it is the user's own; false keeps nothing.
    const home = process.env['XDG_CACHE_HOME'];
    process.env['XDG_CACHE_HOME'] = join(folder, 'home');
    env.gossamer.cache = true;
    if (process.platform === 'linux') {
      await answer(2);
      assert.equal(readdirSync(join(folder, 'home/gossamer/compiled')).length, 1);
    }
    env.gossamer.cache = false;
    await answer(1);
    if (process.platform === 'linux') assert.equal(readdirSync(join(folder, 'home/gossamer/compiled')).length, 1);
    if (home === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = home;
    writeFileSync(join(folder, 'file'), '');
    env.gossamer.cache = join(folder, 'file/below');
    await assert.rejects(answer(1), /env\.gossamer\.cache: the folder .*below cannot be made: .*Name another one, or set it to false/);
  } finally {
    env.gossamer.cache = false;
    rmSync(folder, {recursive: true});
  }
});

test('a feed overrides the default of an input', {skip}, async () => {
  const vector = (...values: number[]): Tensor => new Tensor('float32', values, [values.length]);
  const session = await InferenceSession.create(scaled());
  assert.deepEqual(session.inputNames, ['x']);
  const values = async (feeds: Record<string, Tensor>): Promise<unknown> => (await session.run(feeds))['y']?.data;
  assert.deepEqual(await values({x: vector(1, 3)}), Float32Array.of(2, 6));
  const x = vector(1, 3);
  const overriding = values({x, s: vector(10), unused: vector(7)});
  (x.data as Float32Array).fill(NaN);
  assert.deepEqual(await overriding, Float32Array.of(10, 30));
  assert.deepEqual(await values({x: vector(1, 3), s: vector(-1)}), Float32Array.of(-1, -3));
  assert.deepEqual(await values({x: vector(1, 3)}), Float32Array.of(2, 6));
  await assert.rejects(values({x: vector(1, 3), s: vector(1, 2)}), /"s": float32\[1\] was given float32\[2\]/);
  await assert.rejects(values({s: vector(1)}), /input "x" is missing/);
  await session.release();
  // Before version 4 the format had no inputs that may be left out.
  const old = await InferenceSession.create(scaled({version: 3}));
  await assert.rejects(old.run({x: vector(1, 3), s: vector(10)}), /no input "s"/);
  await old.release();
});

test('weights beside the model are given by their names', {skip}, async () => {
  const model = sum({location: 'data/w.bin'}); // y = a + b, b in the file
  const data = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer);
  const folder = mkdtempSync(join(tmpdir(), 'ort-'));
  writeFileSync(join(folder, 'w.bin'), data);
  try {
    for (const externalData of [[{path: './data/w.bin', data}], [{path: 'data/w.bin', data: data.buffer}], [{path: 'data/w.bin', data: join(folder, 'w.bin')}]]) {
      const session = await InferenceSession.create(model, {externalData});
      const [input = ''] = session.inputNames;
      const result = await session.run({[input]: new Tensor('float32', [10, 20, 30, 40], [4])});
      assert.deepEqual(Object.values(result)[0]?.data, Float32Array.of(11, 22, 33, 44));
      await session.release();
    }
    // A model that is given by its path has them next to it.
    const file = join(folder, 'model.onnx');
    writeFileSync(file, model);
    await assert.rejects(InferenceSession.create(file), /the external data "data\/w\.bin" could not be had from .*w\.bin: ENOENT/);
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/w.bin'), data);
    for (const path of [file, pathToFileURL(file)]) {
      const session = await InferenceSession.create(path);
      const [input = ''] = session.inputNames;
      assert.deepEqual(Object.values(await session.run({[input]: new Tensor('float32', [10, 20, 30, 40], [4])}))[0]?.data, Float32Array.of(11, 22, 33, 44));
      await session.release();
    }
    // Nothing outside of its folder is read.
    writeFileSync(file, sum({location: '../w.bin'}));
    await assert.rejects(InferenceSession.create(file), /external data/);
  } finally {
    rmSync(folder, {recursive: true});
  }
  await assert.rejects(InferenceSession.create(model), /external data "data\/w\.bin": was not given \(the model wants "data\/w\.bin"; externalData has no files/);
  await assert.rejects(InferenceSession.create(model, {externalData: ['no_such_file.bin']}), /the external data "no_such_file\.bin" could not be had/);
});

test('a rank that only the run knows: compiled by the feeds', {skip}, async () => {
  const feed = (...dims: number[]): Tensor => new Tensor('float32', Float32Array.from({length: dims.reduce((a, b) => a * b, 1)}, (_, at) => at), dims);
  const general = await InferenceSession.create(squeezed(['a', 'b', 'c']));
  for (const [dims, wanted] of [[[2, 3, 4], [2, 3, 4]], [[5, 1, 6], [5, 6]], [[7, 1, 6], [7, 6]], [[1, 1, 4], [4]], [[1, 1, 1], []]] as const) {
    const {y} = await general.run({x: feed(...dims)});
    assert.deepEqual([y?.dims, y?.data], [wanted, feed(...dims).data]);
  }
  await general.release();
  // An If on the extent does not compile for all feeds: its inputs and outputs are the file's.
  const session = await InferenceSession.create(squeezedIfOne(['b', 'n']));
  assert.deepEqual([session.inputNames, session.outputNames, shapeOf(session)], [['x'], ['y'], ['b', 'n']]);
  for (const [dims, wanted] of [[[5, 1], [5]], [[5, 3], [5, 3]], [[1, 1], [1]]] as const) {
    const {y} = await session.run({x: feed(...dims)});
    assert.deepEqual([y?.dims, y?.data], [wanted, feed(...dims).data]);
  }
  await assert.rejects(session.run({x: feed(2, 2, 2)}), /input "x": float32\[b, n\] was given float32\[2, 2, 2\]/);
  await session.release();
});

test('shapes that come again have a model of their own', {skip}, async () => {
  const session = await InferenceSession.create(perceptron('n'));
  const run = async (rows: number): Promise<void> => assert.deepEqual((await session.run({x: x(rows)}))['y']?.data, WANTED.slice(0, 2 * rows));
  for (let at = 0; at < 7; ++at) await run(4);
  assert.deepEqual(session.specializedShapes, []);
  await run(4);
  while (session.specializedShapes?.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(session.specializedShapes, [{x: [4, 3]}]);
  await run(4);
  await run(1);
  await session.release();
  const closed = await InferenceSession.create(perceptron(4));
  for (let at = 0; at < 9; ++at) await closed.run({x: x()});
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(closed.specializedShapes, []);
  await closed.release();
});

test('shapes that grow from run to run have no models of their own', {skip}, async () => {
  const session = await InferenceSession.create(perceptron('n'));
  for (let at = 0; at < 60; ++at) {
    const rows = 1 + (at % 6);
    await session.run({x: new Tensor('float32', new Float32Array(3 * rows), [rows, 3])});
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(session.specializedShapes, []);
  for (let at = 0; at < 8; ++at) {
    await session.run({x: x(4)});
    await session.run({x: x(2)});
  }
  while ((session.specializedShapes ?? []).length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await session.release();
});

test('extents of one name may differ where the operators take them', {skip}, async () => {
  const session = await InferenceSession.create(sum({a: ['n'], b: ['n']}));
  const vector = (...values: number[]): Tensor => new Tensor('float32', values, [values.length]);
  const added = async (a: Tensor, b: Tensor): Promise<unknown> => Object.values(await session.run({a, b}))[0]?.data;
  assert.deepEqual(await added(vector(1, 2), vector(10, 20)), Float32Array.of(11, 22));
  assert.deepEqual(await added(vector(1, 2, 3), vector(10)), Float32Array.of(11, 12, 13));
  assert.deepEqual(await added(vector(5), vector(1, 2)), Float32Array.of(6, 7));
  await assert.rejects(added(vector(1, 2, 3), vector(1, 2)), /input "b" has 2 along axis 0 \(n\), input "a" has 3/);
  assert.deepEqual(await added(vector(1), vector(10)), Float32Array.of(11));
  await session.release();
});

test('an axis of the run', {skip}, async () => {
  const session = await InferenceSession.create(summedOver(['a', 'b']));
  const x = new Tensor('float32', Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3]);
  for (const [axis, wanted] of [[0n, [5, 7, 9]], [1n, [6, 15]], [0n, [5, 7, 9]]] as const) {
    const {y} = await session.run({x, axes: new Tensor('int64', BigInt64Array.of(axis), [1])});
    assert.deepEqual([...(y?.data as Float32Array)], wanted);
  }
  await session.release();
});

test('inputs without shapes take any number of dimensions', {skip}, async () => {
  const session = await InferenceSession.create(largest());
  assert.deepEqual([session.inputNames, session.outputNames, shapeOf(session)], [['x', 'k'], ['values', 'indices'], []]);
  const k = (count: number): Tensor => new Tensor('int64', [count], [1]);
  const run = async (dims: number[], count: number): Promise<unknown> => {
    const {values, indices} = await session.run({x: new Tensor('float32', [3, 1, 2, 4].slice(0, dims.reduce((a, b) => a * b)), dims), k: k(count)});
    return [values?.dims, [...(values?.data as Float32Array)], [...(indices?.data as BigInt64Array)].map(Number)];
  };
  assert.deepEqual(await run([4], 2), [[2], [4, 3], [3, 0]]);
  assert.deepEqual(await run([2, 2], 1), [[2, 1], [3, 4], [0, 1]]);
  assert.deepEqual(await run([1, 3], 3), [[1, 3], [3, 2, 1], [0, 2, 1]]);
  await assert.rejects(session.run({x: x(), k: x()}), /input "k": int64 of any shape was given float32\[4, 3\]/);
  await session.release();
});

test('a failure stays with its session', {skip}, async () => {
  const broken = InferenceSession.create(Uint8Array.of(1, 2, 3));
  const whole = InferenceSession.create(perceptron('n'));
  await assert.rejects(broken);
  const session = await whole;
  const failing = session.run({x: new Tensor('float32', [1, 2], [1, 2])});
  const next = session.run({x: x()});
  await assert.rejects(failing, /was given float32\[1, 2\]/);
  assert.deepEqual((await next)['y']?.data, WANTED);
  await session.release();
});
