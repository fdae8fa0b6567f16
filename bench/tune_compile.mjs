// What a search in a page compiles, and for how long: its candidates and the package at its end, by tuner.wasm in Node.js with a device that
// makes up its times, the same ones each time.
//
//   node bench/tune_compile.mjs [--model resnet18] [--target webgpu] [--class nvidia] [--trials 150] [--rounds 5] [--before tuner.wasm]
//
// --class: the records and costs that the search begins with. --before: another build, which takes turns; searches that differ in what
// they ask for end with an error. Each round is a process, as engines compile hot functions anew in each.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';
import {median} from './lib/measure.mjs';
import {onnxFile} from './models/onnx_file.mjs';
import {modelOf} from './models/table.mjs';

const root = resolve(import.meta.dirname, '..');
const {values: given} = parseArgs({options: {
  model: {type: 'string', default: 'resnet18'}, target: {type: 'string', default: 'webgpu'}, class: {type: 'string', default: 'nvidia'},
  trials: {type: 'string', default: '150'}, rounds: {type: 'string', default: '5'}, before: {type: 'string'},
  module: {type: 'string'}, beside: {type: 'string'}, // of one round: a process that this script begins
}});
const dist = join(root, 'web/compiler/dist');

/** Times that depend on nothing but their place. */
function timesOf(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

async function round(wasm) {
  const {besideCaller} = await import(pathToFileURL(given.beside));
  const place = besideCaller(await WebAssembly.compile(readFileSync(wasm)));
  const model = onnxFile(modelOf(given.model).graph());
  const records = readFileSync(join(dist, 'records', `${given.class}.jsonl`), 'utf8');
  const call = {model, options: {target: given.target, pieces: false}, external: [], records};
  const launches = new Map();
  const random = timesOf(1);
  const asked = [];
  const times = {begin: 0, candidates: 0, end: 0};
  let found = '';
  const timed = async (what, work) => {
    const begin = performance.now();
    const result = await work();
    times[what] += performance.now() - begin;
    if (result.error) throw new Error(result.error);
    return result;
  };
  const answer = ({ask, model: number, kernels}, files) => {
    if (ask === 'load') {
      const {run, kernels: infos} = JSON.parse(new TextDecoder().decode(files.get('manifest.json')));
      launches.set(number, run.map(({kernel}) => ({kernel: infos[kernel].number ?? kernel, bytes: 1, operations: 1})));
      return undefined;
    }
    if (ask === 'runs') return {adapter: given.class, times: [3.5]};
    if (ask !== 'profile') return undefined;
    const timedOnes = launches.get(number).filter(({kernel}) => kernels.length === 0 || kernels.includes(kernel));
    const profile = {adapter: given.class, runMs: 3.5, limits: [], launches: timedOnes.map((one) => ({...one, ms: 1 + 0.1 * random()}))};
    return {adapter: given.class, times: [], profile};
  };
  let result = await timed('begin', () => place.search(call, {seconds: 0, trials: Number(given.trials), seed: 1, layoutShare: 0}));
  for (;;) {
    const files = new Map(result.files);
    found += new TextDecoder().decode(files.get('lines') ?? new Uint8Array());
    const request = JSON.parse(new TextDecoder().decode(files.get('request')));
    asked.push(request.ask);
    if (request.ask === 'end') break;
    const bench = answer(request, files);
    result = await timed('candidates', () => place.answer(JSON.stringify({bench})));
  }
  await timed('end', () => place.compile({...call, records: `${records}\n${found}`}, () => undefined));
  return {times, asked: asked.join(' '), candidates: asked.filter((one) => one === 'load').length - 1};
}

async function compare() {
  const work = mkdtempSync(join(tmpdir(), 'gossamer-bench-'));
  try {
    const {build} = await import(join(root, 'web/node_modules/esbuild/lib/main.js'));
    const beside = join(work, 'beside.mjs');
    await build({entryPoints: [join(root, 'web/compiler/src/beside.ts')], bundle: true, format: 'esm', platform: 'node', outfile: beside, logLevel: 'error'});
    const builds = {now: join(dist, 'tuner.wasm'), ...(given.before ? {before: resolve(given.before)} : {})};
    const rows = Object.fromEntries(Object.keys(builds).map((name) => [name, []]));
    for (let turn = 0; turn < Number(given.rounds); ++turn) {
      const order = Object.entries(builds);
      for (const [name, module] of turn % 2 ? order.toReversed() : order) {
        const passed = ['model', 'target', 'class', 'trials'].flatMap((key) => [`--${key}`, given[key]]);
        const args = [import.meta.filename, ...passed, '--module', module, '--beside', beside];
        rows[name].push(JSON.parse(execFileSync(process.execPath, args, {encoding: 'utf8', maxBuffer: 2 ** 26})));
      }
    }
    const all = Object.values(rows).flat();
    if (all.some(({asked}) => asked !== all[0].asked)) throw new Error('the searches ask for other things');
    console.log(`${given.model} for ${given.target}, ${all[0].candidates} candidates of up to ${given.trials} points; medians of ${given.rounds} searches, in milliseconds`);
    const what = {begin: 'the first package', candidates: 'all candidates, and what to try next', end: 'the last package'};
    for (const [key, title] of Object.entries(what)) {
      const [now, before] = ['now', 'before'].map((name) => median((rows[name] ?? []).map(({times}) => times[key])));
      console.log(`  ${title}: ${now.toFixed(0)}${given.before ? `, before ${before.toFixed(0)}: ${(now / before).toFixed(2)}` : ''}`);
    }
  } finally {
    rmSync(work, {recursive: true});
  }
}

if (given.module) console.log(JSON.stringify(await round(given.module)));
else await compare();
