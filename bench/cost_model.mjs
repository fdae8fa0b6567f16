// How good the model of costs of a search is at kernels that it never saw (`gossamer cost-model`): of each adapter, one
// kernel after the other is left out, the model is fitted to all others and orders that kernel's points.
//
//   node bench/cost_model.mjs [FOLDER...] [--out FILE] [--least 8]
//
// FOLDER holds MODEL.TARGET.jsonl as bench/tune.mjs writes them, models by their names in bench/models/table.mjs. Writes a
// table as Markdown to FILE, and needs nothing but a built `gossamer` (GOSSAMER names another than build/gossamer).
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {onnxFile} from './models/onnx_file.mjs';
import {modelOf} from './models/table.mjs';

const {values: given, positionals} = parseArgs({allowPositionals: true, options: {
  out: {type: 'string'}, least: {type: 'string', default: '8'},
}});
const folders = positionals.length > 0 ? positionals : [path.resolve(import.meta.dirname, '.cache/tune')];
const gossamer = process.env.GOSSAMER ?? path.resolve(import.meta.dirname, '../build/gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-cost-model-'));

/** Records by target: of which models, in which files. */
const targets = new Map();
for (const folder of folders) {
  for (const file of readdirSync(folder)) {
    const [, model, target] = /^(.+)\.(\w+)\.jsonl$/.exec(file) ?? [];
    if (!model) continue;
    const found = targets.get(target) ?? {models: new Set(), files: []};
    targets.set(target, found);
    found.models.add(model);
    found.files.push(path.join(folder, file));
  }
}

function onnxOf(name) {
  const file = path.join(work, `${name}.onnx`);
  writeFileSync(file, onnxFile(modelOf(name).graph()));
  return file;
}

const share = ([some, all]) => `${some} of ${all}`;
const rows = [];
const tables = [];
for (const [target, {models, files}] of targets) {
  const args = ['cost-model', ...[...models].map(onnxOf), '--target', target, '--records', files.join(), '--least', given.least, '--json'];
  const {status, stdout, stderr} = spawnSync(gossamer, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  if (status !== 0) {
    console.log(`${target}: ${stderr.trim()}`);
    continue;
  }
  for (const {adapter, inSpace, inMeasured, near, kernels} of JSON.parse(stdout)) {
    if (kernels.length === 0) continue;
    console.log(`${target}, ${adapter}: ${share(inSpace)} in the space, ${share(near)} within 3 %, ${share(inMeasured)} of the measured`);
    rows.push(`| ${target} | ${adapter} | ${[...models].join(', ')} | ${share(inSpace)} | ${share(near)} | ${share(inMeasured)} |`);
    tables.push(`## ${target}, ${adapter}

| kernel | best | place in the space | of one within 3 % | of the measured | best of the first 5 % | of as many at random |
|---|--:|--:|--:|--:|--:|--:|
${kernels.map((one) => `| ${one.key.slice(0, 8)} ${one.name.split(' + ')[0]} | ${one.best.toFixed(3)} | ${share(one.inSpace)} | ` +
    `${share(one.near)} | ${share(one.inMeasured)} | ${one.bestOfFirst.toFixed(3)} | ${one.bestOfRandom.toFixed(3)} |`).join('\n')}
`);
  }
}
rmSync(work, {recursive: true, force: true});

if (given.out && rows.length > 0) {
  writeFileSync(given.out, `# The model of costs at kernels that it never saw

\`node bench/cost_model.mjs\`: of each adapter, one kernel after the other is left out, the model is fitted to what was measured of all
others, and orders that kernel's points; kernels of which ${given.least} points or more were measured. Ratios are times by the default point's of the
same kernel. "In the space": the best measured point is among the first 5 % of all legal points of the kernel's space (of few points
the first). "Within 3 %": it, or a measured point that a search would not tell from it. "Of the measured": it is among the first 5 % of the
points that were measured. These are few and were chosen by such a model, so that this is mostly whether the very best one comes first.
Best of the first 5 %, and of as many at random: ratios that trying so many of the measured points would have found.

| target | adapter | models | in the space | within 3 % | of the measured |
|---|---|---|--:|--:|--:|
${rows.join('\n')}

${tables.join('\n')}`);
}
