// Caches that are written where they lie (`compile --state`): the same values as with caches that are copied, on wasm in Node, on webgpu in
// Chromium and natively; a longer sequence makes no bind group and moves no bytes of what was there.
//
//   node tests/state/suite.mjs
import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {onnxFile} from '../../bench/models/onnx_file.mjs';
import {gpt2} from '../../bench/models/transformers.mjs';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {model, node, npyOf, stored, value} from '../cli/models.mjs';
import {asked, serve} from '../npm/forms.mjs';
import {Tally} from '../tally.mjs';
import {llama} from './llama.mjs';
import {decode, fail, fork, grow, talk} from './use.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-state-'));
const tally = new Tally();
const TOKENS = 40;

const decoder = gpt2({length: 1, past: 8, free: true, layers: 2, width: 64, heads: 4, vocabulary: 256});
writeFileSync(path.join(work, 'decoder.onnx'), onnxFile(decoder));
// Rows of [1, 2, past, width] and of [list, 2], of any number at once, and what reads them whole. Halves share words on a GPU where a row is
// whole words.
for (const [name, type, width] of [['grower', 'f32', 3], ['halves', 'f16', 4]]) {
  const cast = (from, to, kind) => node('Cast', [from], [to], {integers: {to: kind === 'f16' ? 10 : 1}});
  writeFileSync(path.join(work, `${name}.onnx`), model({
    nodes: [
      cast('rows', 'stored', type), node('Concat', ['past', 'stored'], ['present'], {integers: {axis: 2}}),
      node('Concat', ['list', 'items'], ['longer'], {integers: {axis: 0}}), cast('present', 'wide', 'f32'),
      node('Mul', ['wide', 'wide'], ['square']), node('ReduceSum', ['square', 'two'], ['squares'], {integers: {keepdims: 0}}),
      node('ReduceSum', ['longer', 'first'], ['sums'], {integers: {keepdims: 0}}),
    ],
    inputs: [value('past', type, [1, 2, 'p', width]), value('rows', 'f32', [1, 2, 'n', width]), value('list', 'f32', ['l', 2]), value('items', 'f32', ['m', 2])],
    outputs: [value('present', type, [1, 2, 'q', width]), value('longer', 'f32', ['k', 2]), value('squares', 'f32', [1, 2, width]), value('sums', 'f32', [2])],
    weights: [stored({type: 'i64', shape: [1], data: BigInt64Array.of(2n)}, 'two'), stored({type: 'i64', shape: [1], data: BigInt64Array.of(0n)}, 'first')],
  }));
}

const speaker = llama({});
writeFileSync(path.join(work, 'llama.onnx'), speaker.file);

for (const name of ['decoder', 'grower', 'halves', 'llama']) {
  for (const target of ['wasm', 'webgpu', 'webgl', 'cpu']) {
    for (const state of [false, true]) {
      const out = path.join(work, `${name}_${target}_${state ? 'in_place' : 'copied'}`);
      const {status, stderr} = spawnSync(gossamer, ['compile', path.join(work, `${name}.onnx`), '--target', target, '--output', out, ...(state ? ['--state'] : [])], {encoding: 'utf8', timeout: 120_000});
      tally.record(`${name} compiles for ${target}`, status === 0 ? undefined : stderr);
    }
  }
}
{ // What GPUs in hardware run, which is right on any.
  const {status, stderr} = spawnSync(gossamer, ['compile', path.join(work, 'llama.onnx'), '--target', 'webgpu', '--adapters', 'hardware', '--state', '--output', path.join(work, 'llama_webgpu_hardware')], {encoding: 'utf8', timeout: 120_000});
  tally.record('llama compiles for adapters in hardware', status === 0 ? undefined : stderr);
}
const manifestOf = (name) => JSON.parse(readFileSync(path.join(work, name, 'manifest.json'), 'utf8'));

// How much a kernel writes into a cache hangs on no dimension; without, on the length.
for (const target of ['wasm', 'webgpu', 'cpu', 'webgl']) {
  for (const [form, wanted] of [['copied', false], ['in_place', target !== 'webgl']]) {
    const {version, outputs, run, kernels} = manifestOf(`decoder_${target}_${form}`);
    const caches = new Set(outputs.slice(1).map(({tensor}) => tensor));
    // A launch may write several.
    const writes = run.flatMap(({tensors, kernel, range}) =>
      tensors.slice(-(kernels[kernel].writes ?? 1)).filter((each) => caches.has(each)).map(() => range));
    const fixed = writes.filter((range) => typeof range === 'number').length;
    const problems = [];
    if (writes.length !== 4) problems.push(`${writes.length} caches are written`);
    if (wanted && fixed < 4) problems.push(`${4 - fixed} caches are written whole`);
    if ((version === 4) !== wanted) problems.push(`version ${version}`);
    tally.record(`${target}, ${form}: rows written by a step`, problems);
  }
}

