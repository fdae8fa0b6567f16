// What tuning gains, model by model and target by target (lib/tuned.mjs).
//
//   node bench/tune.mjs [--target cpu,wasm] [--model resnet18,bert] [--seconds 120] [--device rpc://...] [--out FOLDER]
//
// Writes FOLDER/tune.json, FOLDER/tune.md and the records, and needs nothing but a built `gossamer` (GOSSAMER names
// another than build/gossamer).
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {tunedTable} from './lib/report.mjs';
import {tuneModel} from './lib/tuned.mjs';
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
const more = ['device', 'threads'].flatMap((name) => (given[name] ? [`--${name}`, given[name]] : []));

for (const name of given.model.split(',')) {
  const model = path.join(work, `${name}.onnx`);
  writeFileSync(model, onnxFile(modelOf(name).graph()));
  for (const target of given.target.split(',')) {
    const records = path.join(given.out, `${name}.${target}.jsonl`);
    let row;
    try {
      row = tuneModel({gossamer, name, model, target, seconds: Number(given.seconds), records, more});
    } catch (problem) {
      console.log(`${name} on ${target}: ${problem.message}`);
      continue;
    }
    const same = rows.findIndex((one) => one.model === name && one.target === target && one.adapter === row.adapter);
    rows.splice(same < 0 ? rows.length : same, same < 0 ? 0 : 1, row);
    writeFileSync(file, `${JSON.stringify(rows, null, 1)}\n`);
    console.log(`${name} on ${target}: run ${row.runMsBefore.toFixed(3)} to ${row.runMsAfter.toFixed(3)} ms, kernels ` +
      `${row.kernelMsBefore.toFixed(3)} to ${row.kernelMsAfter.toFixed(3)} ms, ${row.trials} points, ${row.failures} failed`);
  }
}
rmSync(work, {recursive: true, force: true});

writeFileSync(path.join(given.out, 'tune.md'), `# Tuned against default

\`node bench/tune.mjs\`: milliseconds of whole runs and of the sum of kernels, the fastest of five turns of both.

${tunedTable(rows).join('\n')}
`);
