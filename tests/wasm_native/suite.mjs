// The native device wasm in the engine without JavaScript that the environment names (tools/setup/wasmtime.sh): packages as `compile --target
// wasm` writes them, with known and open dimensions, control flow, 64-bit types; threads, profiles, a device over RPC, a search; our declarations
// against the library's; and what it says where the library is missing, of another kind or too old, or fails (faulty.c).
import {spawn, spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {graph, model, node, npyOf, stored, types, value} from '../cli/models.mjs';
import {asking, bytesOf, compile, floats, gives, gossamer, refuses, root, run, said, work} from '../cli/native_device.mjs';
import {Tally} from '../tally.mjs';

const here = path.join(root, 'tests/wasm_native');
const tally = new Tally();
const asked = asking('wasm');
const asJson = [...asked, '--json'];
const install = 'install wasmtime 36 or newer';

// What has no need of a library that works.
function missing() {
  const of = (library) => run(asked, {GOSSAMER_WASMTIME_LIBRARY: library});
  tally.record('no such library', refuses(of('/no/such/library.so'), ['/no/such/library.so', install, 'GOSSAMER_WASMTIME_LIBRARY']));
  tally.record('a library of another kind', refuses(of('libm.so.6'), ['is no library of wasmtime', install]));
  writeFileSync(path.join(work, 'text.so'), 'no library');
  tally.record('a file that is no library', refuses(of(path.join(work, 'text.so')), ['text.so', install]));
  const source = path.join(work, 'older.c');
  writeFileSync(source, 'void* wasmtime_module_new(void) { return 0; }\n');
  if (compile(tally, [source, '-o', path.join(work, 'older.so')], 'a library of an older API'))
    tally.record('a library of an older API', refuses(of(path.join(work, 'older.so')), ['has no wasm_config_new', install]));
}

const made = (file, folder, ...args) => said(run(['compile', file, '-o', folder, '--target', 'wasm', '--emit', 'package', ...args]).stderr) || undefined;

// A run of a package is that of the model here, and both are right.
function packages() {
  tally.record('known shapes', gives(run(asJson)));
  tally.record('open shapes', gives(run(asJson.with(1, 'open.onnx'))));
  for (const name of ['fixed', 'open']) {
    tally.record(`compile ${name}`, made(`${name}.onnx`, name));
    tally.record(`the package ${name}, as it is`, gives(run(['run', name, '--input', 'x=x.npy', '--json'])));
  }
  for (const threads of ['1', '3']) tally.record(`${threads} threads`, gives(run([...asJson, '--threads', threads])));
  const damaged = path.join(work, 'fixed/kernels.wasm');
  const bytes = readFileSync(damaged);
  bytes[bytes.length - 3] ^= 1;
  writeFileSync(damaged, bytes);
  tally.record('a damaged package', refuses(run(['run', 'fixed', '--input', 'x=x.npy']), ['kernels.wasm', 'its hash differs']));
}

/** Outputs of a model by the CPU, the interpreter and both forms of wasm: what differs from the first. */
function agree(name, bytes, inputs) {
  const file = `${name}.onnx`;
  writeFileSync(path.join(work, file), bytes);
  const given = [];
  for (const [input, npy] of Object.entries(inputs)) {
    writeFileSync(path.join(work, `${name}-${input}.npy`), npy);
    given.push('--input', `${input}=${name}-${input}.npy`);
  }
  const outputs = (args) => {
    const {status, stdout, stderr} = run(['run', ...args, ...given, '--json']);
    if (status !== 0) throw new Error(said(stderr));
    return JSON.parse(stdout).outputs;
  };
  const differs = (got, wanted) => got.flatMap(({data, dtype, shape}, at) => {
    const right = wanted[at];
    if (dtype !== right.dtype || shape.join() !== right.shape.join()) return [`${dtype} ${shape}, not ${right.dtype} ${right.shape}`];
    const wrong = data.findIndex((number, i) => !(Math.abs(number - right.data[i]) <= 1e-5 + 1e-4 * Math.abs(right.data[i])));
    return wrong < 0 ? [] : [`element ${wrong} is ${data[wrong]}, not ${right.data[wrong]}`];
  });
  try {
    const wanted = outputs([file]);
    tally.record(`${name}: the interpreter`, differs(outputs([file, '--target', 'interp']), wanted));
    tally.record(`${name}: the model`, differs(outputs([file, '--target', 'wasm']), wanted));
    tally.record(`${name}: compile`, made(file, name));
    tally.record(`${name}: the package`, differs(outputs([name]), wanted));
    return {wanted, files: readdirSync(path.join(work, name))};
  } catch (problem) {
    tally.record(name, problem.message);
    return {wanted: [], files: []};
  }
}

// Numbers that are no pattern, from -1 to 1.
const noise = (count, seed = 1) => Array.from({length: count}, (_, at) => Math.sin(12.9898 * (at + seed) * seed));
const noisy = (shape, name, seed) => stored(floats(shape, noise(shape.reduce((a, b) => a * b, 1), seed)), name);

function images() {
  const net = (height) => model({
    nodes: [
      node('Conv', ['x', 'w1'], ['a']), node('Relu', ['a'], ['b']),
      node('Conv', ['b', 'w2'], ['c']), node('Add', ['c', 'bias'], ['d']), node('Sigmoid', ['d'], ['e']),
      node('GlobalAveragePool', ['e'], ['f']), node('Flatten', ['f'], ['g']), node('MatMul', ['g', 'w3'], ['h']), node('Softmax', ['h'], ['y']),
    ],
    inputs: [value('x', 'f32', [1, 3, height, 17])],
    outputs: [value('y', 'f32', [1, 10])],
    weights: [noisy([16, 3, 3, 3], 'w1', 1), noisy([24, 16, 3, 3], 'w2', 2), noisy([24, 1, 1], 'bias', 3), noisy([24, 10], 'w3', 4)],
  });
  const x = npyOf('<f4', [1, 3, 19, 17], bytesOf(noise(3 * 19 * 17, 5)));
  const {files} = agree('images', net(19), {x});
  tally.record('kernels with and without relaxed SIMD', files.includes('kernels.wasm') && files.includes('kernels.relaxed.wasm') ? [] : `${files}`);
  agree('open_images', net('height'), {x});
}

// Branches that a run decides, and a loop whose rounds and last shape are an input's.
function controlFlow() {
  const branch = (name, operator) => graph({nodes: [node(operator, ['x', 'x'], [name])], inputs: [], outputs: [value(name, 'f32', ['n'])]});
  const either = model({
    nodes: [
      node('ReduceSum', ['x'], ['sum'], {integers: {keepdims: 0}}), node('Greater', ['sum', 'zero'], ['c']),
      node('If', ['c'], ['y'], {graphs: {then_branch: branch('sums', 'Add'), else_branch: branch('squares', 'Mul')}}),
    ],
    inputs: [value('x', 'f32', ['n'])],
    outputs: [value('y', 'f32', ['n'])],
    weights: [stored(floats([], [0]), 'zero')],
  });
  const vector = (numbers) => npyOf('<f4', [numbers.length], bytesOf(numbers));
  for (const [name, x, right] of [['positive', [1, 2, 5], '2,4,10'], ['negative', [-1, -3], '1,9']]) {
    const {wanted} = agree(`if_${name}`, either, {x: vector(x)});
    tally.record(`if_${name} is right`, wanted[0]?.data.join() === right ? [] : `${wanted[0]?.data}`);
  }
  const body = graph({
    nodes: [node('Identity', ['on'], ['on_out']), node('Add', ['s', 'x'], ['s_out']), node('ReduceSum', ['s_out'], ['each'], {integers: {keepdims: 0}})],
    inputs: [value('i', 'i64', []), value('on', 'bool', []), value('s', 'f32', ['n'])],
    outputs: [value('on_out', 'bool', []), value('s_out', 'f32', ['n']), value('each', 'f32', [])],
  });
  const loop = model({
    nodes: [node('Mul', ['x', 'zero'], ['s0']), node('Loop', ['times', '', 's0'], ['y', 'sums'], {graphs: {body}})],
    inputs: [value('times', 'i64', []), value('x', 'f32', ['n'])],
    outputs: [value('y', 'f32', ['n']), value('sums', 'f32', ['k'])],
    weights: [stored(floats([], [0]), 'zero')],
  });
  const {wanted} = agree('loop', loop, {times: npyOf('<i8', [], Buffer.from(BigInt64Array.of(4n).buffer)), x: vector([1, 2, 3])});
  tally.record('the loop is right', wanted.map(({data}) => data.join()).join(' ') === '4,8,12 6,12,18,24' ? [] : JSON.stringify(wanted));
}

function wideTypes() {
  const wide = model({
    nodes: [node('Mul', ['i', 'i'], ['product']), node('Cast', ['product'], ['float'], {integers: {to: types.f64}}), node('Sqrt', ['float'], ['y'])],
    inputs: [value('i', 'i64', ['n'])],
    outputs: [value('product', 'i64', ['n']), value('y', 'f64', ['n'])],
  });
  const {wanted} = agree('wide', wide, {i: npyOf('<i8', [3], Buffer.from(BigInt64Array.of(3000000001n, -5n, 94906265n).buffer))});
  tally.record('64 bits are 64 bits', wanted[0]?.data[2] === 94906265 ** 2 && wanted[1]?.data[0] === 3000000001 ? [] : JSON.stringify(wanted));
}

function measured() {
  const bench = (env, ...args) => run(['bench', 'images.onnx', '--target', 'wasm', '--device', 'native', '--json', '--runs', '2', ...args], env);
  const profile = bench({}, '--profile');
  const found = profile.status === 0 ? JSON.parse(profile.stdout) : {};
  tally.record('a profile', found.method === 'clock' && found.launches.length > 0 && found.launches.every(({ms}) => ms >= 0)
    ? undefined : `says ${found.method ?? said(profile.stderr)}`);
  const adapter = ({stdout, stderr}) => JSON.parse(stdout || '{}').adapter ?? said(stderr);
  const told = adapter(bench({}, '--threads', '2'));
  tally.record('the adapter', /^wasm, wasmtime \d+ on .+, relaxed SIMD, 2 threads$/.test(told) ? undefined : told);
  return adapter;
}

function faults(library, adapter) {
  const python = path.join(root, 'third_party/cache/wasmtime/bin/python');
  const numbers = spawnSync(python, [path.join(here, 'layout.py')], {encoding: 'utf8', env: {...process.env, PYTHONPATH: path.resolve(library, '../../..')}});
  const layout = numbers.status === 0 && spawnSync('clang++-19', ['-std=c++23', '-fsyntax-only', '-Wall', '-I', root,
    ...numbers.stdout.trim().split('\n'), path.join(here, 'layout.cc')], {encoding: 'utf8'});
  tally.record('declarations as the library has them', layout?.status === 0 ? undefined : `${layout?.stderr ?? numbers.stderr ?? numbers.error}`);
  const file = path.join(work, 'libfaulty.so');
  if (!compile(tally, [path.join(here, 'faulty.c'), '-Wl,--no-as-needed', library, `-Wl,-rpath,${path.dirname(library)}`, '-o', file],
    'a library that fails')) return;
  const env = (fault) => ({GOSSAMER_WASMTIME_LIBRARY: file, GOSSAMER_FAULT: fault});
  const failing = (fault, words, args = asked) => tally.record(`fault: ${fault}`, refuses(run(args, env(fault)), words));
  tally.record('the same library without a fault', gives(run(asJson, env(''))));
  failing('old', ['is wasmtime 35', install]);
  failing('no engine', ['makes no engine']);
  failing('no store', ['makes no store']);
  failing('refuses', ['the engine refuses the kernels: refuses it']);
  // More than the page that a memory begins with.
  const large = model({nodes: [node('Add', ['x', 'w'], ['y'])], inputs: [value('x', 'f32', [1])], outputs: [value('y', 'f32', [20000])], weights: [noisy([20000], 'w', 1)]});
  writeFileSync(path.join(work, 'large.onnx'), large);
  writeFileSync(path.join(work, 'one.npy'), npyOf('<f4', [1], bytesOf([1])));
  failing('no memory', ['tensor "', 'more than there is memory for', 'use smaller inputs'], ['run', 'large.onnx', '--target', 'wasm', '--input', 'x=one.npy']);
  tally.record('without relaxed SIMD', gives(run(asJson, env('plain'))));
  const bench = (fault) => adapter(run(['bench', 'images.onnx', '--target', 'wasm', '--device', 'native', '--json', '--runs', '1'], env(fault)));
  tally.record('the adapter without relaxed SIMD', /^wasm, wasmtime \d+ on [^,]*, \d+ threads?$/.test(bench('plain')) ? undefined : bench('plain'));
  tally.record('an engine without a version', bench('unknown').startsWith('wasm, wasmtime on ') ? undefined : bench('unknown'));
}

// A candidate whose kernel does not return: it is recorded, and the search goes on. `device` is asked for when the engine
// may hang: one below the search, or one that has joined.
async function hangs(name, device, env, once) {
  const records = path.join(work, `hangs_${name}.jsonl`);
  const args = ['tune', 'images.onnx', '--target', 'wasm', '--threads', '1', '--device', device, '--trials', '24', '--timeout', '2', '--output', records, '--json'];
  const child = spawn(gossamer, args, {cwd: work, stdio: ['ignore', 'pipe', 'pipe'], env: {...process.env, ...env}});
  const ended = new Promise((resolve) => child.on('exit', (status, signal) => resolve(status ?? signal)));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const late = setTimeout(() => child.kill('SIGKILL'), 300_000);
  const begun = () => existsSync(records) && readFileSync(records, 'utf8').includes('"trial"');
  while (child.exitCode === null && child.signalCode === null && !begun()) await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(once, '');
  const status = await ended;
  clearTimeout(late);
  const outcome = status === 0 ? JSON.parse(stdout) : {};
  tally.record(`a search goes on where a candidate hangs: ${name}`, outcome.trials + outcome.failures === 24 && outcome.failures < 24 && outcome.runMsAfter > 0
    ? [] : `${status} ${stdout.slice(0, 300)} ${said(stderr).slice(-300)}`);
  tally.record(`and it did hang: ${name}`, existsSync(once) ? 'nothing did' : []);
  const failed = existsSync(records) ? readFileSync(records, 'utf8').split('\n').filter((line) => line.includes('took longer than 2 s')) : [];
  tally.record(`what hung is recorded: ${name}`, failed.length > 0 || outcome.failures === 0 ? [] : readFileSync(records, 'utf8').slice(0, 300));
}

// What is recorded names the engine; the last line of a search says how it went.
function searched(name, device) {
  const records = path.join(work, `${name}.jsonl`);
  const {status, stdout, stderr} = run(['tune', 'images.onnx', '--target', 'wasm', '--threads', '1', '--device', device, '--trials', '6', '--output', records, '--json']);
  const outcome = status === 0 ? JSON.parse(stdout) : {};
  tally.record(`tune on ${name}`, outcome.trials === 6 && outcome.failures === 0 && outcome.runMsAfter > 0 ? undefined : stdout + said(stderr));
  const lines = status === 0 ? readFileSync(records, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) : [];
  tally.record(`records of ${name}`, lines.length > 0 && lines.every((line) => /^wasm, wasmtime \d+ on /.test(line.adapter)) ? undefined : JSON.stringify(lines[0]));
  const compiled = run(['run', 'images.onnx', '--target', 'wasm', '--input', 'x=images-x.npy', '--json']);
  tally.record(`the model after ${name}`, compiled.status === 0 ? undefined : said(compiled.stderr));
}

async function remote(env) {
  const children = [];
  const start = (...args) => {
    const child = spawn(gossamer, args, {stdio: ['ignore', 'pipe', 'ignore'], env: {...process.env, ...env}});
    children.push(child);
    return child;
  };
  try {
    const server = start('rpc', '--port', '0');
    const address = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(data.toString().trim())));
    start('rpc', '--join', address, '--name', 'engine');
    let listed = '';
    for (let turn = 0; turn < 1000 && !listed.includes('engine'); ++turn) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      listed = run(['rpc', '--list', address]).stdout;
    }
    tally.record('a native device offers wasm', /^engine {2}cpu,wasm {2}gossamer .*wasmtime \d+$/m.test(listed) ? undefined : listed);
    searched('rpc', address.replace('?', '/engine?'));
    await hangs('rpc', address.replace('?', '/engine?'), {}, env.GOSSAMER_HANGS);
  } finally {
    for (const child of children) child.kill();
  }
}

try {
  missing();
  const library = process.env.GOSSAMER_WASMTIME_LIBRARY;
  if (!library) tally.skip('the device', 'GOSSAMER_WASMTIME_LIBRARY names no library; tools/setup/wasmtime.sh installs one');
  else {
    packages();
    images();
    controlFlow();
    wideTypes();
    faults(library, measured());
    searched('native', 'native');
    const hanging = {GOSSAMER_WASMTIME_LIBRARY: path.join(work, 'libfaulty.so'), GOSSAMER_FAULT: 'hangs', GOSSAMER_HANGS: path.join(work, 'hangs')};
    await hangs('native', 'native', hanging, hanging.GOSSAMER_HANGS);
    await remote(hanging);
  }
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
