import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {GossamerError, load, tensor} from '../../runtime/src/index.ts';
import {hasRelaxedSimd} from '../../runtime/src/devices/wasm/features.ts';
import {parseManifest} from '../../runtime/src/package/manifest.ts';
import {compile, type CompiledKernel, CompileError} from '../src/index.ts';
import {BAD_MODELS, classifier, manyWeights, message, perceptron, relu, scaled, sum, summedOver} from './onnx.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, 'build-wasm/compiler.wasm');
const cli = process.env['GOSSAMER_CLI'] ?? join(root, 'build/gossamer');
const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
const wasm = skip ? undefined : new WebAssembly.Module(readFileSync(path));
const TARGETS = ['webgpu', 'webgl', 'wasm'] as const;

test('compiles a model and the result runs', {skip}, async () => {
  const steps: string[] = [];
  for (const n of [4, 'n']) {
    const files = await compile(perceptron(n), {
      target: 'wasm',
      wasm,
      onProgress: ({step}) => steps.push(step),
    });
    using model = await load(files);
    const x = tensor([1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 10, 10], [4, 3]);
    const {y} = await model.run({x});
    assert.deepEqual(await y?.data(), Float32Array.of(1.5, 0, 3.5, 0, 5.5, 0, 81.5, 2));
  }
  assert.ok(steps.length > 0);
});

test('load() takes what was made here as it is, and hashes what was put in its place', {skip}, async () => {
  const made = await compile(perceptron(4), {target: 'wasm', wasm});
  const changed = (made.get('weights.safetensors') as Uint8Array).slice();
  changed.set([1], changed.length - 3);
  await assert.rejects(load(new Map([...made, ['weights.safetensors', changed]])), {code: 'damaged', message: /weights\.safetensors has hash/});
  // In place, as nobody should: that it loads shows that nothing was hashed.
  made.get('weights.safetensors')?.set(changed);
  (await load(made)).dispose();
  made.set('weights.safetensors', changed);
  await assert.rejects(load(made), {code: 'damaged'});
});

test('gives a package for every target, the same at each time', {skip}, async () => {
  for (const target of TARGETS) {
    const first = await compile(perceptron(4), {target, wasm});
    const second = await compile(perceptron(4), {target, wasm});
    assert.deepEqual(first, second);
    assert.ok(first.has('manifest.json') && first.has('weights.safetensors'));
    assert.ok(first.has(target === 'wasm' ? 'kernels.wasm' : 'kernels.json'));
  }
});

const noCli = skip || (existsSync(cli) ? false : 'the command line is not built (make native)');
test('writes byte for byte what the command line writes', {skip: noCli}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'compile-'));
  try {
    const model = join(folder, 'model.onnx');
    const axes = join(folder, 'axes.pb');
    writeFileSync(axes, Uint8Array.from(message([1, 1], [2, 7], [9, Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0)]))); // int64 [1]
    const cases = [
      {n: 4, flags: [], options: {}, shape: [4, 3]},
      {n: 'n', flags: [], options: {}, shape: ['n', 3]},
      {n: 'n', flags: ['--shape', 'x=2,?'], options: {shapes: {x: [2, null]}}, shape: [2, 3]},
      {n: 'n', flags: ['--f16', '--name', 'p'], options: {f16: true, name: 'p'}, shape: ['n', 3]},
      {n: 4, flags: ['--limits', 'es31', '--adapters', 'software'], options: {limits: 'es31' as const, adapters: 'software' as const}, shape: [4, 3]},
      {n: 'n', flags: ['--dim', 'n=5'], options: {dims: {n: 5}}, shape: [5, 3]},
      {given: summedOver([2, 3]), flags: ['--constant', `axes=${axes}`], options: {constants: {axes: {dtype: 'i64', shape: [1], data: BigInt64Array.of(1n)}}}, shape: [2, 3]},
      // Weights that do not pass through the compiler: in one file, with hashes of its pieces, and in several.
      {given: classifier(2000, 600), flags: [], options: {}, shape: [1, 2000]},
      {given: classifier(900, 600), flags: ['--shard-bytes', '1KB'], options: {shardBytes: 1000}, shape: [1, 900]},
    ];
    for (const [i, {n = 4, given = perceptron(n), flags, options, shape}] of cases.entries()) {
      writeFileSync(model, given);
      for (const target of TARGETS) {
        const out = join(folder, `${target}-${i}`);
        execFileSync(cli, ['compile', model, '--target', target, '-o', out, ...flags]);
        for (const [name, bytes] of await compile(given, {target, wasm, ...options})) {
          const place = readdirSync(out, {recursive: true}).find((file) => String(file).endsWith(name));
          assert.ok(readFileSync(join(out, String(place))).equals(bytes), `${target} ${i} ${name}`);
        }
        const manifest = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8')) as {inputs: [{shape: unknown}]};
        assert.deepEqual(manifest.inputs[0].shape, shape, flags.join(' '));
      }
    }
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('says each shader before the package is there', {skip}, async () => {
  const early: CompiledKernel[] = [];
  const steps: string[] = [];
  const options = {target: 'webgpu', wasm, onKernel: (kernel: CompiledKernel) => early.push(kernel), onProgress: ({step}: {step: string}) => steps.push(`${step} ${early.length}`)} as const;
  await compile(perceptron('n'), options);
  assert.equal(early.length, 0, 'a package for any adapter has more kernels than one device takes');
  const files = await compile(perceptron('n'), {...options, adapters: 'software'});
  const read = (name: string): string => new TextDecoder().decode(files.get(name));
  const {kernels} = parseManifest(read('manifest.json'), 'test');
  const sources = JSON.parse(read('kernels.json')) as string[];
  const {length} = early;
  assert.ok(length > 0 && steps.includes(`schedule ${length}`));
  const wanted = kernels.map(({name, entry, group, buffers, writes, scalars, code}) => ({name, entry, group, buffers, writes, scalars, code: sources[code ?? -1]}));
  assert.deepEqual(early.map(({origin: _, ...kernel}) => kernel), wanted);
  assert.ok(early.every(({origin}) => origin !== ''));
});

