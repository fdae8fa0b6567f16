// Measures Gossamer against its peers, side by side; writes results/latest.json and results/latest.md.
// node bench/run.mjs [--only node,cpu,wasm,webgpu,webgl,sizes,compile] [--build FOLDER] [--budget SECONDS]
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {cpus, loadavg} from 'node:os';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {measureCompile} from './lib/compile_time.mjs';
import {startChromium} from './lib/chromium.mjs';
import {interleave, relativeError} from './lib/measure.mjs';
import * as node from './lib/node_parties.mjs';
import {markdown} from './lib/report.mjs';
import {simdPeak} from './lib/simd_peak.mjs';
import {measureSizes} from './lib/sizes.mjs';
import {openWasmPackage} from './lib/wasm_package.mjs';
import {writeModels} from './models/make.mjs';
import {fill} from './lib/feeds.mjs';

const bench = import.meta.dirname;
const root = resolve(bench, '..');
const PARTS = ['node', 'cpu', 'wasm', 'webgpu', 'webgl', 'sizes', 'compile'];
const {values: options} = parseArgs({
  options: {
    only: {type: 'string', default: PARTS.join(',')},
    build: {type: 'string', default: join(root, 'build')},
    budget: {type: 'string', default: '30'}, // for one comparison
    rounds: {type: 'string', default: '25'},
    model: {type: 'string'}, // only this one
  },
});
const build = resolve(options.build);
const only = options.only.split(',');
const unknown = only.find((part) => !PARTS.includes(part));
if (unknown) {
  console.error(`bench: no part "${unknown}"; there are ${PARTS.join(', ')}`);
  process.exit(2);
}
const work = join(bench, '.cache');
const testdata = join(root, '../shared/testdata');
const problems = [];

const image = {name: 'image', shape: [1, 3, 224, 224]};
const models = [
  {name: 'matmul512', title: 'matmul 512^3', input: {name: 'a', shape: [512, 512]}, output: 'c', seeded: true},
  {name: 'mobilenetv2', title: 'MobileNetV2', input: image, output: 'dense_64', seeded: true, floor: true},
  {name: 'resnet18', title: 'ResNet-18', input: image, output: 'dense_31', seeded: true, floor: true},
].map((model) => ({...model, file: join(work, 'models', `${model.name}.onnx`)}));
const quantized = join(testdata, 'models/mobilenetv2_int8_ort/model.onnx');
if (existsSync(quantized)) {
  const input = {name: 'image', shape: [1, 3, 244, 244]};
  models.push({name: 'mobilenetv2_int8', title: 'MobileNetV2 int8', file: quantized, input, output: 'scores', dims: [1], floor: true});
} else problems.push('MobileNetV2 int8: ../shared/testdata is not here');

if (options.model) models.splice(0, models.length, ...models.filter(({name}) => name === options.model));

const gossamer = join(build, 'gossamer');
function compiled(model, target) {
  const folder = join(work, 'packages', `${model.name}_${target}`);
  rmSync(folder, {recursive: true, force: true});
  const from = ['compile', model.file, '--target', target, '--emit', 'package', '-o', folder];
  execFileSync(gossamer, from, {stdio: ['ignore', 'ignore', 'inherit']});
  return folder;
}

const cpuTime = () => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e3;
};
const settings = (rounds) => ({rounds: Math.min(rounds, Number(options.rounds)), budgetMs: 1e3 * Number(options.budget)});

const comparisons = [];
const save = (row) => {
  comparisons.push(row);
  const [ours, ...peers] = row.parties;
  const said = peers.map(({name, cpu, cpuRatio, ratio}) => `${name} ${cpu?.toFixed(2)} (${(cpuRatio ?? ratio).toFixed(2)})`);
  console.log(`${row.section}, ${row.model}: ours ${ours.cpu?.toFixed(2)} ms, ${said.join(', ')}`);
};
/** What fails is left out and said. */
async function attempt(what, body) {
  try {
    await body();
  } catch (problem) {
    problems.push(`${what}: ${String(problem?.message ?? problem).split('\n')[0]}`);
    console.log(problems.at(-1));
  }
}

async function compareInNode(section, model, floor, opened) {
  const parties = [];
  for (const party of opened) parties.push(await party);
  const measured = await interleave(parties, {...settings(25), cpuTime});
  const error = relativeError(await parties[0].output(), await parties[1].output());
  for (const party of parties) party.close();
  save({section, model: model.title, floor: model.floor && floor, parties: measured, error});
}

async function compareInPage(chromium, device, model) {
  const page = await chromium.page();
  const makers = ['gossamer', ...(device === 'wasm' ? ['onnxruntime-web'] : []), ...(model.seeded ? ['tfjs'] : [])];
  const {name: network, input, output} = model;
  compiled(model, device);
  const folder = `/packages/${network}_${device}`;
  const file = model.seeded ? `/models/${network}.onnx` : `/quantized/model.onnx`;
  const parties = [];
  try {
    for (const maker of makers) {
      await attempt(`${device}, ${model.title}, ${maker}`, async () => {
        const {ms, error, adapter} = await page.open({maker, device, network, folder, file, input, output});
        const at = parties.length;
        parties.push({name: maker, run: () => page.run(at), first: ms, error, adapter});
      });
    }
    if (parties[0]?.name !== 'gossamer' || parties.length < 2) return;
    const measured = await interleave(parties, {...settings(25), warmup: device === 'wasm' ? 5 : 1});
    const floor = {peer: device === 'wasm' ? 'onnxruntime-web' : 'tfjs', ratio: 1};
    const all = measured.map((times, at) => ({...times, first: parties[at].first, error: parties[at].error}));
    save({section: `Chromium ${device}`, adapter: parties[0].adapter, model: model.title, floor: model.floor && floor, parties: all});
  } finally {
    await page.close();
  }
}

