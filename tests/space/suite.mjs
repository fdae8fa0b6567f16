// Every point is right: for each kernel of some models a point of the space that `gossamer tune` searches is drawn, another one for each
// seed, and the answers must stay the same. As a user would: `inspect --space`, records, `test --records`.
//
//   node tests/space/suite.mjs [--seeds N] [TARGET...]
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {testdata} from '../shared.mjs';
import {writeOwn} from '../models/own.mjs';
import {Tally} from '../tally.mjs';

const {values: options, positionals} = parseArgs({allowPositionals: true, options: {seeds: {type: 'string'}}});
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const models = testdata(root, 'models');
const folder = mkdtempSync(path.join(tmpdir(), 'gossamer-space-'));
const targets = positionals.length > 0 ? positionals : ['cpu', 'wasm', 'webgpu', 'webgl'];
// Convolutions, products, quantised ones, recurrences, softmax and normalizations, trees, sorts, dynamic shapes.
const shared = ['mnist_8_cntk', 'espcn_qonnx_float', 'yunet_n_dyn', 'byte_sb_bidi_lstm', 'bert_toy_ort', 'dtln_1',
  'rf_iris', 'winml_image_classifier', 'gpt2_past_ort', 'magika_fast_v2_1'];
// In a clone without shared models those of this project, which are smaller.
const places = new Map(existsSync(models) ? shared.map((name) => [name, path.join(models, name)])
  : Object.entries(writeOwn({folder: path.join(folder, 'own'), gossamer})));
// Of a kernel's space, to draw from: all of them but for the largest spaces of GPUs.
const POINTS = 512;
// Each model runs on two of the four targets; with --seeds on all of them.
const order = ['cpu', 'wasm', 'webgpu', 'webgl'];
const runs = (target, at) => options.seeds !== undefined || (at + order.indexOf(target)) % 2 === 0;
const tally = new Tally();

function call(...args) {
  const {status, stdout, stderr, error} =
    spawnSync(gossamer, args, {encoding: 'utf8', timeout: 600_000, maxBuffer: 1 << 28});
  return {status, stdout: stdout ?? '', problem: error?.message ?? (stderr || '').trim()};
}

// Numbers in [0, 1), the same ones for a seed.
function generator(seed) {
  let state = (seed * 2654435761) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function inspect(model, target, ...args) {
  const {stdout, problem} = call('inspect', model, '--space', '--json', '--target', target, ...args);
  const [seen] = stdout ? JSON.parse(stdout).targets : [{problem}];
  if (seen.problem) throw new Error(seen.problem);
  return seen;
}

// Each convolution by one of the algorithms that it could have, each stage of these in one of its layouts, whatever they cost; other
// kernels follow.
function drawLayouts(model, target, random) {
  const file = path.join(folder, 'layouts.jsonl');
  const drawn = [];
  writeFileSync(file, '');
  for (const of of ['algorithm', 'layout']) {
    for (const {key, class: machine, layouts, ...seen} of inspect(model, target, '--records', file, '--points', '1').layouts) {
      if (!(of in seen)) continue;
      const choice = layouts[Math.floor(random() * layouts.length)];
      for (const one of new Set([machine, machine.replace('.software', '.hardware')])) drawn.push({key, class: one, [of]: choice});
    }
    writeFileSync(file, drawn.map((record) => JSON.stringify(record)).join('\n'));
  }
  const {layouts, kernels} = inspect(model, target, '--records', file, '--points', String(POINTS));
  // Kernels beside each other in one launch have no space.
  return {layouts: drawn, kernels: kernels.filter(({points}) => points), moved: layouts.filter(({layout, algorithm, rule}) => (layout ?? algorithm) !== rule).length,
    taken: layouts.every(({recorded}) => recorded)};
}

function check(name, target, seed) {
  const place = places.get(name);
  const model = path.join(place, readdirSync(place).find((file) => file.endsWith('.onnx')));
  const random = generator(seed);
  // Points are of kernels, and these of layouts: both are drawn.
  const {layouts, kernels, moved, taken} = drawLayouts(model, target, random);
  tally.record(`${target}: ${name}, seed ${seed}: all layouts that are recorded are taken`, taken ? undefined : JSON.stringify(layouts));
  const records = kernels.map(({key, class: machine, points}) =>
    ({key, class: machine, point: points[Math.floor(random() * points.length)]}));
  const changed = records.filter(({point}, at) => point !== kernels[at].points[0]).length;
  const file = path.join(folder, `${name}.${target}.${seed}.jsonl`);
  writeFileSync(file, [...layouts, ...records].map((record) => JSON.stringify(record)).join('\n'));
  for (const adapters of target === 'webgpu' ? ['software', 'hardware'] : [undefined]) {
    const flags = adapters ? ['--adapters', adapters] : [];
    const {stdout, problem} = call('test', place, '--target', target, '--records', file, ...flags);
    const counts = /^(\d+) passed, (\d+) failed/m.exec(stdout);
    const bad = counts?.[2] === '0' ? undefined : stdout.split('\n').filter((line) => /^(FAIL|error)/.test(line)).join('; ') || problem;
    const drawn = bad && [...layouts, ...records].map(({key, layout, algorithm, point}) => `${key} ${layout ?? algorithm ?? point}`).join('\n  ');
    tally.record(`${target}${adapters ? ` ${adapters}` : ''}: ${name}, seed ${seed}, ${changed} of ${kernels.length} kernels elsewhere, ${moved} layouts`,
      bad && `${bad}\n  ${drawn}`);
  }
  // A record that changes nothing would pass as well.
  if (seed === 1) {
    const {stdout, problem} = call('compile', model, '--target', target, '--records', file, '--emit', 'package', '--json',
      '-o', path.join(folder, `${name}.package`));
    const {recorded, refused} = stdout ? JSON.parse(stdout).packages[0] : {};
    tally.record(`${target}: ${name}: all records are taken`,
      recorded >= kernels.length && refused === 0 ? undefined : problem || `${recorded} of ${kernels.length}, ${refused} refused`);
  }
}

for (const target of targets) {
  for (const [at, name] of [...places.keys()].entries()) {
    for (let seed = 1; runs(target, at) && seed <= Number(options.seeds ?? 1); seed++) {
      try {
        check(name, target, seed);
      } catch (problem) {
        tally.record(`${target}: ${name}, seed ${seed}`, String(problem.message));
      }
    }
  }
}
rmSync(folder, {recursive: true});
tally.end();
