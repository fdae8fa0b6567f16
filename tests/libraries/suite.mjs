// Libraries and programs of models (`gossamer compile --emit`): each form is built as a user builds it, run, and compared with the
// interpreter. Engines without JavaScript are installed by tools/setup/wasm_engines.sh.
import {execFileSync, spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {allCases, excused, packageSuite, presentSuites, readList, runCases, sample, twinOf} from '../conformance/conformance.mjs';
import {Tally} from '../tally.mjs';
import {difference, elements_of, parse_npy, read_npy} from './arrays.mjs';
import {host_source, ports_of} from './host.mjs';
import {prepare} from './models.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const SECONDS = 120;
const tally = new Tally();
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-libraries.'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));

function run(program, args, options = {}) {
  const {status, stdout, stderr, error} = spawnSync(program, args, {cwd: work, timeout: SECONDS * 1000, maxBuffer: 1 << 28, ...options});
  if (error || status !== 0) throw new Error(`${path.basename(program)}: ${error ?? `${stdout}${stderr}`.trim().split('\n').slice(-4).join(' | ').slice(0, 600)}`);
  return stdout;
}
const gossamer = (args) => run(path.join(root, 'build/gossamer'), args);

async function check(name, body) {
  try {
    tally.record(name, await body());
  } catch (problem) {
    tally.record(name, String(problem.message ?? problem));
  }
}

const prepared = {};
/** The model's data, or 'absent'. */
function model_of(name) {
  prepared[name] ??= prepare(name, {root, folder: path.join(work, 'feeds', name), gossamer}) ?? 'absent';
  return prepared[name];
}

/** A folder with what --emit wrote. */
function emit(name, target, form, ...more) {
  const folder = path.join(work, `${name}.${target}.${form}`);
  gossamer(['compile', model_of(name).file, '--name', name, '--target', target, '--emit', form, '--output', folder, ...more]);
  return folder;
}

const CC = {
  cc: ['gcc', '-std=c11'],
  clang: ['clang-19', '-std=c11'],
  cxx: ['g++', '-std=c++17'],
  // What C leaves open, and every access outside of an array, the caller's memory or the model's, ends the program.
  checked: ['clang-19', '-std=c11', '-O0', '-g1', '-fsanitize=address,undefined,float-cast-overflow', '-fno-sanitize-recover=all'],
};
const STRICT = ['-Wall', '-Wextra', '-Werror', '-O1'];

/** What a host's outputs, in files, have that is not as the interpreter has it. */
function wrong_outputs(name, header, folder) {
  const {wanted, tolerance} = model_of(name);
  for (const {port, field} of ports_of(header, name).outputs) {
    const {type, elements} = wanted(port);
    const problem = difference(elements_of(type, readFileSync(path.join(folder, `${field}.out`))), elements, tolerance);
    if (problem) return `${port}: ${problem}`;
  }
}

/** Arguments of host.mjs's program: dimensions as the feeds have them, files in and out. */
function host_arguments(name, header, folder) {
  const {raw, shapes} = model_of(name);
  const ports = ports_of(header, name);
  const sizes = {};
  for (const {port, shape} of ports.inputs)
    shape.slice(1, -1).split(', ').forEach((extent, axis) => (sizes[extent] = shapes[port][axis]));
  return [
    ...ports.dims.map(({dim}) => String(sizes[dim])),
    ...ports.inputs.map(({port}) => raw[port]),
    ...ports.outputs.map(({field}) => path.join(folder, `${field}.out`)),
  ];
}

async function native(name, form, compiler = 'cc', host = {}, ...more) {
  if (model_of(name) === 'absent') return tally.skip(`${name}, ${form}`, 'the onnx package cannot be had');
  await check([name, form, compiler, ...more].join(', '), () => {
    const folder = emit(name, 'cpu', form, ...more);
    const header = readFileSync(path.join(folder, `${name}.h`), 'utf8');
    const main = path.join(folder, compiler === 'cxx' ? 'main.cc' : 'main.c');
    writeFileSync(main, host_source(header, name, host));
    const [program, ...flags] = CC[compiler];
    const linked = {
      object: [path.join(folder, `${name}.o`)],
      'static-lib': [`-L${folder}`, `-l:lib${name}.a`],
      'shared-lib': [`-L${folder}`, `-l${name}`, `-Wl,-rpath,${folder}`],
      c: ['-Wpedantic', path.join(folder, `${name}.c`), '-lm'],
    }[form];
    run(program, [...STRICT, ...flags, main, ...linked, '-pthread', '-o', path.join(folder, 'host')]);
    const weights = more.includes('beside') ? [path.join(folder, `${name}.weights`)] : [];
    // The host frees nothing of its own.
    run(path.join(folder, 'host'), [...weights, ...host_arguments(name, header, folder)], {env: {...process.env, ASAN_OPTIONS: 'detect_leaks=0'}});
    return wrong_outputs(name, header, folder);
  });
}

// Libraries for wasm, linked into a program by clang or loaded into one by an engine

async function wasm(name, form) {
  if (model_of(name) === 'absent') return tally.skip(`${name}, wasm ${form}`, 'the onnx package cannot be had');
  await check(`${name}, wasm ${form}`, () => {
    const folder = emit(name, form === 'c' ? 'cpu' : 'wasm', form);
    const header = readFileSync(path.join(folder, `${name}.h`), 'utf8');
    writeFileSync(path.join(folder, 'main.c'), host_source(header, name));
    const program = path.join(folder, 'host.wasm');
    const linked =
      form !== 'shared-lib'
        ? form === 'c' ? [path.join(folder, `${name}.c`), '-lm'] : [`-L${folder}`, `-l${name}`]
        : ['allow-undefined', 'export=__main_void', 'export=malloc', 'export=free', 'export-table', 'growable-table', 'export=__stack_pointer'].map((flag) => `-Wl,--${flag}`);
    run('clang-19', ['--target=wasm32-wasi', ...(form === 'shared-lib' ? ['-mexec-model=reactor'] : []), '-std=c11', ...STRICT, path.join(folder, 'main.c'), ...linked, '-o', program]);
    const args = host_arguments(name, header, folder);
    if (form !== 'shared-lib') run(NODE[0], [...NODE.slice(1), program, ...args]);
    else run(NODE[0], [...NODE_FLAGS, path.join(here, 'load_wasm.mjs'), program, path.join(folder, `lib${name}.wasm`), ...args]);
    return wrong_outputs(name, header, folder);
  });
}

// Programs for WASI

// Node 20's direct calls from wasm to WASI (V8's fast API) crash now and then after large reads; through JavaScript they never did.
const NODE_FLAGS = ['--no-warnings', '--no-turbo-fast-api-calls'];
const NODE = [process.execPath, ...NODE_FLAGS, path.join(here, 'node_wasi.mjs')];
const ENGINES = {
  node: (file, args) => [...NODE, file, ...args],
};
let with_threads; // an engine that has wasi-threads
try {
  const found = execFileSync(path.join(root, 'tools/setup/wasm_engines.sh'), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
  for (const line of found.trim().split('\n')) {
    const engine = path.join(root, line);
    if (line.includes('/threads/')) with_threads = (file, args) => [engine, 'run', '-S', 'threads', '--dir', '.', file, ...args];
    else if (line.endsWith('wasmtime')) ENGINES.wasmtime = (file, args) => [engine, 'run', '--dir', '.', file, ...args];
    if (line.endsWith('wazero')) ENGINES.wazero = (file, args) => [engine, 'run', '-mount=.:/', file, ...args];
  }
} catch (problem) {
  tally.skip('wasmtime', `it cannot be installed here: ${String(problem.stderr ?? problem).trim().split('\n').at(-1)}`);
}
if (!ENGINES.wazero) tally.skip('wazero', 'it is built by Go, which is not installed');

async function wasi(name, engine, ...more) {
  if (model_of(name) === 'absent') return tally.skip(`${name}, wasi`, 'the onnx package cannot be had');
  await check(`${name}, wasi, ${engine}${more.length > 0 ? `, ${more.join(' ')}` : ''}`, () => {
    const file = path.join(work, `${name}.wasm.wasi`, `${name}.wasm`);
    if (!existsSync(file) || more.length > 0) emit(name, 'wasm', 'wasi', ...more);
    const {inputs, wanted, tolerance} = model_of(name);
    const outputs = run_outputs(name);
    const args = [
      ...Object.entries(inputs).flatMap(([port, from]) => ['--input', `${port}=${path.relative(work, from)}`]),
      ...outputs.flatMap((port) => ['--output', `${port}=${name}.${port}.npy`]),
    ];
    const [program, ...rest] = (ENGINES[engine] ?? with_threads)(file, args);
    run(program, rest);
    for (const port of outputs) {
      const made = read_npy(path.join(work, `${name}.${port}.npy`)), right = wanted(port);
      if (String(made.shape) !== String(right.shape) || made.type !== right.type)
        return `${port} is ${made.type}[${made.shape}], not ${right.type}[${right.shape}]`;
      const problem = difference(made.elements, right.elements, tolerance);
      if (problem) return `${port}: ${problem}`;
    }
  });
}

const outputs_of = {};
/** The outputs' names, as the header of any form has them. */
function run_outputs(name) {
  outputs_of[name] ??= (() => {
    const folder = emit(name, 'cpu', 'object');
    return ports_of(readFileSync(path.join(folder, `${name}.h`), 'utf8'), name).outputs.map(({port}) => port);
  })();
  return outputs_of[name];
}

async function wasi_streams(engine) {
  await check(`stdin and stdout, ${engine}`, () => {
    const {inputs, raw, wanted} = model_of('digits');
    const file = path.join(work, 'digits.wasm.wasi/digits.wasm');
    const [program, ...args] = ENGINES[engine](file, []);
    const array = readFileSync(inputs.image);
    for (const input of [array, readFileSync(raw.image), Buffer.concat([array, array, array])]) {
      const out = run(program, args, {input});
      const one = 128 + 40, runs = input.length > array.length ? 3 : 1;
      if (out.length !== runs * one) return `${out.length} bytes for ${runs} runs`;
      for (let at = 0; at < out.length; at += one) {
        const problem = difference(parse_npy(out.subarray(at, at + one)).elements, wanted('probabilities').elements, 1e-4);
        if (problem) return problem;
      }
    }
  });
  await check(`wrong input, ${engine}`, () => {
    const {inputs} = model_of('digits');
    const file = path.join(work, 'digits.wasm.wasi/digits.wasm');
    const short = readFileSync(inputs.image).subarray(0, 1000);
    const twice = Buffer.from(readFileSync(inputs.image).toString('latin1').replace('28, 28)', '28, 29)'), 'latin1');
    const double = Buffer.from(readFileSync(inputs.image).toString('latin1').replace('<f4', '<f8'), 'latin1');
    writeFileSync(path.join(work, 'short.npy'), short);
    const wrong = {
      'fewer bytes': [['--input', 'short.npy'], ''],
      'another shape': [[], twice],
      'another type': [[], double],
      'cannot be read': [['--input', 'absent.npy'], ''],
      'no such input left': [['--input', 'short.npy', '--input', 'short.npy'], ''],
      'ends before': [[], ''],
      usage: [['--output'], ''],
    };
    for (const [message, [args, input]] of Object.entries(wrong)) {
      const [program, ...rest] = ENGINES[engine](file, args);
      const {status, stderr} = spawnSync(program, rest, {cwd: work, input, timeout: SECONDS * 1000, encoding: 'utf8'});
      if ((status !== 1 && status !== 2) || !stderr.includes(message)) return `"${message}": exit ${status}, ${stderr.slice(0, 200)}`;
    }
  });
}

mkdirSync(path.join(work, 'feeds'), {recursive: true});
await native('digits', 'object');
await native('digits', 'object', 'cxx');
await native('digits', 'static-lib', 'clang', {in_place: true});
await native('digits', 'shared-lib');
await native('tokens', 'static-lib');
await native('tokens', 'object', 'cc', {}, '--weights', 'beside');
await native('lstm', 'static-lib');
await native('rounds', 'static-lib');
await native('choose', 'object');
await native('story', 'static-lib');
await native('network', 'shared-lib');
await native('digits', 'c');
await native('digits', 'c', 'clang', {in_place: true});
await native('tokens', 'c', 'clang');
await native('tokens', 'c', 'cc', {}, '--weights', 'beside');
for (const name of ['digits', 'lstm', 'rounds', 'choose', 'story']) await native(name, 'c', 'checked');
await native('quantized', 'c', 'checked');
// examples/libraries: each says the digit that the interpreter finds most probable
const examples = path.join(root, 'examples/libraries');
function says_the_digit(out) {
  const {elements} = model_of('digits').wanted('probabilities');
  const best = elements.indexOf(Math.max(...elements));
  return out.toString().trim() === String(best) ? undefined : `says ${out}, not ${best}`;
}
await check('example in C', () => {
  const folder = emit('digits', 'cpu', 'static-lib');
  const program = path.join(work, 'example');
  run('gcc', ['-std=c11', ...STRICT, `-I${folder}`, path.join(examples, 'main.c'), path.join(folder, 'libdigits.a'), '-pthread', '-o', program]);
  return says_the_digit(run(program, [model_of('digits').raw.image]));
});
await check('example in C++', () => {
  const folder = emit('digits', 'cpu', 'static-lib');
  const program = path.join(work, 'example_cxx');
  run('g++', ['-std=c++17', ...STRICT, `-I${folder}`, path.join(examples, 'main.cc'), path.join(folder, 'libdigits.a'), '-pthread', '-o', program]);
  return says_the_digit(run(program, [model_of('digits').raw.image]));
});
let rust_wasm;
try {
  rust_wasm = path.join(root, execFileSync(path.join(root, 'tools/setup/rust_wasm.sh'), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']}).trim());
} catch (problem) {
  tally.skip('example in Rust, wasm', `Rust for wasm cannot be had here: ${String(problem.stderr ?? problem).trim().split('\n').at(-1)}`);
}
if (rust_wasm)
  await check('example in Rust, wasm', () => {
    const folder = emit('digits', 'wasm', 'static-lib');
    const program = path.join(work, 'digit.wasm');
    const flags = ['--edition', '2021', '-O', '--target', 'wasm32-wasi', '-L', `native=${folder}`, '-l', 'static=digits'];
    const here = ['--sysroot', rust_wasm, '-C', `linker=${path.join(rust_wasm, 'lib/llvm-14/bin/wasm-ld')}`];
    const libraries = readdirSync(path.join(rust_wasm, 'lib')).filter((name) => name.endsWith('-linux-gnu')).map((name) => path.join(rust_wasm, 'lib', name));
    run(path.join(rust_wasm, 'bin/rustc'), [...here, ...flags, path.join(examples, 'rust/src/main.rs'), '-o', program], {env: {...process.env, LD_LIBRARY_PATH: libraries.join(':')}});
    return says_the_digit(run(NODE[0], [...NODE.slice(1), program], {input: readFileSync(model_of('digits').raw.image)}));
  });
// As a registry or containerd reads it: every blob is what its descriptors say, and the program in the layer runs.
await check('an image of the program', () => {
  const folder = emit('digits', 'wasm', 'oci');
  const blob = ({digest, size}) => {
    const [kind, sum] = digest.split(':');
    const bytes = readFileSync(path.join(folder, 'blobs', kind, sum));
    if (createHash(kind).update(bytes).digest('hex') !== sum || bytes.length !== size) throw new Error(`${digest} is another blob`);
    return bytes;
  };
  const json = (bytes) => JSON.parse(bytes.toString());
  const {manifests} = json(readFileSync(path.join(folder, 'index.json')));
  if (json(readFileSync(path.join(folder, 'oci-layout'))).imageLayoutVersion !== '1.0.0' || manifests.length !== 1) return 'no layout of one image';
  const manifest = json(blob(manifests[0]));
  const config = json(blob(manifest.config));
  if (config.os !== 'wasip1' || config.architecture !== 'wasm') return `is for ${config.os}, ${config.architecture}`;
  const layer = blob(manifest.layers[0]);
  const [kind, sum] = config.rootfs.diff_ids[0].split(':');
  if (manifest.layers.length !== 1 || createHash(kind).update(layer).digest('hex') !== sum) return 'the layer is not the one of the configuration';
  if (readdirSync(path.join(folder, 'blobs/sha256')).length !== 3) return 'there are other blobs';
  const files = path.join(work, 'unpacked');
  mkdirSync(files);
  run('tar', ['-xf', '-', '-C', files], {input: layer});
  const program = path.join(files, config.config.Entrypoint[0]);
  const out = run(NODE[0], [...NODE.slice(1), program], {input: readFileSync(model_of('digits').raw.image)});
  return difference(parse_npy(out).elements, model_of('digits').wanted('probabilities').elements, 1e-4);
});
if (spawnSync('cargo', ['--version']).status !== 0) tally.skip('example in Rust', 'cargo is not installed');
else
  await check('example in Rust', () => {
    const folder = emit('digits', 'cpu', 'static-lib');
    const env = {...process.env, DIGITS: folder, CARGO_TARGET_DIR: path.join(work, 'cargo')};
    const args = ['run', '--quiet', '--offline', '--manifest-path', path.join(examples, 'rust/Cargo.toml')];
    return says_the_digit(run('cargo', args, {env, input: readFileSync(model_of('digits').raw.image)}));
  });
// As C, what is inside the libraries is checked as well.
{
  const turns = {'static-lib': 3000, c: 500};
  for (const form of Object.keys(turns))
    await check(`misuse, with sanitizers, ${form}`, () => {
      const folders = ['digits', 'tokens'].map((name) => emit(name, 'cpu', form));
      const program = path.join(work, `misuse.${form}`);
      const found = folders.flatMap((folder, at) => {
        const name = ['digits', 'tokens'][at];
        return [`-I${folder}`, path.join(folder, form === 'c' ? `${name}.c` : `lib${name}.a`)];
      });
      run('clang-19', [...STRICT, ...CC.checked.slice(1), path.join(here, 'misuse.c'), ...found, '-lm', '-pthread', '-o', program]);
      run(program, ['1', String(turns[form])], {env: {...process.env, ASAN_OPTIONS: 'allocator_may_return_null=1'}});
    });
}
// ONNX's own cases: a share, each written as C, compiled and run (gossamer test --target c); known.tsv says what cpu does not pass.
{
  const chosen = presentSuites([packageSuite], ({name}, reason) => tally.skip(`${name} as C`, reason));
  const {list} = readList();
  const names = chosen.length > 0 ? sample(await allCases(chosen)).filter((name, at) => at % 3 === 0 && !excused(list, name, 'cpu') && !excused(list, twinOf(name), 'cpu')) : [];
  const verdicts = names.length > 0 ? await runCases({chosen, target: 'c', names, timeout: 120}) : [];
  for (const {name, status, message} of verdicts) {
    // This test's caller does not pack strings, which is an error that says so.
    const refused = /string|label_encoder/.test(name) && message?.includes('strings are packed by the caller');
    tally.record(`${name} as C`, status === 'pass' || refused ? undefined : message || status);
  }
}
await wasm('digits', 'static-lib');
await wasm('digits', 'shared-lib');
await wasm('lstm', 'c'); // a machine with pointers of 32 bits
await wasm('story', 'static-lib');
await wasm('lstm', 'shared-lib');
for (const engine of Object.keys(ENGINES)) {
  await wasi('digits', engine);
  await wasi_streams(engine);
  await wasi('tokens', engine);
  await wasi('lstm', engine);
}
await wasi('rounds', 'node');
await wasi('choose', 'node');
await wasi('story', 'node');
await wasi('network', 'node');
if (with_threads) {
  await wasi('tokens', 'wasmtime with threads', '--threads', '3');
  await wasi('network', 'wasmtime with threads', '--threads', '2');
}
if (ENGINES.wasmtime) await wasi('network', 'wasmtime', '--relaxed-simd'); // Node 20 has it behind a flag
tally.end();
