// `gossamer compile --target webgpu --emit wasi`: programs for engines that have a GPU, through the example of a host (wasmtime and wgpu, in
// software on lavapipe), against the interpreter; the imports as docs/specs/gpu_imports.md has them; how elements are converted.
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {model as onnx, node, value} from '../cli/models.mjs';
import {difference, npy, random, read_npy} from '../libraries/arrays.mjs';
import {prepare} from '../libraries/models.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const program = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const host = path.join(root, 'examples/libraries');
const tally = new Tally();
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-gpu-imports-'));

function gossamer(args) {
  const {status, stdout, stderr} = spawnSync(program, args, {cwd: work, encoding: 'utf8', timeout: 120_000});
  if (status !== 0) throw new Error(stderr.trim().slice(0, 400));
  return stdout;
}

async function check(name, body) {
  try {
    tally.record(name, await body());
  } catch (problem) {
    tally.record(name, String(problem.message ?? problem));
  }
}

/** NAME.wasm of a model. */
function emit(file, name, ...more) {
  gossamer(['compile', file, '--name', name, '--target', 'webgpu', '--emit', 'wasi', '--output', path.join(work, name), ...more]);
  return path.join(name, `${name}.wasm`);
}

// What a host must have: the table of the document, in its words.
async function imports() {
  const document = readFileSync(path.join(root, 'docs/specs/gpu_imports.md'), 'utf8');
  const told = [...document.matchAll(/^\| `(\w+)\((.*?)\)( -> \w+)?` \|/gm)].map(([, name]) => name).sort();
  const file = path.join(work, emit(path.join(root, 'examples/digits/model.onnx'), 'digits'));
  const taken = WebAssembly.Module.imports(await WebAssembly.compile(readFileSync(file)));
  const gpu = taken.filter(({module}) => module === 'gossamer_gpu').map(({name}) => name).sort();
  tally.record('imports are those of the document', String(gpu) === String(told) ? undefined : `${gpu}, the document has ${told}`);
  const others = taken.filter(({module}) => module !== 'gossamer_gpu' && module !== 'wasi_snapshot_preview1');
  tally.record('and of WASI', others.length === 0 ? undefined : JSON.stringify(others));
}

function conversions() {
  const built = path.join(work, 'convert');
  const flags = ['-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-unknown-attributes', '-Wno-ignored-attributes', '-fsanitize=address,undefined',
    '-fno-sanitize-recover=all', '-I', root];
  const made = spawnSync('clang-19', [...flags, path.join(import.meta.dirname, 'convert.c'), '-o', built], {encoding: 'utf8'});
  const ran = made.status === 0 && spawnSync(built, {encoding: 'utf8'});
  tally.record('elements as they are converted', ran && ran.status === 0 ? undefined : ran ? ran.stdout + ran.stderr : made.stderr);
}

function refusals() {
  const refused = (name, args, words) => {
    const {status, stderr} = spawnSync(program, ['compile', path.join(root, 'examples/digits/model.onnx'), '--target', 'webgpu', '-o', path.join(work, 'refused'), ...args],
      {encoding: 'utf8'});
    tally.record(name, (status === 1 || status === 2) && stderr.includes(words) ? undefined : `ended with ${status}: ${stderr}`);
  };
  refused('no libraries', ['--emit', 'static-lib'], 'webgpu has --emit wasi');
  refused('no threads', ['--emit', 'wasi', '--threads', '2'], 'beside a GPU a program has one thread');
  refused('weights are inside', ['--emit', 'wasi', '--weights', 'beside'], 'has its weights inside');
}

/** Runs programs one after the other, all on one device. */
class Host {
  constructor(python) {
    this.child = spawn(python, [path.join(import.meta.dirname, 'runner.py'), host, work], {stdio: ['pipe', 'pipe', 'inherit'], cwd: work});
    this.answers = createInterface({input: this.child.stdout})[Symbol.asyncIterator]();
  }
  async run(file, args) {
    this.child.stdin.write(`${JSON.stringify({file, arguments: args})}\n`);
    const {value: line, done} = await this.answers.next();
    if (done) throw new Error('the host has ended');
    return JSON.parse(line);
  }
}

/** Runs a program on files, and says what of its outputs is not as wanted: {port: {type, shape, elements}}. */
async function compare(there, file, inputs, wanted, tolerance) {
  const given = Object.entries(inputs).flatMap(([port, from]) => ['--input', `${port}=${path.relative(work, from)}`]);
  const taken = Object.keys(wanted).flatMap((port) => ['--output', `${port}=${port}.out.npy`]);
  const {code, said} = await there.run(file, [...given, ...taken]);
  if (code !== 0) return `ended with ${code}: ${said}`;
  for (const [port, right] of Object.entries(wanted)) {
    const made = read_npy(path.join(work, `${port}.out.npy`));
    if (String(made.shape) !== String(right.shape) || made.type !== right.type) return `${port} is ${made.type}[${made.shape}], not ${right.type}[${right.shape}]`;
    const problem = difference(made.elements, right.elements, tolerance);
    if (problem) return `${port}: ${problem}`;
  }
}

// What each brings: 64-bit integers, loops over lengths and rounds that only the run knows, extents that it decides, caches.
const OUTPUTS = {digits: ['probabilities'], tokens: undefined, lstm: undefined, rounds: undefined, choose: ['output'], story: undefined, quantized: undefined};

