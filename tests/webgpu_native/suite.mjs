// The native device webgpu through the library that the environment names (tools/setup/webgpu.sh): a model with and without open
// dimensions, packages for pages, profiles; our declarations against its header; and what it says where the library is
// missing, of another kind or too old, there is no adapter, or the library fails (faulty.c). Nothing may end the process.
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {model, node, npyOf, stored, value} from '../cli/models.mjs';
import {Tally} from '../tally.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-webgpu-'));
const tally = new Tally();

const floats = (shape, data) => ({type: 'f32', shape, data: Float32Array.from(data)});
const bytesOf = (numbers) => Buffer.from(Float32Array.from(numbers).buffer);

// max(0, x w), of rows that are known or not.
const dense = (rows) => model({
  nodes: [node('MatMul', ['x', 'w'], ['y']), node('Relu', ['y'], ['z'])],
  inputs: [value('x', 'f32', [rows, 3])],
  outputs: [value('z', 'f32', [rows, 2])],
  weights: [stored(floats([3, 2], [1, 2, 3, 4, -5, -6]), 'w')],
});
writeFileSync(path.join(work, 'fixed.onnx'), dense(2));
writeFileSync(path.join(work, 'open.onnx'), dense('rows'));
writeFileSync(path.join(work, 'x.npy'), npyOf('<f4', [2, 3], bytesOf([1, -2, 3, 3, 1, 0])));
const RIGHT = [0, 0, 6, 10];

const run = (args, env = {}) =>
  spawnSync(gossamer, args, {cwd: work, encoding: 'utf8', timeout: 120_000, env: {...process.env, ...env}});

// libwayland's word on machines without a display, said while Vulkan's drivers are asked.
const said = (stderr) => stderr.split('\n').filter((line) => line && !line.includes('XDG_RUNTIME_DIR')).join('\n');

function gives({status, signal, stdout, stderr}) {
  if (status !== 0) return `ended with ${status ?? signal}: ${said(stderr)}`;
  const values = JSON.parse(stdout).outputs[0].data;
  return JSON.stringify(values) === JSON.stringify(RIGHT) ? undefined : `gave ${values}`;
}

function refuses({status, signal, stdout, stderr}, words) {
  const text = said(stderr);
  if (status !== 1) return `ended with ${status ?? signal}: ${text.slice(0, 300)}`;
  if (text.split('\n').length !== 1) return `says more than a line: ${text.slice(0, 300)}`;
  return [stdout && `printed ${stdout}`, ...words.map((word) => !text.includes(word) && `no "${word}" in: ${text}`)].filter(Boolean);
}

const asked = ['run', 'fixed.onnx', '--target', 'webgpu', '--input', 'x=x.npy'];
const asJson = [...asked, '--json'];

// What has no need of a library that works.
function missing() {
  const of = (library) => run(asked, {GOSSAMER_WEBGPU_LIBRARY: library});
  tally.record('no such library', refuses(of('/no/such/library.so'), ['/no/such/library.so', 'install wgpu-native']));
  tally.record('a library of another kind', refuses(of('libm.so.6'), ['is no library of webgpu.h', 'install wgpu-native']));
  writeFileSync(path.join(work, 'text.so'), 'no library');
  tally.record('a file that is no library', refuses(of(path.join(work, 'text.so')), ['text.so', 'install']));
  const source = path.join(work, 'older.c');
  writeFileSync(source, 'void* wgpuCreateInstance(const void* descriptor) { return (void*)descriptor; }\n');
  if (compile([source, '-o', path.join(work, 'older.so')], 'a library of an older header'))
    tally.record('a library of an older header', refuses(of(path.join(work, 'older.so')), ['from before September 2025']));
  const usage = run(['test', '.', '--target', 'webgl', '--device', 'native']);
  tally.record('a target that is not native', usage.status === 2 && usage.stderr.includes('no target webgl') ? undefined : usage.stderr);
}

