// How fast the zoo's models (tests/zoo) or single operators are with one thread: open as they are exported, and with all shapes
// fixed, both against ONNX Runtime. CPU time; the three take turns, run by run.
//
//   node bench/zoo.mjs [--operators] [--target wasm] [--only NAME,...] [--set 0] [--cpu haswell] [--seconds 4] [--build FOLDER] [--json FILE]
//
// --operators: those of bench/models/operators.mjs; --only takes parts of their names. --target: cpu against ONNX Runtime for Python, wasm against onnxruntime-web in Node.js. --set: the test data set that is fed.
// --seconds: of one model's turns. Outputs are compared with those of ONNX Runtime.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {toleranceOf, zooModels} from '../tests/zoo/cases.mjs';
import {buildServe, openServed} from './lib/cpu/serve.mjs';
import {bench, root} from './lib/layout.mjs';
import {interleave, judge, median} from './lib/measure.mjs';
import {ms} from './lib/report.mjs';
import {exportedGraph} from './models/exported.mjs';
import {operators} from './models/operators.mjs';

const {values: options} = parseArgs({options: {
  operators: {type: 'boolean', default: false},
  target: {type: 'string', default: 'cpu'}, only: {type: 'string'}, set: {type: 'string', default: '0'}, cpu: {type: 'string'}, seconds: {type: 'string', default: '4'},
  build: {type: 'string', default: path.join(root, 'build')}, json: {type: 'string'},
}});
const known = options.operators ? Object.keys(operators) : zooModels();
const asked = options.only?.split(',') ?? known;
const names = options.operators ? known.filter((name) => asked.some((part) => name.includes(part))) : asked;
const unknown = names.filter((name) => !known.includes(name));
if (known.length === 0 || unknown.length > 0) {
  console.error(known.length === 0 ? 'zoo: there are no models; `make zoo` generates them' : `zoo: there is no model ${unknown.join(', ')}; there are ${known.join(', ')}`);
  process.exit(2);
}
const build = path.resolve(options.build);
const environment = `third_party/cache/${options.operators ? 'bench-cpu' : 'zoo'}-environment`;
if (options.operators) execFileSync('tools/setup/virtual_environment.sh', ['bench/cpu/requirements.txt', environment], {cwd: root, stdio: 'inherit'});
const python = path.join(root, environment, 'bin/python');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-zoo-'));
process.once('exit', () => rmSync(work, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** By target: the program that runs a package, that which runs a model with ONNX Runtime, both with the arguments before the file, and options of `compile`. */
const wasmServe = path.join(bench, 'wasm/serve.mjs');
const TARGETS = {
  cpu: () => ({own: [buildServe(root, build)], peer: [python, path.join(bench, 'cpu/onnxruntime_serve.py')], flags: options.cpu ? ['--cpu', options.cpu] : []}),
  wasm: () => ({own: [process.execPath, wasmServe, 'gossamer'], peer: [process.execPath, wasmServe, 'onnxruntime-web'], flags: ['--relaxed-simd']}),
};
if (!TARGETS[options.target]) {
  console.error(`zoo: unknown target ${options.target}; use one of ${Object.keys(TARGETS).join(', ')}`);
  process.exit(2);
}
const {own, peer, flags} = TARGETS[options.target]();
const serve = ([program, ...before], file, graph) => openServed(program, [...before, file, '1'], graph);

/** Opens a party; {problem} where it cannot. */
async function attempt(name, open) {
  try {
    return {name, ...(await open())};
  } catch (problem) {
    const said = String(problem.stderr || problem.message).trim().split('\n');
    return {name, problem: said.find((line) => /error/i.test(line)) ?? said.at(-1)};
  }
}

/** The graph in a file. */
function written(graph) {
  const source = path.join(work, 'operator.onnx');
  writeFileSync(source, graph.file());
  return {...graph, source};
}

function openPackage(graph, fixed) {
  const folder = path.join(work, 'package', fixed ? 'fixed' : 'open');
  const shapes = fixed ? graph.inputs.flatMap(({name, shape}) => ['--shape', `${name}=${shape.join(',')}`]) : [];
  rmSync(folder, {recursive: true, force: true});
  execFileSync(path.join(build, 'gossamer'), ['compile', graph.source, '--target', options.target, '--emit', 'package', '-o', folder, ...flags, ...shapes], {stdio: ['ignore', 'ignore', 'pipe']});
  return serve(own, folder, graph);
}

async function measure(name) {
  const graph = options.operators ? written(operators[name]()) : exportedGraph(name, Number(options.set));
  const parties = [
    await attempt('ort', () => serve(peer, graph.source, graph)),
    await attempt('open', () => openPackage(graph, false)),
    await attempt('fixed', () => openPackage(graph, true)),
  ];
  const outputs = [];
  for (const party of parties) outputs.push(party.problem ? undefined : await party.run().catch((problem) => void (party.problem = problem.message)));
  const verdicts = judge(outputs, toleranceOf(name));
  const alive = parties.filter(({problem}) => !problem).map(({name: party, timed}) => ({name: party, run: timed}));
  const times = await interleave(alive, {rounds: 200, warmup: 2, leastRounds: 5, budgetMs: 1e3 * Number(options.seconds)});
  parties.forEach(({close}) => close?.());
  const of = (party) => {
    const at = parties.findIndex((each) => each.name === party);
    const problem = parties[at].problem ?? (verdicts[at].wrong ? `off by ${verdicts[at].error.toExponential(0)}` : undefined);
    return {...times.find((each) => each.name === party), problem};
  };
  return {name, ort: of('ort'), open: of('open'), fixed: of('fixed')};
}

const over = (a, b) => (a.cpu !== undefined && b.cpu !== undefined ? a.cpu / b.cpu : undefined);
const times = (value) => (value === undefined ? '' : value.toFixed(2));

/** The columns of ratios: open and fixed against ONNX Runtime, open against fixed. */
const RATIOS = [({open, ort}) => over(open, ort), ({fixed, ort}) => over(fixed, ort), ({open, fixed}) => over(open, fixed)];

const compiledFor = options.target === 'cpu' && options.cpu ? ` Packages are compiled for ${options.cpu}; ONNX Runtime uses all that the processor has.` : '';
console.log(`CPU time of a run in ms, ${options.target}, one thread, medians of turns; ${os.cpus()[0].model}.${compiledFor}\n`);
console.log('| model | ONNX Runtime | open | all fixed | open / ORT | fixed / ORT | open / fixed | |\n|---|--:|--:|--:|--:|--:|--:|---|');
const rows = [];
for (const name of names) {
  const row = await measure(name);
  rows.push(row);
  const said = ['ort', 'open', 'fixed'].flatMap((party) => (row[party].problem ? [`${party}: ${row[party].problem}`] : []));
  console.log(`| ${[name, ms(row.ort.cpu), ms(row.open.cpu), ms(row.fixed.cpu), ...RATIOS.map((ratio) => times(ratio(row))), said.join('; ').replaceAll('|', '\\|')].join(' | ')} |`);
}
const columns = RATIOS.map((ratio) => rows.map(ratio).filter((value) => value !== undefined)).map((values) => (values.length ? values : [NaN]));
console.log(`| **median** | | | | ${columns.map((values) => median(values).toFixed(2)).join(' | ')} | |`);
console.log(`| **worst** | | | | ${columns.map((values) => Math.max(...values).toFixed(2)).join(' | ')} | |`);
if (options.json) writeFileSync(options.json, `${JSON.stringify(rows, null, 1)}\n`);