function same(a, b, tolerance = 1e-4) {
  const problems = [];
  const walk = (x, y, at) => {
    if (typeof x === 'number') {
      if (!(Math.abs(x - y) <= tolerance)) problems.push(`${at}: ${x} and ${y}`);
    } else if (!y || Object.keys(x).length !== Object.keys(y).length) problems.push(`${at}: ${JSON.stringify(x)?.slice(0, 200)} and ${JSON.stringify(y)?.slice(0, 200)}`);
    else for (const key of Object.keys(x)) walk(x[key], y[key], `${at}.${key}`);
  };
  walk(a, b, '');
  return problems.slice(0, 3);
}

// Numbers that halves hold.
const numbers = (count, seed) => Array.from({length: count}, (_, at) => Math.round(64 * Math.sin(seed + 1.7 * at)) / 64);
const stepsOf = (width) => [[3, 1], [1, 2], [5, 40], [20, 1], [1, 1]].map(([n, m], at) => ({rows: numbers(2 * width * n, at), items: numbers(2 * m, 10 + at)}));
/** By the definition. */
function expected(steps, width) {
  const [past, list] = [[[], []], []];
  return steps.map(({rows, items}) => {
    const n = rows.length / (2 * width);
    past.forEach((half, at) => half.push(...rows.slice(width * n * at, width * n * (at + 1))));
    list.push(...items);
    const sum = (values, width, of) => Array.from({length: width}, (_, column) => values.reduce((total, each, at) => (at % width === column ? total + of(each) : total), 0));
    return {
      squares: past.flatMap((half) => sum(half, width, (each) => each * each)), sums: sum(list, 2, (each) => each),
      past: {shape: [1, 2, past[0].length / width, width], data: past.flat()}, list: {shape: [list.length / 2, 2], data: [...list]},
    };
  });
}
const steps = stepsOf(3), grown = expected(steps, 3);
const wider = stepsOf(4), grownHalves = expected(wider, 4);

const lib = path.join(root, 'web/runtime/dist');
const runtime = await import(pathToFileURL(path.join(lib, 'runtime.js')).href);
const at = (name) => pathToFileURL(path.join(work, name) + path.sep);
const wanted = await decode(runtime, at('decoder_wasm_copied'), {device: 'wasm', state: decoder.state, tokens: TOKENS});
for (const rows of [undefined, 64]) {
  tally.record(`tokens in Node${rows ? ', all rows at once' : ''}`, same(wanted, await decode(runtime, at('decoder_wasm_in_place'), {device: 'wasm', state: decoder.state, tokens: TOKENS, rows})));
}
const heard = await talk(runtime, at('llama_wasm_copied'), {device: 'wasm', state: speaker.state, tokens: 12});
tally.record('a language model in Node', same(heard, await talk(runtime, at('llama_wasm_in_place'), {device: 'wasm', state: speaker.state, tokens: 12}), 1e-3));
for (const kept of [false, true]) {
  for (const form of ['copied', 'in_place']) {
    tally.record(`several rows at once in Node, ${form}${kept ? ' from run to run' : ''}`, same(grown, await grow(runtime, at(`grower_wasm_${form}`), {device: 'wasm', steps, kept})));
  }
}

tally.record('halves in Node', same(grownHalves, await grow(runtime, at('halves_wasm_in_place'), {device: 'wasm', steps: wider, width: 4, kept: true})));

const {grow: more} = WebAssembly.Memory.prototype;
const refused = () => {
  throw new RangeError('there is no memory, as the test wants');
};
const full = (now) => (WebAssembly.Memory.prototype.grow = now ? refused : more);
for (const form of ['copied', 'in_place']) {
  tally.record(`runs that fail in Node, ${form}`, await fail(runtime, at(`grower_wasm_${form}`), {device: 'wasm', steps, wanted: [...grown], full}).catch((problem) => problem.stack));
}

tally.record('a past that several runs continue, in Node', await fork(runtime, at('grower_wasm_in_place'), {device: 'wasm'}).catch((problem) => problem.stack));

// Natively all is fed and read.
let before = {past: {shape: [1, 2, 0, 3], data: []}, list: {shape: [0, 2], data: []}};
for (const [turn, {rows, items}] of steps.entries()) {
  const feeds = {...before, rows: {shape: [1, 2, rows.length / 6, 3], data: rows}, items: {shape: [items.length / 2, 2], data: items}};
  const args = Object.entries(feeds).flatMap(([name, {shape, data}]) => {
    writeFileSync(path.join(work, `${name}.npy`), npyOf('<f4', shape, Buffer.from(Float32Array.from(data).buffer)));
    return ['--input', `${name}=${path.join(work, `${name}.npy`)}`];
  });
  const {status, stderr} = spawnSync(gossamer, ['run', path.join(work, 'grower_cpu_in_place'), ...args, '--save', work], {encoding: 'utf8', timeout: 240_000});
  const read = (name) => {
    const bytes = readFileSync(path.join(work, `${name}.npy`));
    return Array.from(new Float32Array(bytes.buffer.slice(bytes.byteOffset + 10 + bytes.readUInt16LE(8), bytes.byteOffset + bytes.length)));
  };
  const {past, list} = grown[turn];
  tally.record(`run ${turn + 1} natively`, status === 0 ? same(grown[turn], {squares: read('squares'), sums: read('sums'), past: {...past, data: read('present')}, list: {...list, data: read('longer')}}) : stderr);
  before = {past, list};
}

