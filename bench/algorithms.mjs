// What algorithms of convolutions gain and cost (results/algorithms.md): whole runs with all convolutions of 3 x 3 as the sums
// that they are, in tiles of 2 x 2 or of 4 x 4 points, and by the compiler's rule, in turns; and how far outputs differ.
//
//   node bench/algorithms.mjs [--target cpu,wasm] [--model resnet18,squeezenet] [--threads 1] [--device native|rpc://...]
//                             [--rounds 5] [--runs 10] [--browser-path PATH] [--browser-args "..."]
//   node bench/algorithms.mjs --rounding
//
// --rounding: of single convolutions of N(0, 1) on the CPU. Needs nothing but a built `gossamer` (GOSSAMER names another than
// build/gossamer) and, for web targets without --device, a browser.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {commandWords} from './lib/browser.mjs';
import {call, npyValues, writeCase} from './lib/gossamer.mjs';
import {interleave} from './lib/measure.mjs';
import {cell, ms} from './lib/report.mjs';
import {Graph, random} from './models/graph.mjs';
import {modelOf} from './models/table.mjs';

const {values: given} = parseArgs({args: commandWords(), options: {
  target: {type: 'string', default: 'cpu,wasm'}, model: {type: 'string', default: 'resnet18,squeezenet'},
  threads: {type: 'string', default: '1'}, rounds: {type: 'string', default: '5'}, runs: {type: 'string', default: '10'},
  device: {type: 'string'}, 'browser-path': {type: 'string'}, 'browser-args': {type: 'string'}, rounding: {type: 'boolean'},
}});
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-algorithms-'));
process.once('exit', () => rmSync(work, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const FORCED = ['direct', 'winograd=2', 'winograd=4'];

/** Records that give all of a model's convolutions one algorithm; how many they are. */
function force(model, target, algorithm, file) {
  const {targets} = JSON.parse(call('inspect', model, '--target', target, '--space', '--json'));
  const kinds = targets[0].layouts.filter((one) => one.algorithm);
  const lines = kinds.flatMap(({key, class: machine}) =>
    // A package for both kinds of adapters asks for hardware's first.
    [...new Set([machine, `${target}.hardware`, `${target}.software`])].map((one) => JSON.stringify({key, class: one, algorithm})));
  writeFileSync(file, `${lines.join('\n')}\n`);
  return kinds.length;
}

/** Packages of a model, {algorithm: folder}; 'the rule' has no records. Undefined: none of its convolutions has a choice. */
function packagesOf(model, target, folder) {
  const packages = {};
  for (const algorithm of [...FORCED, 'the rule']) {
    const records = path.join(folder, 'forced.jsonl');
    const forced = algorithm !== 'the rule';
    if (forced && force(model, target, algorithm, records) === 0) return undefined;
    packages[algorithm] = path.join(folder, algorithm);
    call('compile', model, '--target', target, '--emit', 'package', '--output', packages[algorithm], ...(forced ? ['--records', records] : []));
  }
  return packages;
}

/** The largest difference of outputs by the largest output, and the root of the mean of its square by that of the outputs'. */
function difference(outputs, ofDirect) {
  let most = 0, largest = 0, squares = 0, all = 0;
  for (const [at, {data}] of outputs.entries()) {
    for (const [place, value] of ofDirect[at].data.entries()) {
      const off = Math.abs(data[place] - value);
      most = Math.max(most, off);
      largest = Math.max(largest, Math.abs(value));
      squares += off ** 2;
      all += value ** 2;
    }
  }
  return {most: most / largest, rms: Math.sqrt(squares / all)};
}

function outputsOf(packageFolder, target, inputs, graph) {
  call('run', packageFolder, '--target', target, ...inputs, '--save', work);
  return graph.outputs.map(({name}) => npyValues(path.join(work, `${name}.npy`)));
}

async function compare(name, target) {
  const folder = mkdtempSync(path.join(work, 'case-'));
  const graph = modelOf(name).graph();
  const {model, inputs} = writeCase(graph, folder, ['--target', 'cpu']);
  const packages = packagesOf(model, target, folder);
  if (!packages) {
    console.log(`| ${modelOf(name).title} | ${target} | | | | | | | no convolution has a choice |`);
    return;
  }
  const options = ['device', 'browser-path', 'browser-args'].flatMap((key) => (given[key] ? [`--${key}`, given[key]] : []));
  if (target === 'cpu' || target === 'wasm') options.push('--threads', given.threads);
  let adapter = '';
  const turns = await interleave(Object.entries(packages).map(([algorithm, at]) => ({name: algorithm, run: async () => {
    const said = JSON.parse(call('bench', at, '--target', target, '--runs', given.runs, '--json', ...options));
    adapter = said.adapter;
    return {wall: said.runMs};
  }})), {rounds: Number(given.rounds), warmup: 0, first: 'direct'});
  const failed = turns.find(({problem}) => problem);
  if (failed) throw new Error(failed.problem);
  let most;
  try {
    const direct = outputsOf(packages.direct, target, inputs, graph);
    most = Math.max(...Object.values(packages).map((at) => difference(outputsOf(at, target, inputs, graph), direct).most)).toExponential(0);
  } catch (problem) {
    // `run` has no browser: where this machine has no native device, tests/conformance compares.
    most = `not compared: ${problem.message.slice(0, 80)}`;
  }
  const [direct, two, four, rule] = turns;
  const cells = [modelOf(name).title, target, adapter, ...[direct, two, four, rule].map(({median}) => ms(median)), (1 / rule.ratio).toFixed(2), most];
  console.log(`| ${cells.map(cell).join(' | ')} |`);
  rmSync(folder, {recursive: true});
}

function normal(seed, count) {
  const uniform = random(seed, 2 * count);
  return Float32Array.from({length: count}, (_, at) =>
    Math.sqrt(-2 * Math.log((Math.abs(uniform[2 * at]) + 2 ** -32) / (1 + 2 ** -32))) * Math.cos(Math.PI * uniform[2 * at + 1]));
}

function rounding(channels, extent) {
  const folder = mkdtempSync(path.join(work, 'case-'));
  const graph = new Graph('convolution');
  const x = graph.input('x', [1, channels, extent, extent], normal(1, channels * extent ** 2));
  const weights = graph.constant(normal(2, channels ** 2 * 9), [channels, channels, 3, 3]);
  graph.output(graph.node('Conv', [x, weights], x.shape, {kernel_shape: [3, 3], pads: [1, 1, 1, 1]}));
  const {model, inputs} = writeCase(graph, folder, ['--target', 'cpu']);
  const packages = packagesOf(model, 'cpu', folder);
  const direct = outputsOf(packages.direct, 'cpu', inputs, graph);
  const [two, four] = ['winograd=2', 'winograd=4'].map((algorithm) => difference(outputsOf(packages[algorithm], 'cpu', inputs, graph), direct));
  console.log(`| ${[channels, extent, ...[two.most, two.rms, four.most, four.rms].map((value) => value.toExponential(1))].join(' | ')} |`);
  rmSync(folder, {recursive: true});
}

if (given.rounding) {
  console.log('Differences from the sum: the largest by the largest output, and RMS by that of the outputs.\n');
  console.log('| channels | extent | by 2, largest | RMS | by 4, largest | RMS |\n|--:|--:|--:|--:|--:|--:|');
  for (const [channels, extent] of [[64, 56], [128, 28], [256, 14], [512, 7]]) rounding(channels, extent);
} else {
  console.log(`Medians in ms of ${given.rounds} turns of ${given.runs} runs. Difference: of outputs from the sum's, by the largest one.\n`);
  console.log('| model | target | adapter | direct | all by 2 | all by 4 | the rule | by direct | difference |\n|---|---|---|--:|--:|--:|--:|--:|--:|');
  for (const name of given.model.split(',')) {
    for (const target of given.target.split(',')) await compare(name, target);
  }
}
