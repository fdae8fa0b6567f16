import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {test} from 'node:test';

import {load, tensor, type TuneProgress} from '../../runtime/src/index.ts';
import {besideCaller, type Place} from '../src/beside.ts';
import type {MadeFile} from '../src/call.ts';
import {compile} from '../src/index.ts';
import {tune} from '../src/tune.ts';
import {classifier, perceptron, product} from './onnx.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = join(dirname(process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, 'build-wasm/compiler.wasm')), 'tuner.wasm');
const skip = existsSync(path) ? false : 'tuner.wasm is not built (make wasm)';
const wasm = skip ? undefined : new WebAssembly.Module(readFileSync(path));

const SIDE = 64;
const onnx = product(SIDE);
const x = tensor(Float32Array.from({length: SIDE * SIDE}, (_, at) => (at % 7) - 3), [SIDE, SIDE]);

const linesOf = (records: string): Record<string, unknown>[] =>
  records.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);

test('a model is tuned where it is, and compiled by what was found', {skip}, async () => {
  using model = await load(await compile(onnx, {target: 'wasm', wasm, tunable: true}), {threads: 1});
  const {y} = await model.run({x});
  const told: TuneProgress[] = [];
  const found = await model.tune({trials: 12, feeds: {x}, onProgress: (progress) => told.push(progress)});
  assert.ok(found.trials > 0, 'no point was measured');
  assert.ok(told.length > 0 && told.every(({kernels}) => kernels.length > 0 && kernels.every(({msBefore, ms}) => msBefore > 0 && ms > 0)));
  const trials = linesOf(found.records).filter((line) => 'trial' in line);
  assert.equal(trials.length, found.trials + found.failures);
  for (const line of trials) assert.match(String(line['class']), /^wasm/);
  const kernels = found.kernels.filter(({before, after}) => before !== after);
  for (const {key} of kernels) assert.ok(linesOf(found.records).some((line) => line['key'] === key && 'point' in line));
  assert.equal(linesOf(found.records).filter((line) => 'layouts' in line).length, found.layoutTrials + found.layoutFailures);
  for (const {key, after} of found.layouts) assert.ok(linesOf(found.records).some((line) => line['key'] === key && line['layout'] === after));
  using tuned = await load(found.files, {threads: 1});
  const outputs = await tuned.run({x});
  const [expected, actual] = [await y?.data<Float32Array>(), await outputs['y']?.data<Float32Array>()];
  assert.ok(expected && actual);
  expected.forEach((value, at) => assert.ok(Math.abs(value - (actual[at] ?? NaN)) <= 1e-3 * Math.abs(value) + 1e-3));
  // By the records alone the same package comes out, and without them another one, if anything was found.
  const again = await compile(onnx, {target: 'wasm', wasm, records: found.records});
  assert.deepEqual(new Map(again), new Map(found.files));
  assert.equal(kernels.length > 0 || found.layouts.length > 0, !sameCode(await compile(onnx, {target: 'wasm', wasm, records: ''}), again));
});

test('the last package is made where the search was, which has its kernels and weights', {skip}, async () => {
  const linear = classifier(256, 64);
  const plain = await compile(linear, {target: 'wasm', wasm, records: ''});
  using model = await load(plain, {threads: 1});
  let made: readonly MadeFile[] = [];
  const open = (): Promise<Place> => {
    const place = besideCaller(wasm as WebAssembly.Module);
    const watched = async (...given: Parameters<Place['compile']>): ReturnType<Place['compile']> => {
      const result = await place.compile(...given);
      if ('files' in result) made = result.files;
      return result;
    };
    return Promise.resolve({...place, compile: watched});
  };
  const call = {model: linear, options: {target: 'wasm' as const, pieces: true}, external: []};
  const {files} = await tune(load, open, call, undefined, model, {trials: 2, layoutShare: 0, keep: false, records: ''});
  const weights = made.filter(({name}) => name.endsWith('.safetensors'));
  assert.deepEqual(weights.map(({bytes}) => bytes.length), [0], 'another instance made them');
  for (const {name} of weights) assert.deepEqual(files.get(name), plain.get(name));
});

function sameCode(one: ReadonlyMap<string, Uint8Array>, other: ReadonlyMap<string, Uint8Array>): boolean {
  const code = (files: ReadonlyMap<string, Uint8Array>): Uint8Array[] =>
    [...files].filter(([name]) => name.endsWith('.wasm')).map(([, bytes]) => bytes);
  return JSON.stringify(code(one).map(String)) === JSON.stringify(code(other).map(String));
}

test('records decide what is compiled; lines that are none are left out', {skip}, async () => {
  const plain = await compile(onnx, {target: 'wasm', wasm, records: ''});
  using model = await load(await compile(onnx, {target: 'wasm', wasm, tunable: true}), {threads: 1});
  const {records} = await model.tune({trials: 8, feeds: {x}});
  // A tile of two rows is not what the compiler takes by itself; some points make the same code as its own.
  const measured = linesOf(records).find((line) => String(line['trial']).startsWith('contraction'));
  assert.ok(measured);
  const {key, class: machine, trial} = measured;
  const point = String(trial).replace(/tile\(i0, \d+\)/, 'tile(i0, 2)');
  const lines = ['no record', JSON.stringify({key, class: machine, point}), '{"key": 1}'].join('\n');
  assert.equal(sameCode(plain, await compile(onnx, {target: 'wasm', wasm, records: lines})), false);
  assert.equal(sameCode(plain, await compile(onnx, {target: 'wasm', wasm, records: 'no record\n'})), true);
});

