// Packages as a compiler of their time wrote them, which later run times read: node tests/stored_packages/make.mjs. For a new version of the
// format (src/package/package.h) a row of FORMS is added here; what is stored is never written again.
//
// y = softmax(relu(x w + b) v) and where y is more than 0.4, for rows whose number a run says; weights of seed 1.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {model, node, stored, value} from '../cli/models.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');

/** By version: what makes the compiler write it, and what manifests of its time did not have. */
const FORMS = {
  2: {options: [], without: /,\s*"sha256": ?"[^"]*"/g},
  3: {options: ['--shard-bytes', '100b']},
  4: {options: ['--state'], grows: true},
};

let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
const matrix = (rows, columns) => Float32Array.from({length: rows * columns}, () => 4 * random());
const [ROWS, IN, HIDDEN, OUT] = [3, 4, 8, 3];
const [w, b, v, x] = [matrix(IN, HIDDEN), matrix(1, HIDDEN), matrix(HIDDEN, OUT), matrix(ROWS, IN)];

const tensor = (name, data, ...shape) => stored({type: 'f32', shape, data}, name);
const PAST = [0.25, -1, 3, 2, 0.5, -0.125];
/** `grows`: in the place of where y is large, the y of all runs, one after the other. */
const network = (grows) => model({
  nodes: [
    node('MatMul', ['x', 'w'], ['xw']), node('Add', ['xw', 'b'], ['sum']), node('Relu', ['sum'], ['h']),
    node('MatMul', ['h', 'v'], ['hv']), node('Softmax', ['hv'], ['y']),
    ...(grows
      ? [node('Concat', ['past', 'y'], ['all'], {integers: {axis: 0}})]
      : [node('Greater', ['y', 'least'], ['large']), node('NonZero', ['large'], ['where'])]),
  ],
  inputs: [value('x', 'f32', ['n', IN]), ...(grows ? [value('past', 'f32', ['before', OUT])] : [])],
  outputs: [value('y', 'f32', ['n', OUT]), ...(grows ? [value('all', 'f32', ['after', OUT])] : [value('where', 'i64', [2, 'found'])])],
  weights: [tensor('w', w, IN, HIDDEN), tensor('b', b, HIDDEN), tensor('v', v, HIDDEN, OUT), ...(grows ? [] : [tensor('least', Float32Array.of(0.4))])],
});

/** By the definition, in doubles. */
function expected(grows) {
  const y = [];
  const where = [[], []];
  for (let row = 0; row < ROWS; ++row) {
    const h = Array.from({length: HIDDEN}, (_, to) => {
      let sum = b[to];
      for (let from = 0; from < IN; ++from) sum += x[row * IN + from] * w[from * HIDDEN + to];
      return Math.max(0, sum);
    });
    const powers = Array.from({length: OUT}, (_, to) => Math.exp(h.reduce((sum, each, from) => sum + each * v[from * OUT + to], 0)));
    const all = powers.reduce((sum, each) => sum + each, 0);
    powers.forEach((each, column) => {
      y.push(each / all);
      if (each / all > 0.4) [row, column].forEach((at, axis) => where[axis].push(at));
    });
  }
  const all = [...PAST, ...y];
  return {x: Array.from(x), xShape: [ROWS, IN], y, ...(grows ? {past: PAST, pastShape: [2, OUT], all} : {where: where.flat()})};
}

const work = mkdtempSync(path.join(os.tmpdir(), 'stored-packages-'));
const file = path.join(work, 'stored.onnx');
for (const [version, {options, without, grows}] of Object.entries(FORMS)) {
  const folder = path.join(import.meta.dirname, `version_${version}`);
  if (existsSync(folder)) continue;
  mkdirSync(folder);
  writeFileSync(file, network(grows));
  const compile = (target, out, ...more) =>
    execFileSync(gossamer, ['compile', file, '--target', target, '--emit', 'package', '--output', out, ...options, ...more], {stdio: 'inherit'});
  compile('webgpu,webgl,wasm', path.join(folder, 'web'));
  compile('cpu', path.join(folder, 'cpu'), '--cpu', 'x86-64-v2');
  for (const target of ['web/webgpu', 'web/webgl', 'web/wasm', 'cpu']) {
    const manifest = path.join(folder, target, 'manifest.json');
    if (without) writeFileSync(manifest, readFileSync(manifest, 'utf8').replaceAll(without, ''));
  }
  const {version: made} = JSON.parse(readFileSync(path.join(folder, 'cpu/manifest.json'), 'utf8'));
  if (String(made) !== version) throw new Error(`version_${version}: the compiler wrote version ${made}`);
  writeFileSync(path.join(folder, 'case.json'), `${JSON.stringify(expected(grows), undefined, 1)}\n`);
}
rmSync(work, {recursive: true});