// The compiler that builds Gossamer.
function compile(args, name) {
  const done = spawnSync('clang-19', ['-shared', '-fPIC', '-Wall', '-Werror', ...args], {encoding: 'utf8'});
  if (done.status !== 0) tally.record(name, `does not compile: ${done.error ?? done.stderr}`);
  return done.status === 0;
}

function runs() {
  tally.record('known shapes', gives(run(asJson)));
  tally.record('open shapes', gives(run(asJson.with(1, 'open.onnx'))));
  const made = (args) => said(run(['compile', ...args, '--target', 'webgpu', '--emit', 'package']).stderr) || undefined;
  tally.record('compile for pages', made(['fixed.onnx', '-o', 'page']));
  tally.record('a package for pages whose shapes are known', gives(run(['run', 'page', '--input', 'x=x.npy', '--json'])));
  tally.record('compile open shapes for pages', made(['open.onnx', '-o', 'open_page']));
  tally.record('what pages leave to wasm', refuses(run(['run', 'open_page', '--input', 'x=x.npy']), ['compiled for pages', '--side cpu']));
  tally.record('compile --side cpu', made(['open.onnx', '-o', 'open_here', '--side', 'cpu']));
  tally.record('a package with a side for here', gives(run(['run', 'open_here', '--input', 'x=x.npy', '--json'])));
  const profile = run(['bench', 'fixed.onnx', '--target', 'webgpu', '--device', 'native', '--profile', '--json', '--runs', '2']);
  const found = profile.status === 0 ? JSON.parse(profile.stdout) : {};
  tally.record('a profile', found.method === 'timestamps' && found.launches.length > 0 && found.launches.every(({ms}) => ms >= 0)
    ? undefined : `says ${found.method ?? said(profile.stderr)}`);
}

function faults(library) {
  const file = path.join(work, 'libfaulty.so');
  const include = ['-I', path.dirname(library)];
  const layout = spawnSync('clang++-19', ['-std=c++23', '-fsyntax-only', '-Wall', '-I', root, '-I', path.join(root, 'include'), ...include,
    path.join(here, 'layout.cc')], {encoding: 'utf8'});
  tally.record('declarations as in the library\'s header', layout.status === 0 ? undefined : layout.stderr || String(layout.error));
  if (!compile([path.join(here, 'faulty.c'), ...include, '-Wl,--no-as-needed', library, `-Wl,-rpath,${path.dirname(library)}`, '-o', file],
    'a library that fails')) return;
  const failing = (fault, words, args = asked) =>
    tally.record(`fault: ${fault}`, refuses(run(args, {GOSSAMER_WEBGPU_LIBRARY: file, GOSSAMER_FAULT: fault}), words));
  tally.record('the same library without a fault', gives(run(asJson, {GOSSAMER_WEBGPU_LIBRARY: file})));
  failing('old', ['wgpu-native 27.0.4.0', 'install wgpu-native 29 or newer']);
  failing('no adapter', ['no adapter here: the test has none', 'install a driver']);
  failing('no device', ['gave no device: the test gives none']);
  failing('no memory', ['the GPU is out of memory: the test has no memory']);
  failing('no buffer', ['gives no buffer of']);
  failing('invalid', ['WebGPU says: the test refuses this']);
  failing('lost', ['the GPU was lost: the test pulled it out']);
  failing('no map', ['could not be read']);
  failing('silent', ['does not answer']);
  tally.record('no driver of Vulkan', refuses(run(asked, {VK_DRIVER_FILES: '/none', VK_ICD_FILENAMES: '/none'}), ['no adapter', 'mesa-vulkan-drivers']));
}

try {
  missing();
  const library = process.env.GOSSAMER_WEBGPU_LIBRARY;
  const first = library && run(asked);
  if (!library) tally.skip('the device', 'GOSSAMER_WEBGPU_LIBRARY names no library; tools/setup/webgpu.sh installs one');
  else if (first.status !== 0 && first.stderr.includes('no adapter')) tally.skip('the device', `there is no adapter: ${said(first.stderr)}`);
  else {
    runs();
    if (existsSync(path.join(path.dirname(library), 'webgpu.h'))) faults(library);
    else tally.skip('faults', 'the library has no header beside it');
  }
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
