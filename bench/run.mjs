// Measures Gossamer against its peers and against its own earlier build, side by side, into results/.
// node bench/run.mjs [--only cpu,wasm,webgpu,webgl,load,sizes,compile,tuned] [--model NAME,...] [--budget SECONDS] (README.md)
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {arch, cpus, loadavg, platform} from 'node:os';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {findBrowser, versionOf} from './lib/browser.mjs';
import {measureCompile} from './lib/compile_time.mjs';
import {compareOnCpu} from './lib/cpu/compare.mjs';
import {buildServe} from './lib/cpu/serve.mjs';
import {drive} from './lib/drive.mjs';
import {comparisonsOf, listed} from './lib/job.mjs';
import {bench, builtBefore, layout, root} from './lib/layout.mjs';
import {LOADED, measureLoad} from './lib/load_part.mjs';
import {packageMaker} from './lib/packages.mjs';
import {plot} from './lib/plot.mjs';
import {markdown} from './lib/report.mjs';
import {checkTflite} from './lib/self_check.mjs';
import {measureSizes} from './lib/sizes.mjs';
import {tuneModel} from './lib/tuned.mjs';
import {models} from './models/table.mjs';

const DEVICES = ['cpu', 'wasm', 'webgpu', 'webgl'];
const PARTS = [...DEVICES, 'load', 'sizes', 'compile', 'tuned'];
const TUNED = ['resnet18', 'bert', 'mobilenetv2'];
const TUNED_TARGETS = ['cpu', 'wasm', 'webgpu'];
const {values: options} = parseArgs({
  options: {
    only: {type: 'string', default: PARTS.join(',')},
    model: {type: 'string'},
    part: {type: 'string'}, // of the table of models: models,matmul,kernels,growth,zoo
    build: {type: 'string', default: join(root, 'build')},
    before: {type: 'string'}, // a checkout that bench/before.sh has built; none: without that party
    budget: {type: 'string', default: '6'}, // seconds for one comparison, besides its start
    rounds: {type: 'string', default: '25'},
    threads: {type: 'string', default: '1,2'},
    seconds: {type: 'string', default: '30'}, // of searching faster kernels, for each model and target of `tuned`
    machine: {type: 'string'}, // its kind, the name of the files
    resume: {type: 'boolean', default: false}, // goes on behind what an earlier call measured before something stopped it
  },
});
const only = listed(options.only);
const unknown = only.find((part) => !PARTS.includes(part));
if (unknown) {
  console.error(`bench: no part "${unknown}"; there are ${PARTS.join(', ')}`);
  process.exit(2);
}
const unasked = options.before === 'none';
const before = unasked ? undefined : options.before ? resolve(options.before) : builtBefore();
if (before && !existsSync(join(before, 'build/gossamer'))) {
  console.error(`bench: --before ${options.before ?? before}: there is no build/gossamer; bench/before.sh makes a checkout with one and prints its folder`);
  process.exit(2);
}
const editions = {
  now: {checkout: root, build: resolve(options.build)},
  ...(before ? {before: {checkout: before, build: join(before, 'build')}} : {}),
};
const packages = packageMaker(editions, join(bench, `.cache/packages-${process.pid}`));
// Large files; also when something stops this.
process.once('exit', () => packages.clear());
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
const problems = before || unasked ? [] : ['the earlier build: bench/before.sh has not made it, or not here'];
if (models.some(({name, part, here}) => here && !here() && (listed(options.part)?.includes(part) ?? true) && (listed(options.model)?.includes(name) ?? true)))
  problems.push('the zoo: `make zoo` has not generated its models here, so its rows are left out');
const kind = options.machine ?? `${cpus()[0].model.toLowerCase().replace(/[^a-z0-9]+/g, '-')}-${cpus().length}-core`;
const whole = only.length === PARTS.length && !options.model && !options.part;
const folder = whole ? join(bench, 'results') : join(bench, '.cache/results');
const stem = join(folder, whole ? kind : [kind, ...only, ...(listed(options.part) ?? []), ...(listed(options.model) ?? [])].join('-').slice(0, 120));
const loadBefore = loadavg();
const partial = join(bench, '.cache/results/partial.json');
const rows = options.resume ? JSON.parse(readFileSync(partial, 'utf8')).rows : [];
const measured = new Set(rows.map(({model, device, threads}) => `${model} ${device} ${threads}`));
const result = {rows, problems};

/** What fails is said in the result. */
async function attempt(what, body) {
  try {
    await body();
  } catch (problem) {
    problems.push(`${what}: ${String(problem?.message ?? problem).split('\n')[0]}`);
    console.log(problems.at(-1));
  }
}

// What there is when something stops it.
mkdirSync(join(partial, '..'), {recursive: true});

