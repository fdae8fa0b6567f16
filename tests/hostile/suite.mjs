// Malformed, malicious and invalid models, shared ones and damaged ones of our own: each ends in one line that says what is wrong, or in
// a package that works, within 10 s and 2 GB. Natively for cpu and webgpu, some of them through compiler.wasm too.
// An invalid model may not compile; where a folder of invalid models holds one that is not, VALID says why.
//
//   node tests/hostile/suite.mjs [words of file names]
//   GOSSAMER_BUILD=build-sanitize node tests/hostile/suite.mjs      the same under the sanitizers
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {npy} from '../cli/models.mjs';
import {mutants} from './mutants.mjs';
import {VALID} from './valid.mjs';
import {testdata} from '../shared.mjs';
import {Tally} from '../tally.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const gossamer = path.join(build, 'gossamer');
const data = testdata(root);
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-hostile-'));
const words = process.argv.slice(2);
const SECONDS = 10;
const BYTES = 2 * 2 ** 30;
const MUTANTS = 60; // damaged models of our own; fewer next to the shared ones

const cache = path.join(build, 'CMakeCache.txt');
const sanitized = existsSync(cache) && /^GOSSAMER_SANITIZE:\w+=./m.test(readFileSync(cache, 'utf8'));
// Seconds of CPU time, which other work on the machine does not lengthen; what only waits is ended in the end.
// The sanitizers reserve terabytes of addresses; what counts under them is the memory in use.
const limit = `ulimit -t ${SECONDS}; ${sanitized ? '' : `ulimit -v ${BYTES / 1024}; `}`;
// One allocation beyond that fails, as it does natively.
const mb = BYTES / 2 ** 20;
const asan = `hard_rss_limit_mb=${mb}:max_allocation_size_mb=${mb}:allocator_may_return_null=1`;
const env = {...process.env, ...(sanitized ? {ASAN_OPTIONS: asan} : {})};

const tally = new Tally();

function run(args) {
  const options = {cwd: work, encoding: 'utf8', env, timeout: 6000 * SECONDS, killSignal: 'SIGKILL', maxBuffer: 2 ** 30};
  return spawnSync('bash', ['-c', `${limit}exec "$@"`, 'bash', gossamer, ...args], options);
}

// A failure is exit code 1 and one line; anything else is a crash, a hang or silence.
function refusal({status, signal, stderr, stdout}) {
  const problems = [];
  if (status !== 1) problems.push(`exit code ${status ?? signal}`);
  const lines = stderr.split('\n').filter((line) => line !== '');
  if (lines.length !== 1 || !stderr.startsWith('gossamer: ') || stdout !== '')
    problems.push(`not one line: ${(stderr + stdout).slice(0, 400)}`);
  return problems;
}

// The files of a package that are not as its manifest lists them.
const unlike = (manifest, sizeOf) =>
  manifest.files.filter(({name, bytes}) => sizeOf(name) !== bytes).map(({name}) => `${name} is not as listed`);

function models() {
  const found = [];
  for (const folder of ['hostile', 'migraphx_invalid', 'models_must_fail_or_stretch']) {
    const from = path.join(data, folder);
    if (!existsSync(from)) continue; // more mutants take their place
    for (const entry of readdirSync(from, {recursive: true}).sort()) {
      const file = path.join(from, entry);
      if (entry.endsWith('.onnx')) found.push({name: `${folder}/${entry}`, file, invalid: folder === 'migraphx_invalid'});
      if (!entry.endsWith('.zip')) continue;
      // Seeds of fuzzers: whatever their names, they are tried as models.
      const to = path.join(work, 'seeds', entry);
      mkdirSync(to, {recursive: true});
      execFileSync('python3', ['-m', 'zipfile', '-e', file, to]);
      for (const seed of readdirSync(to).sort())
        found.push({name: `${folder}/${entry}/${seed}`, file: path.join(to, seed), invalid: false});
    }
  }
  found.push(...mutants(build, work, found.length > 0 ? MUTANTS / 5 : MUTANTS));
  return found.filter(({name}) => words.every((word) => name.includes(word)));
}

// An input of small numbers that repeat after some elements; null for a type that a .npy file has not.
function feed(dtype, shape) {
  const kinds = {f32: '<f4', f64: '<f8', f16: '<f2', i64: '<i8', i32: '<i4', u8: '|u1', i8: '|i1', bool: '|b1'};
  if (!(dtype in kinds)) return null;
  const bytes = npy(kinds[dtype], shape);
  const size = Number(kinds[dtype][2]);
  const elements = shape.reduce((product, extent) => product * extent, 1);
  for (let at = bytes.length - elements * size, i = 0; at < bytes.length; at += size, ++i) {
    if (dtype === 'f32') bytes.writeFloatLE(((i * 7) % 23) / 8 - 1, at);
    else if (dtype === 'f64') bytes.writeDoubleLE(((i * 7) % 23) / 8 - 1, at);
    else if (dtype === 'f16') bytes.writeUInt16LE([0x3c00, 0xb800, 0x3400, 0, 0x4000][i % 5], at);
    else bytes[at] = i % 2;
  }
  return bytes;
}

