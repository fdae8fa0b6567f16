import assert from 'node:assert/strict';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {type FileMap, type Json, tinyFolder, tinyPackage, withFile, withManifest} from '../../tests/fixtures/tiny.ts';
import {type ErrorCode, GossamerError, load, type Output, type Progress, tensor} from '../src/index.ts';

const k = tensor(BigInt64Array.of(1n, -8n));
const ramp = (n: number) => tensor(Float32Array.from({length: n}, (_, at) => at), [1, n]);
const wanted = (n: number): Float32Array => Float32Array.from({length: n}, (_, at) => 5 * at + 3);

async function refuses(files: FileMap, code: ErrorCode, message: RegExp): Promise<void> {
  await assert.rejects(load(files), (problem) => {
    assert.ok(problem instanceof GossamerError, String(problem));
    assert.match(problem.message, message);
    assert.equal(problem.code, code);
    return true;
  });
}

for (const threads of [1, 3]) {
  test(`runs a package on ${threads} thread(s) in Node`, async () => {
    const stages: Progress[] = [];
    const model = await load(await tinyPackage('wasm', {n: 100_000}), {
      threads,
      strict: true,
      onProgress: (progress) => stages.push(progress),
    });
    const x = ramp(100_000);
    const expected = wanted(100_000);
    for (let turn = 0; turn < 60; ++turn) {
      const out = await model.run({x, k});
      assert.deepEqual(await out['y']?.data(), expected);
      assert.deepEqual(await out['m']?.data(), BigInt64Array.of(2n, -7n));
    }
    const report = model.report();
    assert.equal(report.device, 'wasm');
    assert.equal(report.threads, threads);
    assert.deepEqual(report.fallbacks, []);
    assert.deepEqual(report.kernels.map(({name, phase}) => `${phase} ${name}`), [
      'init twice', 'run scale', 'run next',
    ]);
    assert.equal(report.kernels[1]?.origin, 'Gemm "y"');
    assert.deepEqual(report.memory, {persistent: 4, transient: 800_032});
    assert.deepEqual(new Set(stages.map(({stage}) => stage)), new Set(['download', 'compile', 'upload']));
    const bytes = stages.filter(({stage}) => stage === 'download').at(-1);
    assert.equal(bytes?.done, bytes?.total);
    model.dispose();
    await assert.rejects(model.run({x, k}), /was disposed/);
  });
}

test('grows with dynamic dimensions and goes back to known ones', async () => {
  using model = await load(await tinyPackage('wasm'));
  assert.deepEqual(model.inputs[0], {name: 'x', dtype: 'f32', shape: [1, 'n']});
  assert.deepEqual(model.outputs[0], {name: 'y', dtype: 'f32', shape: [1, '?']});
  for (const n of [4, 100_000, 4, 2, 300_000, 0]) {
    const out = await model.run({x: ramp(n), k});
    assert.deepEqual(out['y']?.shape, [1, n]);
    assert.deepEqual(await out['y']?.data(), wanted(n));
  }
  for (let n = 2; n < 60; n += 2) await model.run({x: ramp(n), k}); // more than are kept
  await assert.rejects(model.run({x: ramp(3), k}), /n must be even/);
  const out = await model.run({x: ramp(6), k});
  assert.deepEqual(await out['y']?.data(), wanted(6));
});

test('sequences are arrays, and optionals without anything are undefined', async () => {
  const files = await tinyPackage('wasm');
  const grouped = (groups: readonly object[]): FileMap =>
    withManifest(files, (manifest) => Object.assign(manifest, {groups}));
  const both = {name: 'both', kind: 'sequence', inputs: [0, 2]};
  const results = {name: 'results', kind: 'sequence', outputs: [0, 2]};
  const mask = {name: 'mask', kind: 'optional', inputs: [2, 0]};
  const none = {name: 'none', kind: 'optional', outputs: [2, 0]};
  using model = await load(grouped([both, mask, results, none]));
  assert.deepEqual(model.groups, [both, mask, results, none]);
  const out = await model.run<readonly Output[] | undefined>({both: [ramp(4), k], mask: undefined});
  assert.deepEqual(Object.keys(out), ['results', 'none']);
  assert.equal(out['none'], undefined);
  assert.deepEqual(await out['results']?.[0]?.data(), wanted(4));
  assert.deepEqual(await out['results']?.[1]?.data(), BigInt64Array.of(2n, -7n));
  await assert.rejects(model.run({both: [k]}), /"both" takes 2 tensors, as compiled; 1 are given/);
  await assert.rejects(model.run({both: [k, k], mask: k}), /"mask" takes 0 tensors/);
  await refuses(grouped([{...both, inputs: [1, 2]}]), 'damaged', /groups\[0\].inputs is not part of inputs/);
  await refuses(grouped([{...both, kind: 'map'}]), 'damaged', /kind is not sequence or optional/);
});

test('runs asked for at the same time keep their own results', async () => {
  using model = await load(await tinyPackage('wasm'));
  const runs = [10, 20, 30].map((n) => model.run({x: ramp(n), k}));
  const outs = await Promise.all(runs);
  for (const [at, out] of outs.entries()) {
    assert.deepEqual(await out['y']?.data(), wanted(10 * (at + 1)));
  }
});