test('compiles for engines with relaxed SIMD alone, or for others alone', {skip}, async () => {
  const x = tensor([1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 10, 10], [4, 3]);
  for (const [adapters, relaxedSimd, names] of [['hardware', true, ['kernels.relaxed.wasm']], ['hardware', false, ['kernels.wasm']], ['software', true, ['kernels.wasm']]] as const) {
    const files = await compile(perceptron(4), {target: 'wasm', wasm, adapters, relaxedSimd});
    assert.deepEqual([...files.keys()].filter((name) => name.endsWith('.wasm')), names);
    const {needs} = parseManifest(new TextDecoder().decode(files.get('manifest.json')), 'test');
    assert.equal(needs.includes('wasm-relaxed-simd'), names[0] === 'kernels.relaxed.wasm');
    if (names[0] === 'kernels.relaxed.wasm' && !hasRelaxedSimd()) {
      await assert.rejects(load(files), {code: 'unsupported', message: /wasm-relaxed-simd/});
      continue;
    }
    using model = await load(files);
    assert.deepEqual(await (await model.run({x}))['y']?.data(), Float32Array.of(1.5, 0, 3.5, 0, 5.5, 0, 81.5, 2));
  }
});

test('takes every option of options.def, and refuses others', {skip}, async () => {
  const rows = [...readFileSync(join(root, 'include/gossamer/options.def'), 'utf8').matchAll(/^GS_OPTION\(\S+, (\w+), ([^,]+),/gm)];
  assert.ok(rows.length > 5);
  const declared = readFileSync(join(root, 'web/compiler/src/compile_options.ts'), 'utf8');
  for (const [, name = '', initial = ''] of rows) {
    const option = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    if (name !== 'cpu') assert.match(declared, new RegExp(`readonly ${option}\\?:`)); // no page has one
    const value = JSON.parse(initial.replaceAll("'", '')) as unknown;
    await compile(perceptron(4), {target: 'wasm', wasm, [option]: value});
    await assert.rejects(compile(perceptron(4), {target: 'wasm', wasm, [option]: null as never}), {message: new RegExp(name)});
  }
  await assert.rejects(compile(perceptron(4), {target: 'wasm', wasm, ...{windograd: true}}), {message: /"windograd" is not known/});
});

test('takes weights from files beside the model, as the command line does', {skip: noCli}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'compile-'));
  try {
    const {model, file} = manyWeights(200);
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'model.onnx'), model);
    writeFileSync(join(folder, 'data/w.bin'), file);
    for (const target of TARGETS) {
      const out = join(folder, target);
      const args = ['compile', join(folder, 'model.onnx'), '--target', target, '-o', out, '--emit', 'package'];
      execFileSync(cli, args);
      // As a part of a longer buffer, too.
      const part = new Uint8Array([0, ...file]).subarray(1);
      let read = 0;
      class Counted extends Blob {
        override arrayBuffer(): Promise<ArrayBuffer> {
          read += 1;
          return super.arrayBuffer();
        }
      }
      const blob = new Counted([file as Uint8Array<ArrayBuffer>]);
      const forms = [new Map([['data/w.bin', part]]), {'data/w.bin': blob}, [{name: 'data/w.bin', bytes: file}]];
      for (const externalData of forms) {
        const files = await compile(model, {target, wasm, externalData});
        assert.deepEqual([...files.keys()].sort(), readdirSync(out).sort());
        for (const [name, bytes] of files) assert.ok(readFileSync(join(out, name)).equals(bytes), `${target} ${name}`);
      }
      assert.equal(read, 0); // of files of weights only ranges are read
    }
    using ready = await load(await compile(model, {target: 'wasm', wasm, externalData: {'data/w.bin': file}}));
    const {y} = await ready.run({x: tensor(new Float32Array(8192).fill(0.5), [8192])});
    assert.deepEqual(y?.shape, [64, 128]);
    assert.ok((await y?.data<Float32Array>())?.every((value) => value === (199 * 200) / 2 + 0.5));
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('says which file of weights is missing or too short', {skip}, async () => {
  const model = sum({location: 'data/w.bin'});
  const given = (name: string, size: number) =>
    compile(model, {target: 'wasm', wasm, externalData: {[name]: new Uint8Array(size)}});
  await given('data/w.bin', 16);
  await assert.rejects(given('w.bin', 16), /"b": external data "data\/w\.bin": was not given \(the model wants "data\/w\.bin"; externalData has "w\.bin"/);
  await assert.rejects(given('data/w.bin', 8), /"b": external data "data\/w\.bin" has 8 bytes, 16 are needed/);
});

test('names of weights files are the same with and without what leads nowhere', {skip}, async () => {
  const plain = await compile(sum({location: 'data/w.bin'}), {target: 'wasm', wasm, externalData: {'data/w.bin': new Uint8Array(16)}});
  for (const location of ['data/w.bin', './data/w.bin', 'data\\w.bin', 'data/x/../w.bin']) {
    for (const name of ['data/w.bin', './data/w.bin', '.\\data\\w.bin', 'data//w.bin']) {
      const files = await compile(sum({location}), {target: 'wasm', wasm, externalData: {[name]: new Uint8Array(16)}});
      assert.deepEqual(files.get('weights.safetensors'), plain.get('weights.safetensors'), `${location} ${name}`);
    }
  }
});

test('an input with a default is one where it is kept, and a run may leave it out', {skip}, async () => {
  for (const half of [false, true]) {
    const y = async (keepInputs: readonly string[] | undefined, feeds: Record<string, readonly number[]>): Promise<unknown[]> => {
      using model = await load(await compile(scaled({half}), {target: 'wasm', wasm, keepInputs}));
      assert.deepEqual(model.inputs.map(({name, optional}) => [name, optional]), [...(keepInputs ?? []).map((name) => [name, true]), ['x', undefined]]);
      const out = await model.run(feeds);
      return [...((await out['y']?.data()) ?? [])];
    };
    assert.deepEqual(await y(undefined, {x: [1, 3]}), [2, 6]);
    assert.deepEqual(await y(['s'], {x: [1, 3]}), [2, 6]);
    assert.deepEqual(await y(['s'], {x: [1, 3], s: [10]}), [10, 30]);
    await assert.rejects(y(undefined, {x: [1, 3], s: [10]}), /no input "s"; it has "x".*keepInputs/);
    await assert.rejects(y(['s'], {x: [1, 3], s: [1, 2]}), /"s" wants f(32|16) \[1\]/);
  }
  await assert.rejects(compile(scaled(), {target: 'wasm', wasm, keepInputs: ['t']}), /"t": names no input of the model/);
  const files = await compile(scaled(), {target: 'wasm', wasm, keepInputs: ['s']});
  const bytes = (await compile(scaled({half: true}), {target: 'wasm', wasm, keepInputs: ['s']})).get('defaults.safetensors') as Uint8Array;
  const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as {files: Record<string, unknown>[]};
  const entry = manifest.files.find(({name}) => name === 'defaults.safetensors');
  Object.assign(entry ?? {}, {bytes: bytes.length});
  const other = new Map([...files, ['defaults.safetensors', bytes], ['manifest.json', new TextEncoder().encode(JSON.stringify(manifest))]]);
  await assert.rejects(load(Object.assign(other, {made: true})), /the default does not fit input "s"/);
});

test('an input becomes a constant', {skip}, async () => {
  const over = async (axis: bigint): Promise<unknown> => {
    const constants = {axes: {dtype: 'i64', shape: [1], data: BigInt64Array.of(axis)}};
    using model = await load(await compile(summedOver([2, 3]), {target: 'wasm', wasm, constants}));
    assert.deepEqual(model.inputs.map(({name}) => name), ['x']);
    return (await model.run({x: tensor([1, 2, 3, 4, 5, 6], [2, 3])}))['y']?.data();
  };
  assert.deepEqual(await over(0n), Float32Array.of(5, 7, 9));
  assert.deepEqual(await over(1n), Float32Array.of(6, 15));
  const wrong = (name: string, dtype: string, shape: readonly number[]) => compile(summedOver([2, 3]), {target: 'wasm', wasm, constants: {[name]: {dtype, shape, data: BigInt64Array.of(0n)}}});
  await assert.rejects(wrong('axis', 'i64', [1]), /"axis": names no input of the model/);
  await assert.rejects(wrong('axes', 'i64', [2]), /constants: dtype, shape and data of a tensor are expected/);
  await assert.rejects(wrong('axes', 'int64', [1]), /constants: dtype, shape and data/);
});

test('what is not a model, its weights or options says what to pass', {skip}, async () => {
  const bytes = sum();
  const wrong: [unknown, unknown, RegExp][] = [
    ['models/a.onnx', {target: 'wasm'}, /the model: "models\/a\.onnx" is an address or path, not bytes \(pass await \(await fetch/],
    [new URL('http://localhost/a.onnx'), {target: 'wasm'}, /"http:\/\/localhost\/a\.onnx" is an address/],
    [Promise.resolve(bytes), {target: 'wasm'}, /of class Promise, not bytes \(await it\)/],
    [new Response(bytes as Uint8Array<ArrayBuffer>), {target: 'wasm'}, /pass await response\.arrayBuffer\(\)/],
    [undefined, {target: 'wasm'}, /it is undefined, not bytes \(pass an ArrayBuffer/],
    [{}, {target: 'wasm'}, /of class Object/],
    [bytes, undefined, /target: there is none \(pass \{target: 'webgpu'\}/],
    [bytes, {target: 'cpu'}, /"cpu" is not one of the targets in pages/],
    [sum({location: 'w.bin'}), {target: 'wasm', externalData: {'w.bin': 'weights/w.bin'}}, /externalData "w\.bin": "weights\/w\.bin" is an address or path, not bytes/],
    [sum({location: 'w.bin'}), {target: 'wasm', externalData: new Uint8Array(16)}, /without the names of files/],
    [sum({location: 'w.bin'}), {target: 'wasm', externalData: [new Uint8Array(16)]}, /element 0 has no name/],
  ];
  for (const [model, options, message] of wrong) {
    await assert.rejects(compile(model as Uint8Array, options as {target: 'wasm'}), (problem: unknown) => {
      assert.ok(problem instanceof GossamerError && problem instanceof CompileError, String(problem));
      assert.match(problem.message, message);
      return true;
    });
  }
});

test('stores halves as such for devices that have them', {skip}, async () => {
  const made = async (type: number): Promise<unknown> => {
    const files = await compile(relu(type), {target: 'webgpu', wasm, f16: true});
    const text = new TextDecoder().decode(files.get('manifest.json'));
    const {needs, tensors} = JSON.parse(text) as {needs: string[]; tensors: {storage: string}[]};
    return {needs, storage: tensors.map(({storage}) => storage)};
  };
  const [float, half] = [1, 10]; // ONNX's codes
  assert.deepEqual(await made(half), {needs: ['webgpu-f16'], storage: ['f16', 'f16']});
  assert.deepEqual(await made(float), {needs: [], storage: ['f32', 'f32']});
});

test('says what is wrong with a model', {skip}, async () => {
  const refuses = (model: Uint8Array, message: RegExp) =>
    assert.rejects(compile(model, {target: 'wasm', wasm}), (problem) => {
      assert.ok(problem instanceof CompileError, String(problem));
      assert.match(problem.message, message);
      assert.doesNotMatch(problem.message, /the compiler stopped/);
      return true;
    });
  await refuses(Uint8Array.from({length: 100}, (_, at) => at * 37), /not an ONNX model/);
  for (const [, model, message] of BAD_MODELS) await refuses(model, message);
  const target = 'toaster' as 'wasm';
  await assert.rejects(compile(perceptron(4), {target, wasm}), /toaster/);
  await assert.rejects(compile(perceptron('n'), {target: 'wasm', wasm, dims: {m: 1}}), /"m".*dimension.*it has n/);
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(compile(perceptron(4), {target: 'wasm', wasm, signal}), /enough/);
});