async function models(there) {
  for (const name of Object.keys(OUTPUTS)) {
    const folder = path.join(work, 'feeds', name);
    mkdirSync(folder, {recursive: true});
    const prepared = prepare(name, {root, folder, gossamer});
    if (!prepared) {
      tally.skip(name, 'the onnx package cannot be had');
      continue;
    }
    await check(name, () => {
      const outputs = JSON.parse(gossamer(['inspect', prepared.file, '--json'])).outputs.map(({name: port}) => port);
      const wanted = Object.fromEntries(outputs.map((port) => [port, prepared.wanted(port)]));
      return compare(there, emit(prepared.file, name), prepared.inputs, wanted, prepared.tolerance);
    });
  }
}

// 64-bit floats and what follows from them are the CPU's, beside the GPU: tensors go there and back.
async function beside(there) {
  const file = path.join(work, 'beside.onnx');
  writeFileSync(file, onnx({
    nodes: [node('MatMul', ['x', 'x'], ['y']), node('Cast', ['y'], ['wide'], {integers: {to: 11}}), node('Sqrt', ['wide'], ['root']),
      node('Cast', ['root'], ['narrow'], {integers: {to: 1}}), node('MatMul', ['narrow', 'x'], ['z'])],
    inputs: [value('x', 'f32', ['N', 'N'])],
    outputs: [value('root', 'f64', ['N', 'N']), value('z', 'f32', ['N', 'N'])],
  }));
  const draw = random(3);
  for (const rows of [3, 40])
    await check(`the CPU beside it, ${rows} rows`, () => {
      const x = path.join(work, `x${rows}.npy`), saved = path.join(work, `saved${rows}`);
      writeFileSync(x, npy('<f4', [rows, rows], Float32Array.from({length: rows * rows}, draw)));
      gossamer(['run', file, '--target', 'interp', '--input', `x=${x}`, '--save', saved]);
      const wanted = Object.fromEntries(['root', 'z'].map((port) => [port, read_npy(path.join(saved, `${port}.npy`))]));
      return compare(there, emit(file, 'beside'), {x}, wanted, 1e-4);
    });
}

/** What is wrong with a run that is to end with one line. */
async function fails(there, file, args, words) {
  const {code, said} = await there.run(file, args);
  if (code !== 1) return `ended with ${code}: ${said}`;
  return said.split('\n').length === 1 && said.includes(words) ? undefined : `says ${said}`;
}

async function errors(there, python) {
  await check('a number of 64 bits', () => {
    const file = path.join(work, 'long.onnx'), x = path.join(work, 'long.npy');
    writeFileSync(file, onnx({nodes: [node('Add', ['x', 'x'], ['y'])], inputs: [value('x', 'i64', [3])], outputs: [value('y', 'i64', [3])]}));
    writeFileSync(x, npy('<i8', [3], BigInt64Array.of(1n, -2n, 1n << 40n)));
    return fails(there, emit(file, 'longs'), ['--input', 'long.npy', '--output', 'long.out'], 'element 2 of an integer tensor does not fit the 32 bits');
  });
  await check('more memory than there is', () => {
    const file = path.join(work, 'large.onnx');
    writeFileSync(file, onnx({nodes: [node('Expand', ['x', 'shape'], ['y'])], inputs: [value('x', 'f32', [1]), value('shape', 'i64', [1])],
      outputs: [value('y', 'f32', ['N'])]}));
    writeFileSync(path.join(work, 'one.npy'), npy('<f4', [1], Float32Array.of(1)));
    writeFileSync(path.join(work, 'shape.npy'), npy('<i8', [1], BigInt64Array.of(2_000_000_000n)));
    return fails(there, emit(file, 'large'), ['--input', 'x=one.npy', '--input', 'shape=shape.npy', '--output', 'large.out'], 'uffer');
  });
  await check('wrong input', () => fails(there, 'digits/digits.wasm', ['--input', 'long.npy'], 'another type of elements'));
  const alone = (args, env) => spawnSync(python, [path.join(host, 'gpu_host.py'), ...args],
    {cwd: work, encoding: 'utf8', timeout: 120_000, env: {...process.env, XDG_RUNTIME_DIR: work, ...env}});
  await check('no adapter', () => {
    const {status, stderr} = alone(['digits/digits.wasm', '--input', 'x3.npy'], {VK_DRIVER_FILES: '/none', VK_ICD_FILENAMES: '/none', LIBGL_DRIVERS_PATH: '/none', __EGL_VENDOR_LIBRARY_DIRS: '/none'});
    const line = stderr.trim().split('\n').at(-1);
    return status === 1 && line.startsWith('gossamer: ') ? undefined : `ended with ${status}: ${stderr.slice(-300)}`;
  });
  await check('an engine without a GPU', async () => {
    const {status, stderr} = spawnSync(process.execPath, [path.join(root, 'tests/libraries/node_wasi.mjs'), path.join(work, 'digits/digits.wasm')], {encoding: 'utf8'});
    return status !== 0 && stderr.includes('gossamer_gpu') ? undefined : `ended with ${status}: ${stderr}`;
  });
  await check('--help', () => {
    const {status, stderr} = alone(['digits/digits.wasm', '--help']);
    return status === 0 && stderr.includes('input image: <f4 [1, 1, 28, 28]') ? undefined : `ended with ${status}: ${stderr}`;
  });
}

try {
  await imports();
  conversions();
  refusals();
  let python;
  try {
    python = path.join(root, execFileSync(path.join(root, 'tools/setup/gpu_host.sh'), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']}).trim());
  } catch (problem) {
    tally.skip('programs', `wasmtime and wgpu for Python cannot be installed here: ${String(problem.stderr ?? problem).trim().split('\n').at(-1)}`);
  }
  if (python && existsSync(python)) {
    const there = new Host(python);
    await models(there);
    await beside(there);
    await errors(there, python);
    there.child.stdin.end();
  }
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