test('a search goes on with what it is given, and ends when it is told to', {skip}, async () => {
  using model = await load(await compile(onnx, {target: 'wasm', wasm, tunable: true}), {threads: 1});
  const stop = new AbortController();
  const first = await model.tune({seconds: 60, feeds: {x}, signal: stop.signal, onProgress: () => stop.abort()});
  assert.ok(first.trials + first.layoutTrials > 0);
  const second = await model.tune({trials: 6, feeds: {x}, records: first.records});
  assert.ok(second.records.startsWith(first.records));
  const points = linesOf(second.records).filter((line) => 'trial' in line).map(({key, trial}) => `${String(key)} ${String(trial)}`);
  assert.equal(new Set(points).size, points.length, 'a point was measured twice');
});

test('layouts have the share of the search that they are given', {skip}, async () => {
  using model = await load(await compile(onnx, {target: 'wasm', wasm, tunable: true}), {threads: 1});
  const none = await model.tune({trials: 6, layoutShare: 0, feeds: {x}, keep: false, records: ''});
  assert.equal(none.layoutTrials + none.layoutFailures, 0);
  const some = await model.tune({trials: 6, layoutShare: 1, feeds: {x}, keep: false, records: ''});
  assert.ok(some.layoutTrials + some.layoutFailures > 0);
  for (const layoutShare of [-0.1, 1.5, NaN]) await assert.rejects(model.tune({layoutShare}), {name: 'RangeError', message: /layoutShare/});
});

test('what was found is what compile() begins with the next time', {skip}, async () => {
  const kept = new Map<string, Response>();
  const cache = {
    match: (address: string) => Promise.resolve(kept.get(address)?.clone()),
    put: (address: string, response: Response) => Promise.resolve(void kept.set(address, response)),
  };
  Object.assign(globalThis, {caches: {open: () => Promise.resolve(cache)}});
  try {
    using model = await load(await compile(onnx, {target: 'wasm', wasm, tunable: true}), {threads: 1});
    const {records} = await model.tune({trials: 8, feeds: {x}});
    assert.deepEqual(await Promise.all([...kept.values()].map((each) => each.clone().text())), [records]);
    // Another point in place of what was found: it decides what is compiled, for this model and these options alone. Two points may
    // give the same code, but not all of them.
    const plain = await compile(onnx, {target: 'wasm', wasm, records: ''});
    let decides = false;
    for (const {key, class: machine, trial: point} of linesOf(records).filter((line) => 'trial' in line)) {
      for (const address of kept.keys()) kept.set(address, new Response(JSON.stringify({key, class: machine, point})));
      decides = !sameCode(plain, await compile(onnx, {target: 'wasm', wasm, tunable: true}));
      if (decides) break;
    }
    assert.ok(decides);
    assert.equal(sameCode(plain, await compile(onnx, {target: 'wasm', wasm, tunable: true, name: 'another'})), true);
  } finally {
    Reflect.deleteProperty(globalThis, 'caches');
  }
});

test('candidates that do not load, or give other numbers, are recorded and left out', {skip}, async () => {
  const plain = await compile(onnx, {target: 'wasm', wasm, records: ''});
  const files = (await compile(onnx, {target: 'wasm', wasm, tunable: true})) as unknown as {
    extrasWith: (loader: typeof load) => {tune: (model: Awaited<ReturnType<typeof load>>, options: object) => ReturnType<Awaited<ReturnType<typeof load>>['tune']>};
  };
  using model = await load(plain, {threads: 1});
  const other = await compile(perceptron(2), {target: 'wasm', wasm});
  for (const [spoiled, why] of [
    [() => Promise.reject(new Error('it does not fit')), /it does not fit/],
    [() => load(other, {threads: 1}), /./],
  ] as const) {
    const loader = (given: Parameters<typeof load>[0], options?: Parameters<typeof load>[1]) =>
      sameCode(plain, given as Map<string, Uint8Array>) ? load(given, options) : spoiled();
    const found = await files.extrasWith(loader).tune(model, {trials: 3, feeds: {x}, keep: false});
    assert.equal(found.trials, 0);
    assert.ok(found.failures > 0);
    const lines = linesOf(found.records);
    for (const line of lines.filter((each) => 'trial' in each)) assert.match(String(line['failed']), why);
    // What is left is that the default points are the best ones known.
    for (const line of lines.filter((each) => !('trial' in each))) assert.equal(line['ratio'], 1);
    assert.ok(sameCode(plain, found.files));
  }
});

test('says what cannot be tuned', {skip}, async () => {
  using plain = await load(await compile(perceptron(2), {target: 'wasm', wasm}));
  await assert.rejects(plain.tune(), {name: 'GossamerError', code: 'unsupported', message: /tunable: true/});
});