copyFileSync(path.join(import.meta.dirname, 'use.mjs'), path.join(work, 'use.js'));
writeFileSync(path.join(work, 'index.html'), `<!doctype html><script type="module">
import * as run from '/lib/runtime.js';
import * as use from './use.js';
const told = (body) => (given) => body(given).catch((problem) => ({error: String(problem.stack)}));
globalThis.grow = told(({from, ...more}) => use.grow(run, from, more));
globalThis.fork = told(({from, ...more}) => use.fork(run, from, more));
globalThis.fail = told(async ({from, ...more}) => {
  const pop = GPUDevice.prototype.popErrorScope;
  const refused = async () => new GPUOutOfMemoryError('there is no memory, as the test wants');
  const full = (now) => (GPUDevice.prototype.popErrorScope = now ? refused : pop);
  return use.fail(run, from, {...more, ...(more.device === 'webgpu' && {full})});
});
globalThis.talk = told(({from, ...more}) => use.counted((count) => use.talk(run, from, {...more, count})));
globalThis.decode = told(({from, ...more}) => use.counted((count) => use.decode(run, from, {...more, count})));
</script>`);
const server = await serve(work, work, {also: {lib}});
const browser = await startBrowser();
try {
  const ask = async (name, of, more) => asked(browser, `${server.address}app/`, name, {from: `/files/${of}/`, ...more});
  for (const device of ['webgpu', 'webgl']) {
    const all = await ask('grow', `grower_${device}_in_place`, {device, steps, kept: true});
    tally.record(`several rows at once on ${device}`, all.error ?? same(grown, all));
  }
  for (const device of ['webgpu', 'webgl']) {
    const all = await ask('grow', `halves_${device}_in_place`, {device, steps: wider, width: 4, kept: true});
    tally.record(`halves on ${device}`, all.error ?? same(grownHalves, all));
  }
  const {tensors, inputs} = manifestOf('halves_webgpu_in_place');
  const {storage} = tensors[inputs.find(({name}) => name === 'past').tensor];
  tally.record('halves share words of memory', storage === 'f16' ? undefined : storage);
  for (const [device, form] of [['webgpu', 'in_place'], ['webgpu', 'copied'], ['webgl', 'in_place']]) {
    const problems = await ask('fail', `grower_${device}_${form}`, {device, steps, wanted: grown});
    tally.record(`runs that fail on ${device}, ${form}`, problems.error ?? problems);
  }
  const forks = await ask('fork', 'grower_webgpu_in_place', {device: 'webgpu'});
  tally.record('a past that several runs continue, on webgpu', forks.error ?? forks);
  const {said, caches, counts, error} = await ask('decode', 'decoder_webgpu_in_place', {device: 'webgpu', state: decoder.state, tokens: TOKENS, rows: 64});
  tally.record('tokens on webgpu', error ?? same(wanted, {said, caches}));
  const late = (counts ?? []).slice(4);
  const most = Math.max(...late.map(({bytes}) => bytes));
  tally.record('a longer sequence makes no bind group', late.length === TOKENS - 4 && late.every(({groups}) => groups === 0) ? undefined : `${counts?.map(({groups}) => groups)}`);
  tally.record('only what is read is copied', most === 4 * 256 ? undefined : `${most} bytes a token`);
  // Attention is two launches, products with norms and gates four, new rows of caches and turned queries one; then there are the
  // embedding, the mask's sum and the scores of words.
  const [OF_A_LAYER, OF_A_TOKEN] = [7, 3];
  for (const form of ['copied', 'in_place', 'hardware']) {
    const {said: words, scores, caches: kept, counts: each, error: wrong} =
      await ask('talk', `llama_webgpu_${form}`, {device: 'webgpu', state: speaker.state, tokens: 12, rows: 64});
    tally.record(`a language model on webgpu, ${form}`, wrong ?? same(heard, {said: words, scores, caches: kept}, 1e-3));
    if (form === 'copied') continue;
    const launches = Math.max(...(each ?? []).slice(4).map((one) => one.launches));
    tally.record(`launches a token, ${form}`, launches <= speaker.layers * OF_A_LAYER + OF_A_TOKEN ? undefined : `${launches} for ${speaker.layers} layers`);
  }
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  await browser.close();
  server.close();
  rmSync(work, {recursive: true});
}
tally.end();
