// Profiles from the command line, on every target: operations as a textbook counts them, times that sum up to a run,
// traces that readers of the format take, and the same names everywhere.
//
//   node tests/profile/suite.mjs [targets]
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {model, node, npy, stored, value} from '../cli/models.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-profile-'));
const targets = process.argv[2]?.split(',') ?? ['cpu', 'wasm', 'webgpu', 'webgl'];
const tally = new Tally();

const run = (...args) => spawnSync(gossamer, args, {cwd: work, encoding: 'utf8', timeout: 300_000, killSignal: 'SIGKILL'});

/** Standard output as JSON; null, with the problem told, where the command failed. */
function ask(name, ...args) {
  const {status, stdout, stderr} = run('bench', ...args, '--json');
  tally.record(name, status === 0 ? [] : [`exit code ${status}: ${stderr}${stdout}`]);
  return status === 0 ? JSON.parse(stdout) : null;
}

function save(name, bytes) {
  writeFileSync(path.join(work, name), bytes);
  return name;
}

async function importTrace() {
  const {build} = await import(path.join(root, 'web/node_modules/esbuild/lib/main.js'));
  const outfile = path.join(work, 'trace.mjs');
  await build({entryPoints: [path.join(root, 'web/tests/fixtures/trace.ts')], format: 'esm', outfile, logLevel: 'error'});
  return import(outfile);
}

const f32 = (name, shape) => value(name, 'f32', shape);
const weight = (name, shape) => {
  const data = new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.01);
  return stored({type: 'f32', shape, data}, name);
};
const side = 256;
const models = {
  product: save('product.onnx', model({
    nodes: [node('MatMul', ['a', 'b'], ['c'])],
    inputs: [f32('a', [64, 64]), f32('b', [64, 64])], outputs: [f32('c', [64, 64])],
  })),
  open: save('open.onnx', model({
    nodes: [node('MatMul', ['a', 'w'], ['b']), node('Softmax', ['b'], ['c'])],
    inputs: [f32('a', ['n', 32])], outputs: [f32('c', ['n', 48])], weights: [weight('w', [32, 48])],
  })),
  convolution: save('convolution.onnx', model({
    nodes: [node('Conv', ['x', 'w'], ['y'])],
    inputs: [f32('x', [1, 4, 10, 10])], outputs: [f32('y', [1, 8, 8, 8])], weights: [weight('w', [8, 4, 3, 3])],
  })),
  // Long enough for a clock, and nothing else to do.
  chain: save('chain.onnx', model({
    nodes: ['x', 'y', 'z', 'u'].map((name, at) => node('MatMul', [name, `w${at}`], [['y', 'z', 'u', 'v'][at]])),
    inputs: [f32('x', [side, side])], outputs: [f32('v', [side, side])], weights: [0, 1, 2, 3].map((at) => weight(`w${at}`, [side, side])),
  })),
};

const operations = ({launches}) => launches.map((launch) => launch.operations).reduce((a, b) => a + b, 0);

function counts(target) {
  const known = [['product', [], 2 * 64 ** 3], ['convolution', [], 8 * 8 * 8 * 2 * 4 * 9]];
  for (const [name, args, wanted] of known) {
    const found = ask(`${target}: ${name}`, models[name], '--target', target, '--profile', '--runs', '2', ...args);
    if (found) tally.record(`${target}: operations of ${name}`, operations(found) === wanted ? [] : [`${operations(found)}, not ${wanted}`]);
  }
  // A package for any n, run with this one: a product, and of the softmax five operations an element and one a row.
  run('compile', models.open, '--target', target, '--emit', 'package', '-o', `open-${target}`);
  for (const n of [1, 24]) {
    const found = ask(`${target}: open shapes, ${n}`, `open-${target}`, '--profile', '--runs', '1', '--dim', `n=${n}`);
    const wanted = 2 * n * 32 * 48 + 5 * n * 48 + n;
    if (found) tally.record(`${target}: operations of open shapes, ${n}`, operations(found) === wanted ? [] : [`${operations(found)}, not ${wanted}`]);
  }
}