const settings = {rounds: Number(options.rounds), leastRounds: 5, warmup: 3, budgetMs: 1e3 * Number(options.budget), openMs: 180_000, firstMs: 120_000, limitMs: 20_000, growthMs: 2000};
function save(row) {
  rows.push(row);
  writeFileSync(partial, JSON.stringify(result));
  const said = row.parties.map(({name, median, problem, wrong}) => `${name} ${median?.toFixed(2) ?? problem}${wrong ? ' (wrong)' : ''}`);
  console.log(`${row.device}, ${row.threads}, ${row.model}: ${said.join(', ')}`);
}
const asked = {names: listed(options.model), parts: listed(options.part), without: before ? [] : ['before'], threads: listed(options.threads).map(Number)};

const served = layout({before, packages: packages.folder});
const browser = ['wasm', 'webgpu', 'webgl', 'load'].some((part) => only.includes(part)) ? {path: findBrowser(), args: []} : undefined;
if (only.includes('wasm')) {
  const networks = models.filter(({name, net}) => net && (!asked.names || asked.names.includes(name))).map(({name}) => name);
  await attempt('self check', () => checkTflite(served, networks, {settings, packages, browser}));
}
for (const device of DEVICES.filter((each) => only.includes(each))) {
  const comparisons = comparisonsOf({...asked, devices: [device]}).filter(({model, threads}) => !measured.has(`${model} ${device} ${threads}`));
  if (comparisons.length === 0) continue;
  const given = {settings, save, say: (text) => console.log(`  ${device}: ${text}`)};
  await attempt(device, async () => {
    if (device === 'cpu') {
      for (const {checkout, build} of Object.values(editions)) buildServe(checkout, build); // no part of loading
      await compareOnCpu(comparisons, {...given, editions, packages});
      return;
    }
    const saved = (row) => {
      save(row);
      packages.clear();
    };
    const {description} = await drive(served, comparisons, {...given, save: saved, packages, browser});
    result.page = description;
  });
}
if (only.includes('load')) {
  const alone = {...settings, rounds: 1, warmup: 0};
  const run = async (comparison) => {
    let row;
    await drive(served, [comparison], {settings: alone, packages, browser, save: (made) => (row = made)});
    console.log(`load, ${comparison.device}, ${comparison.model}, ${comparison.parties}: ${row.parties[0].first?.toFixed(0) ?? row.parties[0].problem}`);
    return row;
  };
  const devices = DEVICES.filter((device) => device !== 'cpu' && (only.includes(device) || !DEVICES.some((each) => only.includes(each))));
  await attempt('load', async () => (result.load = await measureLoad({...asked, parts: undefined, names: asked.names ?? LOADED, devices}, run)));
  packages.clear();
}
if (only.includes('sizes')) {
  await attempt('sizes', () => {
    const made = ['wasm', 'webgpu', 'webgl'].map((device) => ({target: device, folder: join(packages.folder, packages.make({edition: 'now', model: 'mobilenetv2', device}).name)}));
    result.sizes = measureSizes(root, made);
  });
}
if (only.includes('compile')) await attempt('compile time', () => (result.compile = measureCompile(editions, packages)));
if (only.includes('tuned')) {
  const devices = DEVICES.filter((device) => only.includes(device));
  result.tuned = [];
  for (const name of asked.names ?? TUNED) {
    const {name: folder, file} = packages.graph({model: name});
    for (const target of devices.length > 0 ? devices : TUNED_TARGETS) {
      await attempt(`tuned, ${name} on ${target}`, () => {
        const row = tuneModel({gossamer: join(editions.now.build, 'gossamer'), name, model: join(packages.folder, file), target, seconds: Number(options.seconds), records: join(packages.folder, `${folder}.jsonl`)});
        result.tuned.push(row);
        console.log(`tuned, ${target}, ${name}: ${row.runMsBefore.toFixed(2)} to ${row.runMsAfter.toFixed(2)}`);
      });
    }
  }
}
packages.clear();

const {cpu, cores} = {cpu: cpus()[0].model, cores: cpus().length};
const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
const load = [loadBefore, loadavg()].map((each) => each.map((value) => value.toFixed(1)).join(' '));
const names = [browser && versionOf(browser.path), result.page?.webgpu && `WebGPU: ${result.page.webgpu}`, result.page?.webgl && `WebGL: ${result.page.webgl}`];
const text = [date, `${cpu}, ${cores} cores`, `${platform()} ${arch()}`, `Node.js ${process.version}`, ...names, `load ${load[0]} at the start, ${load[1]} at the end`].filter(Boolean).join('; ');
const peers = JSON.parse(readFileSync(join(bench, 'package.json'), 'utf8')).dependencies;
const all = {machine: {kind, cpu, cores, date, browser: browser && versionOf(browser.path), text}, peers, ...result};
mkdirSync(folder, {recursive: true});
writeFileSync(`${stem}.json`, `${JSON.stringify(all, null, 1)}\n`);
writeFileSync(`${stem}.md`, markdown(all));
if (rows.length) writeFileSync(`${stem}.svg`, plot(all));
console.log(`\n${markdown(all)}\n${stem}.md`);