/** In GFLOP/s by CPU time; kernel and peak take turns, since the clock and the core's other work vary. */
async function matmulRate(where, kernel, peak) {
  const [ours, top] = await interleave([kernel, peak], {rounds: 40, warmup: 5, cpuTime: kernel.cpuTime});
  const rate = (flops, ms) => flops / ms / 1e6;
  result.matmul.push({
    where,
    rate: rate(kernel.flops, ours.cpu),
    peak: rate(peak.flops, top.cpu),
    share: kernel.flops / peak.flops / top.cpuRatio,
    bestRate: rate(kernel.flops, ours.bestCpu),
    bestPeak: rate(peak.flops, top.bestCpu),
  });
}

async function matmulInNode() {
  const folder = compiled(models[0], 'wasm');
  const model = await openWasmPackage((name) => readFileSync(join(folder, name)));
  model.input().set(fill(512 * 512));
  await matmulRate('Node', {flops: 2 * 512 ** 3, run: () => model.run(), cpuTime}, await simdPeak());
}

async function matmulInPage(chromium) {
  const page = await chromium.page();
  compiled(models[0], 'wasm');
  await page.open({maker: 'kernel', folder: '/packages/matmul512_wasm'});
  await page.open({maker: 'peak'});
  const turns = 4; // a call into the page should not count for much
  const party = (at, flops) => ({flops: turns * flops, run: () => page.run(at, turns)});
  await matmulRate('Chromium', party(0, 2 * 512 ** 3), party(1, (await simdPeak()).flops));
  await page.close();
}

const began = {date: new Date().toISOString().slice(0, 16).replace('T', ' '), loadBefore: loadavg()};
mkdirSync(join(bench, 'results'), {recursive: true});
writeModels(join(work, 'models'));
const result = {matmul: []};
if (only.includes('cpu')) {
  for (const model of models) {
    await attempt(`cpu, ${model.title}`, () =>
      compareInNode('cpu', model, {peer: 'onnxruntime-node', ratio: 1.5}, [
        node.gossamerCpu(compiled(model, 'cpu'), model, build),
        node.onnxruntimeNode(model.file, model),
      ]),
    );
  }
}
if (only.includes('node')) {
  await attempt('matmul rate in Node', matmulInNode);
  for (const model of models) {
    await attempt(`Node wasm, ${model.title}`, () =>
      compareInNode('Node wasm', model, {peer: 'onnxruntime-web wasm', ratio: 1}, [
        node.gossamerWasm(compiled(model, 'wasm'), model),
        node.onnxruntimeWeb(model.file, model),
      ]),
    );
  }
}
const devices = ['wasm', 'webgpu', 'webgl'].filter((device) => only.includes(device));
let browser;
if (devices.length) {
  const folders = {bench, web: join(root, 'web'), models: join(work, 'models'), packages: join(work, 'packages')};
  const chromium = await startChromium({...folders, quantized: join(quantized, '..')});
  browser = chromium.version;
  if (only.includes('wasm')) await attempt('matmul rate in Chromium', () => matmulInPage(chromium));
  for (const device of devices) {
    // tfjs cannot read the quantized model, so there is nobody to compare with on GPUs.
    for (const model of models.filter(({seeded}) => seeded || device === 'wasm')) {
      await attempt(`${device}, ${model.title}`, () => compareInPage(chromium, device, model));
    }
  }
  await chromium.close();
}
if (only.includes('sizes')) {
  await attempt('sizes', () => {
    const packages = ['wasm', 'webgpu', 'webgl'].map((target) => ({target, folder: compiled(models[1], target)}));
    result.sizes = measureSizes(root, build, packages);
  });
}
if (only.includes('compile')) {
  await attempt('compile time', async () => {
    const chromium = await startChromium({bench, web: join(root, 'web'), models: join(work, 'models')});
    browser ??= chromium.version;
    try {
      result.compile = await measureCompile(gossamer, chromium, testdata, work, bench);
    } finally {
      await chromium.close();
    }
  });
}
const versions = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8')).dependencies;
const {date, loadBefore} = began;
const machine = {cpu: cpus()[0].model, cores: cpus().length, node: process.version, browser, loadBefore, loadAfter: loadavg()};
const all = {date, machine, peers: versions, comparisons, ...result, problems};
const suffix = only.length === PARTS.length && !options.model ? 'latest' : `latest-${only.join('-')}`;
writeFileSync(join(bench, `results/${suffix}.json`), `${JSON.stringify(all, null, 1)}\n`);
writeFileSync(join(bench, `results/${suffix}.md`), markdown(all));
console.log(`\n${markdown(all)}`);
