// node run.mjs [--browser PATH] [--browser-args "..."] [--out FOLDER] [--resume]: the benchmark's comparisons on this
// machine's GPU, into results.json, results.md and results.svg. Needs nothing but Node.js and a Chromium.
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {arch, cpus, platform} from 'node:os';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {commandWords, findBrowser} from './bench/lib/browser.mjs';
import {drive, keyOf} from './bench/lib/drive.mjs';
import {comparisonsOf, listed} from './bench/lib/job.mjs';
import {plot} from './bench/lib/plot.mjs';
import {markdown} from './bench/lib/report.mjs';

const {values: options} = parseArgs({
  args: commandWords(),
  options: {
    browser: {type: 'string'}, // default: GOSSAMER_CHROMIUM, or where systems have one
    'browser-args': {type: 'string', default: ''},
    out: {type: 'string', default: '.'},
    device: {type: 'string', default: 'webgpu'},
    model: {type: 'string'}, // names; default: all
    part: {type: 'string'}, // of the table: models,matmul,kernels,growth
    without: {type: 'string'}, // parties to leave out
    rounds: {type: 'string', default: '25'},
    budget: {type: 'string', default: '20'}, // seconds for one comparison, besides its start
    limit: {type: 'string', default: '1e9'}, // seconds in all: begins nothing after
    stall: {type: 'string', default: '180'}, // seconds that a party may take to open, or to run
    resume: {type: 'boolean', default: false}, // goes on with what FOLDER has
  },
});
const here = import.meta.dirname;
const out = resolve(options.out);
const file = join(out, 'results.json');
mkdirSync(out, {recursive: true});
const done = options.resume && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {rows: []};

const without = listed(options.without) ?? [];
if (!existsSync(join(here, 'before'))) without.push('before');
const wanted = comparisonsOf({devices: listed(options.device), names: listed(options.model), parts: listed(options.part), without});
const comparisons = wanted.filter((each) => !done.rows.some((row) => keyOf(row) === keyOf(each)));

const machine = {...done.machine, cpu: cpus()[0].model, cores: cpus().length, system: `${platform()} ${arch()}`, node: process.version};
const write = () => {
  const {date, browser, webgpu, webgl, cpu, cores, system, node} = machine;
  const text = [date, webgpu, webgl, `${cpu}, ${cores} threads`, system, browser, `Node.js ${node}`].filter(Boolean).join('; ');
  const result = {machine: {...machine, text}, rows: done.rows};
  writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`);
  writeFileSync(join(out, 'results.md'), markdown(result));
  writeFileSync(join(out, 'results.svg'), plot({...result, machine: {...result.machine, kind: machine.webgpu ?? machine.cpu}}));
};

const {left, description} = await drive({'': here}, comparisons, {
  settings: {rounds: Number(options.rounds), leastRounds: 5, warmup: 3, budgetMs: 1e3 * Number(options.budget), openMs: 1e3 * Number(options.stall), firstMs: 1e3 * Number(options.stall), limitMs: 20_000, growthMs: 2000},
  browser: {path: options.browser ?? findBrowser(), args: options['browser-args'].split(/\s+/).filter(Boolean)},
  untilMs: performance.now() + 1e3 * Number(options.limit),
  say: (text) => console.log(text),
  save: (row) => {
    done.rows.push(row);
    write();
  },
});
Object.assign(machine, description);
write();
console.log(`\n${readFileSync(join(out, 'results.md'), 'utf8')}`);
if (left.length) console.log(`${left.length} comparisons are left: run again with --resume`);