const keysOf = ({kernels: [kernel], launches: [launch], limits: [limit], ...rest}) =>
  [...Object.keys(rest), ...[kernel, launch, limit].flatMap((each) => Object.keys(each))].filter((key) => key !== 'threads').sort().join();
let keys;

function times(target, checkTrace) {
  const file = path.join(work, `${target}.json`);
  const found = ask(`${target}: a chain`, models.chain, '--target', target, '--profile', '--trace', file, '--threads', '1');
  if (!found) return;
  const {kernels, launches, limits: [{copyRate, arithmeticRate}], kernelMs} = found;
  const problems = [];
  // Kernels alone may be faster, from caches, or slower; webgl's have some time that no repetition takes away. A run that loses the
  // processor for a while has a share of any size, so one good share of some counts: those of a wrong clock are wrong each time.
  const [least, most] = {cpu: [0.5, 1.5], wasm: [0.3, 1.5]}[target] ?? [0.1, 4];
  const shares = [kernelMs / found.runMs];
  const isGood = (share) => share >= least && share <= most;
  while (!isGood(shares.at(-1)) && shares.length < 7) {
    const again = ask(`${target}: a chain once more`, models.chain, '--target', target, '--profile', '--threads', '1');
    if (!again) break;
    shares.push(again.kernelMs / again.runMs);
  }
  if (!isGood(shares.at(-1))) problems.push(`kernels take ${shares.map((share) => share.toFixed(2)).join(', ')} of a run's time, not ${least} to ${most}`);
  const sum = launches.reduce((all, {ms}) => all + ms, 0);
  if (Math.abs(sum - kernelMs) > 1e-6 * kernelMs) problems.push(`${sum} ms of launches, ${kernelMs} in all`);
  for (const {name, ms, bytes, operations: count, launches: often, limit, share} of kernels) {
    const [moving, computing] = [bytes / copyRate / 1e6, count / arithmeticRate / 1e6];
    if (limit !== (computing > moving ? 'arithmetic' : 'memory')) problems.push(`${name} is bound by ${limit}`);
    if (often > 0 && Math.abs(share * ms - Math.max(moving, computing)) > 1e-6) problems.push(`${name} has a share of ${share}`);
  }
  const {operations: count, limit, share} = kernels[0];
  if (count % (2 * side ** 3) !== 0 || count === 0) problems.push(`${count} operations of the largest kernel`);
  // The clock speed differs from second to second, and a machine under load more than that.
  if (limit === 'arithmetic' && !(share > 0.005 && share < 4)) problems.push(`${share} of what arithmetic reaches`);
  keys ??= keysOf(found);
  if (keysOf(found) !== keys) problems.push(`other names: ${keysOf(found)}, not ${keys}`);
  try {
    const events = checkTrace(readFileSync(file, 'utf8'));
    if (events.length !== launches.length) problems.push(`${events.length} events of ${launches.length} launches`);
    const end = events.at(-1).ts + events.at(-1).dur;
    if (Math.abs(end - 1000 * kernelMs) > 0.01 * events.length) problems.push(`the trace ends at ${end} us`);
  } catch (problem) {
    problems.push(problem.message);
  }
  tally.record(`${target}: times, shares and the trace`, problems);
}

/** Drivers of this machine: by the device's clock where that can be had, and no launch longer than the run that it is part of. */
function native(target) {
  const found = ask(`${target}: a chain`, models.chain, '--target', target, '--profile', '--runs', '3');
  if (!found) return;
  const {method, launches, kernelMs, runMs, adapter} = found;
  const wanted = target === 'opencl' || !/llvmpipe|softpipe/.test(adapter) ? 'timestamps' : 'clock';
  const problems = method === wanted ? [] : [`by ${method}, not ${wanted}, on ${adapter}`];
  if (launches.length !== 4 || !launches.every(({ms}) => ms > 0)) problems.push(`launches of ${launches.map(({ms}) => ms).join()} ms`);
  if (!(kernelMs < 4 * runMs)) problems.push(`${kernelMs} ms of kernels in a run of ${runMs}`);
  tally.record(`${target}: how launches are timed`, problems);
}

