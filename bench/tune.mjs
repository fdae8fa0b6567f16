// What tuning gains: each model tuned on a target from nothing, and whole runs and kernels before and after, in turns, as
// `gossamer tune` compares them at its end.
//
//   node bench/tune.mjs [--target cpu,wasm] [--model resnet18,bert] [--seconds 120] [--device rpc://...] [--out FOLDER]
//
// Writes FOLDER/tune.json, FOLDER/tune.md and the records, and needs nothing but a built `gossamer` (GOSSAMER names
// another than build/gossamer).
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {onnxFile} from './models/onnx_file.mjs';
import {modelOf} from './models/table.mjs';

const {values: given} = parseArgs({options: {
  target: {type: 'string', default: 'cpu,wasm'}, model: {type: 'string', default: 'resnet18,bert,mobilenetv2'},
  seconds: {type: 'string', default: '120'}, device: {type: 'string'}, threads: {type: 'string'},
  out: {type: 'string', default: path.resolve(import.meta.dirname, '.cache/tune')},
}});
const gossamer = process.env.GOSSAMER ?? path.resolve(import.meta.dirname, '../build/gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-tune-'));
mkdirSync(given.out, {recursive: true});

const file = path.join(given.out, 'tune.json');
const rows = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
const sum = (kernels, key) => kernels.reduce((all, kernel) => all + kernel[key], 0);

for (const name of given.model.split(',')) {
  const model = path.join(work, `${name}.onnx`);
  writeFileSync(model, onnxFile(modelOf(name).graph()));
  for (const target of given.target.split(',')) {
    const records = path.join(given.out, `${name}.${target}.jsonl`);
    rmSync(records, {force: true});
    const args = ['tune', model, '--target', target, '--seconds', given.seconds, '--output', records, '--json'];
    if (given.device) args.push('--device', given.device);
    if (given.threads) args.push('--threads', given.threads);
    const {status, stdout, stderr} = spawnSync(gossamer, args, {encoding: 'utf8', maxBuffer: 1 << 28});
    if (status !== 0) {
      console.log(`${name} on ${target}: ${stderr.trim()}`);
      continue;
    }
    const {kernels, adapter, runMsBefore, runMsAfter, trials, failures} = JSON.parse(stdout);
    const row = {
      model: name, target, adapter, seconds: Number(given.seconds), trials, failures, runMsBefore, runMsAfter,
      kernelMsBefore: sum(kernels, 'msBefore'), kernelMsAfter: sum(kernels, 'msAfter'),
      changed: kernels.filter(({before, after}) => before !== after).length, kernels: kernels.length,
    };
    const same = rows.findIndex((one) => one.model === name && one.target === target && one.adapter === adapter);
    rows.splice(same < 0 ? rows.length : same, same < 0 ? 0 : 1, row);
    writeFileSync(file, `${JSON.stringify(rows, null, 1)}\n`);
    console.log(`${name} on ${target}: run ${runMsBefore.toFixed(3)} to ${runMsAfter.toFixed(3)} ms, kernels ` +
      `${row.kernelMsBefore.toFixed(3)} to ${row.kernelMsAfter.toFixed(3)} ms, ${trials} points, ${failures} failed`);
  }
}
rmSync(work, {recursive: true, force: true});

const times = (before, after) => `${before.toFixed(3)} | ${after.toFixed(3)} | ${(before / after).toFixed(2)}`;
const table = rows.map((row) => `| ${row.model} | ${row.target} | ${row.adapter} | ${times(row.runMsBefore, row.runMsAfter)} | ` +
  `${times(row.kernelMsBefore, row.kernelMsAfter)} | ${row.changed} of ${row.kernels} | ${row.trials} in ${row.seconds} s |`);
writeFileSync(path.join(given.out, 'tune.md'), `# Tuned against default

\`node bench/tune.mjs\`: milliseconds of whole runs and of the sum of kernels, the fastest of five turns of both.

| model | target | adapter | run | tuned | gain | kernels | tuned | gain | kernels changed | points |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
${table.join('\n')}
`);
