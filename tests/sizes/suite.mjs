// Models whose tensors become as large as a few numbers of their inputs say, up to far beyond 64 bits of elements, on
// every target: each run ends in the right answer, or in an error that names the tensor or the node. Never in a crash,
// a hang or another answer. And tensors that lie high in the memory of wasm (high_memory.mjs).
//
//   node tests/sizes/suite.mjs [targets] [--count N]      N: runs of each model on each target; 4, in `make conformance` 12
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {stored} from '../cli/models.mjs';
import {jobs} from '../jobs.mjs';
import {Tally} from '../tally.mjs';
import {testHighMemory} from './high_memory.mjs';
import {HUGE, MODELS} from './models.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-sizes-'));
const options = process.argv.slice(2);
const count = options.includes('--count') ? Number(options[options.indexOf('--count') + 1]) : 4;
const named = options.filter((word) => ['cpu', 'wasm', 'webgpu', 'webgl'].includes(word));
const targets = named.length > 0 ? named : ['cpu', 'wasm', 'webgpu', 'webgl'];
const tally = new Tally();
const SECONDS = 60; // a case; under load
const ELEMENTS = 2 ** 16; // of an answer that is compared
const WORK = 2n ** 31n - 2n ** 20n; // elements that kernels of 32 bits can count

// A linear congruential generator: the same cases every time.
let state = 20260101;
const below = (end) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % end;

const elements = ({shape}) => shape.reduce((all, extent) => all * extent, 1n);

// The numbers of a case: mostly huge ones, small ones so that there are answers as well.
function numbers({takes, fed}, round) {
  const pool = fed ? HUGE.filter((each) => each >= 1n && each <= fed) : HUGE;
  return Array.from({length: takes}, (_, at) =>
    (round + at) % 3 === 0 ? BigInt(1 + below(9)) : pool[below(pool.length)]);
}

function writeCase(folder, {bytes, make, wanted}, given) {
  mkdirSync(path.join(folder, 'test_data_set_0'), {recursive: true});
  writeFileSync(path.join(folder, 'model.onnx'), typeof bytes === 'function' ? bytes(...given) : bytes);
  const feeds = make(...given);
  feeds.forEach((feed, at) => writeFileSync(path.join(folder, 'test_data_set_0', `input_${at}.pb`), stored(feed)));
  const want = wanted(feeds, given);
  // What is too much to be written down may only be refused, or be of that shape; 0 elements stand for it.
  const known = want && elements(want) <= ELEMENTS && want.shape.every((extent) => extent < 2n ** 31n);
  const shape = known ? want.shape : [0n];
  const Type = folder.includes('range') ? BigInt64Array : Float32Array;
  const data = Type.from({length: Number(elements({shape}))}, (_, at) => (Type === Float32Array ? want.at(at) : BigInt(want.at(at))));
  const type = Type === Float32Array ? 'f32' : 'i64';
  writeFileSync(path.join(folder, 'test_data_set_0', 'output_0.pb'), stored({type, shape, data}));
  const must = known && (want.work ?? 0n) <= 2n ** 20n; // well within what every device has
  const wide = feeds.some(({type, data}) => type === 'i64' && data.some((each) => BigInt.asIntN(32, each) !== each));
  return {must, wide, known, shape: want?.shape, possible: known && (want.work ?? 0n) <= WORK};
}

// The answers of `gossamer test`, by case.
function test(target, folders) {
  const list = path.join(work, `${target}.txt`);
  writeFileSync(list, folders.map((name) => `${name}/test_data_set_0\n`).join(''));
  const words = ['test', path.join(work, 'cases'), '--target', target, '--json', '--jobs', jobs, '--timeout', `${SECONDS}`];
  // Natively 3 GB: what a small machine has, so that refusals are those of a machine that is full.
  const limit = target === 'cpu' ? 'ulimit -v 3000000; ' : '';
  const child = spawn('bash', ['-c', `${limit}exec "$@"`, 'bash', gossamer, ...words], {cwd: root});
  let text = '';
  let complaint = '';
  child.stdout.on('data', (piece) => (text += piece));
  child.stderr.on('data', (piece) => (complaint += piece));
  return new Promise((resolve) => child.on('close', (code, signal) => {
    const lines = text.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    resolve({lines, end: signal ?? code, complaint});
  }));
}

try {
  const cases = new Map();
  for (const [name, one] of Object.entries(MODELS)) {
    for (let round = 0; round < count; ++round) {
      const given = numbers(one, round);
      const folder = `${name}_${round}`;
      cases.set(folder, {given, ...writeCase(path.join(work, 'cases', folder), one, given)});
    }
  }
  for (const target of targets) {
    const {lines, end, complaint} = await test(target, [...cases.keys()]);
    for (const [name, {given, must, wide, known, possible, shape}] of cases) {
      const found = lines.find((line) => line.name?.includes(`${name}/`));
      const problems = [];
      if (!found) problems.push(`no answer (${end}): ${complaint.slice(-300)}`);
      else if (found.status === 'pass') {
        if (!possible) problems.push('gives an answer that nobody can check');
      } else {
        const said = found.message ?? JSON.stringify(found);
        // GPUs may have no room for a number of 64 bits, whatever comes of it.
        const narrow = wide && target.startsWith('web') && said.includes('this device has i32 only');
        if (must && !narrow) problems.push(`refused: ${said}`);
        else if (said.includes(', expected ')) {
          const other = /is \w+\[(.*)\], expected/.exec(said);
          if (known || other?.[1] !== shape?.join(', ')) problems.push(`another answer: ${said}`);
        } else if (!/tensor "|input "|output "|\[\w+\] "|\w+ "[^"]+"/.test(said)) problems.push(`names nothing: ${said}`);
        else if (/differ|worst|timed? ?out|crash|signal|killed|lost/i.test(said)) problems.push(`no refusal: ${said}`);
      }
      tally.record(`${name} (${given.join(', ')}) on ${target}`, problems);
    }
  }
  if (targets.includes('wasm')) await testHighMemory({gossamer, work, record: (name, problems) => tally.record(name, problems)});
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