/** The reader of traces refuses what is none: events without a field, out of order, across each other. */
function readsTraces(checkTrace) {
  const event = (more) => ({name: 'k', ph: 'X', pid: 1, tid: 1, ts: 0, dur: 2, args: {}, ...more});
  const track = {name: 'thread_name', ph: 'M', pid: 1, tid: 1, args: {name: 'cpu'}};
  const trace = (...events) => JSON.stringify({displayTimeUnit: 'ms', traceEvents: [track, ...events]});
  const fine = [trace(event({})), trace(event({}), event({ts: 2})), trace(event({dur: 5}), event({ts: 1}), event({ts: 3}))];
  const none = [
    ...['name', 'ph', 'pid', 'tid', 'ts', 'dur', 'args'].map((key) => trace(event({[key]: undefined}))),
    trace(event({ts: -1})), trace(event({tid: 2})), trace(event({ts: 3}), event({})), trace(event({}), event({ts: 1})),
    JSON.stringify({displayTimeUnit: 's', traceEvents: []}),
  ];
  const throws = (text) => {
    try {
      return checkTrace(text) && false;
    } catch {
      return true;
    }
  };
  tally.record('traces', [...fine.filter(throws), ...none.filter((text) => !throws(text))]);
}

function texts(target) {
  const {status, stdout} = run('bench', models.product, '--target', target, '--profile', '--runs', '1');
  const lines = stdout.trim().split('\n');
  const wanted = [/ on \w+: /, /GFLOP\/s +% of +limit +kernel/, /matmul/, /ms in kernels \(by \w+\), [\d.]+ ms a run/, /a copy reaches [\d.]+ GB\/s/];
  // Kernels are in the order of their times, which another one than the product may lead.
  const kernels = lines.slice(2, -2).join('\n');
  const missing = wanted.filter((pattern, at) => !pattern.test((at === 2 ? kernels : lines.at(at < 2 ? at : at - 5)) ?? ''));
  tally.record(`${target}: the table`, status === 0 && missing.length === 0 ? [] : [`${missing} not in\n${stdout}`]);
  const whole = ask(`${target}: whole runs`, models.product, '--target', target, '--runs', '3');
  if (whole) tally.record(`${target}: medians`, whole.runs === 3 && whole.runMs >= whole.fastestMs && whole.fastestMs > 0 ? [] : [JSON.stringify(whole)]);
}

function errors() {
  const right = save('right.npy', npy('<f4', [64, 64]));
  const wrong = save('wrong.npy', npy('<f4', [4]));
  const cases = [
    ['no target', [models.product], 2, 'target'],
    ['a trace alone', [models.product, '-t', 'cpu', '--trace', 'x.json'], 2, '--trace'],
    ['no model', ['none.onnx', '-t', 'cpu'], 1, 'none.onnx'],
    ['another target', ['open-cpu', '-t', 'wasm'], 1, 'is a package for cpu'],
    ['an input of another shape', [models.product, '-t', 'cpu', '-i', `a=${wrong}`], 1, '"a"'],
    ['no such input', [models.product, '-t', 'cpu', '-i', `q=${right}`], 1, 'q='],
    ['shapes of a package', ['open-cpu', '--shape', 'a=1,32'], 1, 'is compiled'],
  ];
  for (const [name, args, code, word] of cases) {
    const {status, stderr} = run('bench', ...args);
    tally.record(name, status === code && stderr.includes(word) && stderr.trim().split('\n').length === 1 ? [] : [`exit code ${status}: ${stderr}`]);
  }
  const {status, stderr} = run('bench', models.product, '-t', 'cpu', '-i', `a=${right}`);
  tally.record('an input from a file', status === 0 ? [] : [stderr]);
  tally.record('no trace is left', existsSync(path.join(work, 'x.json')) ? ['x.json'] : []);
}

try {
  const {checkTrace} = await importTrace();
  readsTraces(checkTrace);
  for (const target of targets) {
    counts(target);
    times(target, checkTrace);
    // Two programs write tables: the native one, and that of all pages.
    if (target === targets[0] || target === 'wasm') texts(target);
  }
  if (targets.includes('cpu')) {
    errors();
    for (const target of ['opencl', 'opengl']) native(target);
  }
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
