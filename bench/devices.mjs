// One model on every device that Gossamer compiles for, side by side: a table and a picture. All are given the same input, what
// they compute is compared with the CPU's, and they take turns, so that what else the machine does hits all alike.
//
//   node bench/devices.mjs [--model resnet18] [--target cpu,opencl,...] [--runs 5] [--rounds 5] [--machine KIND] [--out FOLDER]
//                          [--browser-path PATH] [--browser-args "..."]
//
// Writes OUT/MACHINE-devices.json, .md and .svg (default: bench/results), and needs nothing but a built `gossamer` (GOSSAMER names
// another than build/gossamer) and, for pages, a browser. A device that is not there is named, and the others go on.
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {commandWords} from './lib/browser.mjs';
import {bars, devicesMarkdown} from './lib/devices_report.mjs';
import {call, writeCase} from './lib/gossamer.mjs';
import {interleave} from './lib/measure.mjs';
import {modelOf} from './models/table.mjs';

// A row a device; the first is what the others are compared with. args: of `gossamer test` and `bench`.
const DEVICES = [
  {name: 'cpu', title: 'CPU', target: 'cpu'},
  {name: 'opencl', title: 'OpenCL', target: 'opencl'},
  {name: 'opengl', title: 'OpenGL', target: 'opengl'},
  {name: 'webgl', title: 'WebGL', target: 'webgl', page: true},
  {name: 'webgl-native', title: 'WebGL, native', target: 'webgl', args: ['--device', 'native']},
  {name: 'webgpu', title: 'WebGPU', target: 'webgpu', page: true},
  {name: 'webgpu-native', title: 'WebGPU, native', target: 'webgpu', args: ['--device', 'native']},
];

const {values: given} = parseArgs({args: commandWords(), options: {
  model: {type: 'string', default: 'resnet18'},
  target: {type: 'string', default: DEVICES.map(({name}) => name).join(',')},
  runs: {type: 'string', default: '5'}, // of a turn, whose median is taken
  rounds: {type: 'string', default: '5'},
  machine: {type: 'string'},
  out: {type: 'string', default: path.join(import.meta.dirname, 'results')},
  'browser-path': {type: 'string'}, 'browser-args': {type: 'string'},
}});
const browser = ['browser-path', 'browser-args'].flatMap((name) => (given[name] ? [`--${name}`, given[name]] : []));
const wanted = given.target.split(',');
const strange = wanted.find((name) => !DEVICES.some((device) => device.name === name));
if (strange) {
  console.error(`devices: no device "${strange}"; there are ${DEVICES.map(({name}) => name).join(', ')}`);
  process.exit(2);
}

const loadBefore = os.loadavg();
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-devices-'));
process.once('exit', () => rmSync(work, {recursive: true, force: true}));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const {title, graph} = modelOf(given.model);
const first = DEVICES[0];
const {model} = writeCase(graph(), work, ['--target', first.target]);

const rows = DEVICES.filter(({name}) => wanted.includes(name)).map(({name, title: called}) => ({name, title: called}));
const there = [];
for (const row of rows) {
  const {target, page, args: more = []} = DEVICES.find(({name}) => name === row.name);
  const options = [...more, ...(page ? browser : [])];
  console.log(`${row.title}: compiled and compared`);
  try {
    const folder = path.join(work, row.name);
    call('compile', model, '--target', target, '--emit', 'package', '--output', folder);
    const verdict = JSON.parse(call('test', work, '--target', target, '--json', ...options).split('\n')[0]);
    row.error = verdict.ratio; // of what is allowed
    there.push({
      name: row.name,
      run: async () => {
        const {runMs, adapter} = JSON.parse(call('bench', folder, '--target', target, '--runs', given.runs, '--json', ...options));
        row.adapter = adapter;
        return {wall: runMs};
      },
    });
  } catch (problem) {
    row.problem = problem.message.slice(0, 300);
    console.log(`${row.title}: ${row.problem}`);
  }
}
const turns = await interleave(there, {
  rounds: Number(given.rounds), warmup: 0, first: first.name,
  tell: (name) => console.log(`${DEVICES.find((device) => device.name === name).title}: ${given.runs} runs`),
});
for (const turn of turns) Object.assign(rows.find(({name}) => name === turn.name), turn);

const kind = given.machine ?? `${os.cpus()[0].model.toLowerCase().replace(/[^a-z0-9]+/g, '-')}-${os.cpus().length}-core`;
const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
const text = `${date}; ${os.cpus()[0].model}, ${os.cpus().length} cores; ${os.platform()} ${os.arch()}; ${given.rounds} turns of ${given.runs} runs; ` +
  `load ${loadBefore[0].toFixed(1)} at the start, ${os.loadavg()[0].toFixed(1)} at the end`;
const result = {machine: {kind, date, text}, model: given.model, title, rows};
const stem = path.join(given.out, `${kind}-devices`);
mkdirSync(given.out, {recursive: true});
writeFileSync(`${stem}.json`, `${JSON.stringify(result, null, 1)}\n`);
writeFileSync(`${stem}.md`, devicesMarkdown(result));
writeFileSync(`${stem}.svg`, bars(result));
console.log(`\n${devicesMarkdown(result)}\n${stem}.md`);
process.exitCode = rows.some(({median}) => median > 0) ? 0 : 1;