test('says what is wrong with feeds, naming both shapes', async () => {
  using model = await load(await tinyPackage('wasm', {n: 4}));
  const x = ramp(4);
  await assert.rejects(model.run({x}), /input "k" is missing: it wants i64 \[2\]/);
  await assert.rejects(model.run({x, k, z: x}), /no input "z"; it has "x", "k"/);
  await assert.rejects(
    model.run({x: ramp(5), k}),
    /input "x" wants f32 \[1, 4\], the tensor is f32 \[1, 5\]/,
  );
  await assert.rejects(
    model.run({x: tensor(new Int32Array(4), [1, 4]), k}),
    /input "x" wants f32 \[1, 4\], the tensor is i32 \[1, 4\]/,
  );
});

test('says what is wrong with a package', async () => {
  const good = await tinyPackage('wasm', {n: 4});
  const kernels = good.get('kernels.wasm') as Uint8Array;
  await refuses(withFile(good, 'manifest.json', undefined), 'source', /no manifest\.json/);
  await refuses(withFile(good, 'kernels.wasm', undefined), 'source', /kernels\.wasm is missing/);
  await refuses(
    withFile(good, 'kernels.wasm', kernels.subarray(0, 50)),
    'damaged',
    /kernels\.wasm has 50 bytes instead of \d+ \(the download was cut off\?\)/,
  );
  const changed = kernels.slice();
  changed[100] = 255 - (changed[100] ?? 0);
  await refuses(withFile(good, 'kernels.wasm', changed), 'damaged', /has hash \w+ instead of/);
  await refuses(await tinyPackage('wasm', {version: 7}), 'version', /version 7, this run time knows 2/);
  await refuses(withFile(good, 'manifest.json', new Uint8Array(3)), 'damaged', /not JSON/);
  const broken: [(manifest: Json) => unknown, RegExp][] = [
    [(m) => Object.assign(m, {slots: [], tensors: m['tensors']}), /tensors\[0\]\.slot is not in/],
    [(m) => Object.assign(m, {run: [{kernel: 9}]}), /run\[0\]\.kernel is not in \[0, 3\)/],
    [(m) => Object.assign(m, {inputs: 5}), /inputs is not a list/],
    [(m) => Object.assign(m.weights[0] ?? {}, {shape: [0]}), /the manifest wants f32 \[0\]/],
    [(m) => Object.assign(m.kernels[0] ?? {}, {entry: 'gone'}), /exports no function "gone"/],
    [(m) => Object.assign(m.slots[0] ?? {}, {bytes: {plan: 0}}), /slots\[0\]\.bytes\.plan is not in \[0, 0\)/],
  ];
  for (const [change, message] of broken) {
    await refuses(withManifest(good, change), 'damaged', message);
  }
});

test('a kernel that traps is an error of that run', async () => {
  const broken = withManifest(await tinyPackage('wasm', {n: 4}), (manifest) => {
    Object.assign(manifest.kernels[0] ?? {}, {entry: 'trap'});
  });
  using model = await load(broken);
  await assert.rejects(model.run({x: ramp(4), k}), /unreachable/);
});

test('explains which devices a package is for', async () => {
  const files = await tinyPackage('wasm', {n: 4});
  await assert.rejects(load(files, {device: 'webgpu'}), /compiled for wasm, not for webgpu/);
  const gpu = await tinyPackage('webgpu', {n: 4});
  await assert.rejects(load(gpu), /this program has no WebGPU: install the npm package "webgpu"/);
  const gl = await tinyPackage('webgl', {n: 4});
  await assert.rejects(load(gl, {device: 'webgl'}), /there is no canvas here/);
});

test('auto passes over what is missing and says so; strict makes it an error', async () => {
  const files = await tinyFolder({n: 4});
  using model = await load(files);
  assert.equal(model.report().device, 'wasm');
  assert.deepEqual(model.report().fallbacks.map(({what}) => what), ['not webgpu', 'not webgl']);
  assert.match(model.report().fallbacks[0]?.reason ?? '', /install the npm package "webgpu"/);
  await assert.rejects(load(files, {strict: true}), /strict: not webgpu/);
  await assert.rejects(load(files, {device: 'webgpu'}), /this program has no WebGPU: install the npm package "webgpu"/);
});

test('reads a folder from disk and stops when told to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'package-'));
  try {
    for (const [name, bytes] of await tinyFolder({n: 4})) {
      mkdirSync(dirname(join(folder, name)), {recursive: true});
      writeFileSync(join(folder, name), bytes);
    }
    using whole = await load(pathToFileURL(folder), {device: 'wasm'});
    using one = await load(pathToFileURL(join(folder, 'wasm/manifest.json')));
    for (const model of [whole, one]) {
      const out = await model.run({x: ramp(4), k});
      assert.deepEqual(await out['y']?.data(), wanted(4));
    }
    const stopped = AbortSignal.abort(new Error('enough'));
    await assert.rejects(load(pathToFileURL(folder), {signal: stopped}), /enough/);
    await assert.rejects(load(pathToFileURL(join(folder, 'nowhere/'))), /has no index\.json and no manifest\.json: .*it is missing/);
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('what is not a package says what to load', async () => {
  const wrong: [unknown, RegExp][] = [
    ['models/a.onnx', /models\/a\.onnx is a model, not a package: compile it/],
    [new Uint8Array(8), /Uint8Array is not a package.*compile it/],
    [new ArrayBuffer(8), /ArrayBuffer is not a package/],
    [new Blob([]), /Blob is not a package/],
    [Promise.resolve(new Map()), /Promise is not a package/],
    [undefined, /Undefined is not a package/],
    [{}, /has no index\.json and no manifest\.json/],
  ];
  for (const [from, message] of wrong) await assert.rejects(load(from as string), {name: 'GossamerError', code: 'source', message});
});