// The numbers of every output, or null when there are none to compare.
function outputs({status, stdout}) {
  if (status !== 0) return null;
  const text = stdout.replace(/\b(NaN|Infinity|Inf)\b/g, '0').replace(/-0\b(?!\.)/g, '0');
  return JSON.parse(text).outputs.map(({shape, data}) => [...shape, ...data]);
}

// Compiled code and the interpreter give the same. Where the interpreter is too slow, or the model refuses these
// inputs (an index out of range), running must still end well.
// A damaged model's numbers may be such that rounding decides: only its end counts.
function agree(file, manifest, damaged) {
  const args = [];
  for (const [at, {name, dtype, shape}] of manifest.inputs.entries()) {
    const bytes = feed(dtype, shape.map((extent) => (typeof extent === 'number' ? extent : 3)));
    if (!bytes) return [];
    writeFileSync(path.join(work, `feed${at}.npy`), bytes);
    args.push('--input', `${name}=${path.join(work, `feed${at}.npy`)}`);
  }
  const [cpu, interp] = ['cpu', 'interp'].map((target) => run(['run', file, '--json', '--target', target, ...args]));
  const [ours, theirs] = [outputs(cpu), outputs(interp)];
  const refused = ({status, stdout}) => status === 1 && stdout.startsWith('{"error"');
  if (damaged) return ours || refused(cpu) ? [] : [`running: ${cpu.status ?? cpu.signal} ${cpu.stderr}`];
  if (!ours) return refused(cpu) ? [] : [`running: ${cpu.status ?? cpu.signal} ${cpu.stderr}`];
  if (!theirs) return interp.status === 1 ? [`only cpu runs it: ${interp.stdout}`] : [];
  const close = (a, b) => a === b || Math.abs(a - b) <= 1e-3 + 1e-3 * Math.abs(b);
  const same = ours.every((list, i) => list.every((number, j) => close(number, theirs[i][j])));
  return same ? [] : ['cpu and interpreter differ'];
}

function native({name, file, invalid, damaged}) {
  for (const target of ['cpu', 'webgpu']) {
    const out = path.join(work, 'out');
    const result = run(['compile', file, '--target', target, '--emit', 'package', '-o', out]);
    let problems;
    if (result.status === 0) {
      const sizeOf = (part) => (existsSync(path.join(out, part)) ? readFileSync(path.join(out, part)).length : -1);
      const manifest = sizeOf('manifest.json') < 0 ? null : JSON.parse(readFileSync(path.join(out, 'manifest.json')));
      problems = manifest ? unlike(manifest, sizeOf) : ['no manifest.json'];
      if (invalid && !VALID[path.basename(name)]) problems.push('compiles, though it is invalid');
      if (target === 'cpu' && problems.length === 0) problems.push(...agree(file, manifest, damaged));
    } else {
      problems = refusal(result);
      if (existsSync(out)) problems.push('left a part of a package');
    }
    rmSync(out, {recursive: true, force: true});
    tally.record(`${name} for ${target}`, problems);
  }
}

// One Node.js for all files, as a page is; a file that takes too long ends it and the next file gets a new one.
async function inWasm(files) {
  const rest = [...files];
  while (rest.length > 0) {
    const child = spawn(process.execPath, [path.join(here, 'wasm_child.mjs')], {stdio: ['pipe', 'pipe', 'inherit']});
    const answers = createInterface({input: child.stdout})[Symbol.asyncIterator]();
    let alive = true;
    while (alive && rest.length > 0) {
      const {name, file} = rest.shift();
      child.stdin.write(`${file}\n`);
      let timer;
      const late = new Promise((done) => (timer = setTimeout(done, 6000 * SECONDS, {late: true})));
      const {value, done, late: hung} = await Promise.race([answers.next(), late]);
      clearTimeout(timer);
      alive = !hung && !done;
      if (!alive) tally.record(`${name} in compiler.wasm`, [hung ? `no answer in ${6 * SECONDS} s` : 'the process died']);
      else {
        const {problem, seconds, bytes} = JSON.parse(value);
        const problems = problem ? [problem] : [];
        if (seconds > SECONDS) problems.push(`${seconds} s of CPU time`);
        if (bytes > BYTES) problems.push(`${bytes} bytes of memory`);
        tally.record(`${name} in compiler.wasm`, problems);
      }
    }
    child.kill('SIGKILL');
  }
}

try {
  const all = models();
  for (const model of all) native(model);
  if (!existsSync(path.join(root, 'web/compiler/dist/compiler.wasm')))
    tally.skip('compiler.wasm', 'it is not built (make web)');
  else if (sanitized) tally.skip('compiler.wasm', 'the sanitizers watch the native build');
  // Every third, for time, and all of the few large ones.
  else await inWasm(all.filter(({name}, at) => at % 3 === 0 || name.startsWith('models_must')));
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
