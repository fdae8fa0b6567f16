// Measures Gossamer against its peers and against its own earlier build, side by side, into results/.
// node bench/run.mjs [--only wasm,webgpu,webgl,cpu,sizes,compile] [--model NAME,...] [--budget SECONDS] (README.md)
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {arch, cpus, loadavg, platform} from 'node:os';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {findBrowser, versionOf} from './lib/browser.mjs';
import {measureCompile} from './lib/compile_time.mjs';
import {compareOnCpu} from './lib/cpu/compare.mjs';
import {drive} from './lib/drive.mjs';
import {comparisonsOf, listed} from './lib/job.mjs';
import {bench, builtBefore, layout, root} from './lib/layout.mjs';
import {packageMaker} from './lib/packages.mjs';
import {markdown} from './lib/report.mjs';
import {measureSizes} from './lib/sizes.mjs';

const DEVICES = ['cpu', 'wasm', 'webgpu', 'webgl'];
const PARTS = [...DEVICES, 'sizes', 'compile'];
const {values: options} = parseArgs({
  options: {
    only: {type: 'string', default: PARTS.join(',')},
    model: {type: 'string'},
    build: {type: 'string', default: join(root, 'build')},
    before: {type: 'string'}, // a checkout that bench/before.sh has built
    budget: {type: 'string', default: '10'}, // seconds for one comparison, besides its start
    rounds: {type: 'string', default: '25'},
    threads: {type: 'string', default: '1,2'},
    machine: {type: 'string'}, // its kind, the name of the files
  },
});
const only = listed(options.only);
const unknown = only.find((part) => !PARTS.includes(part));
if (unknown) {
  console.error(`bench: no part "${unknown}"; there are ${PARTS.join(', ')}`);
  process.exit(2);
}
const before = options.before ? resolve(options.before) : builtBefore();
const editions = {
  now: {checkout: root, build: resolve(options.build)},
  ...(before ? {before: {checkout: before, build: join(before, 'build')}} : {}),
};
const packages = packageMaker(editions, join(bench, '.cache/packages'));
const problems = before ? [] : ['the earlier build: bench/before.sh has not made it, or not here'];
const kind = options.machine ?? `${cpus()[0].model.toLowerCase().replace(/[^a-z0-9]+/g, '-')}-${cpus().length}-core`;
const whole = only.length === PARTS.length && !options.model;
const folder = whole ? join(bench, 'results') : join(bench, '.cache/results');
const stem = join(folder, whole ? kind : [kind, ...only, ...(listed(options.model) ?? [])].join('-'));
const loadBefore = loadavg();
const rows = [];
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

const settings = {rounds: Number(options.rounds), leastRounds: 5, warmup: 3, budgetMs: 1e3 * Number(options.budget), openMs: 180_000, limitMs: 60_000};
function save(row) {
  rows.push(row);
  const said = row.parties.map(({name, median, problem, wrong}) => `${name} ${median?.toFixed(2) ?? problem}${wrong ? ' (wrong)' : ''}`);
  console.log(`${row.device}, ${row.threads}, ${row.model}: ${said.join(', ')}`);
}
const asked = {names: listed(options.model), without: before ? [] : ['before'], threads: listed(options.threads).map(Number)};

const browser = DEVICES.some((device) => device !== 'cpu' && only.includes(device)) ? {path: findBrowser(), args: []} : undefined;
for (const device of DEVICES.filter((each) => only.includes(each))) {
  const comparisons = comparisonsOf({...asked, devices: [device]});
  const given = {settings, save, say: (text) => console.log(`  ${device}: ${text}`)};
  await attempt(device, async () => {
    if (device === 'cpu') {
      await compareOnCpu(comparisons, {...given, editions, packages});
      return;
    }
    const prepare = (wanted) => {
      const {name, ms} = packages.make(wanted);
      return {folder: `packages/${name}/`, ms};
    };
    const saved = (row) => {
      save(row);
      packages.clear();
    };
    const served = layout({before, packages: packages.folder});
    const {description} = await drive(served, comparisons, {...given, save: saved, prepare, browser});
    result.page = description;
  });
}
if (only.includes('sizes')) {
  await attempt('sizes', () => {
    const made = ['wasm', 'webgpu', 'webgl'].map((device) => ({target: device, folder: join(packages.folder, packages.make({edition: 'now', model: 'mobilenetv2', device}).name)}));
    result.sizes = measureSizes(root, editions.now.build, made);
  });
}
if (only.includes('compile')) await attempt('compile time', () => (result.compile = measureCompile(editions, packages)));
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
console.log(`\n${markdown(all)}\n${stem}.md`);
