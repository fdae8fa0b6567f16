// What the suites of devices without a browser share: a model with and without open dimensions, and what becomes of it.
import {spawnSync} from 'node:child_process';
import {mkdtempSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {model, node, npyOf, stored, types, value} from './models.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
export const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-native-'));

export const floats = (shape, data) => ({type: 'f32', shape, data: Float32Array.from(data)});
export const bytesOf = (numbers) => Buffer.from(Float32Array.from(numbers).buffer);

// max(0, x w), of rows that are known or not.
const dense = (rows) => model({
  nodes: [node('MatMul', ['x', 'w'], ['y']), node('Relu', ['y'], ['z'])],
  inputs: [value('x', 'f32', [rows, 3])],
  outputs: [value('z', 'f32', [rows, 2])],
  weights: [stored(floats([3, 2], [1, 2, 3, 4, -5, -6]), 'w')],
});
// sqrt(max(0, x)), the root in 64 bits, which GPUs of pages have not.
const wide = model({
  nodes: [node('Relu', ['x'], ['a']), node('Cast', ['a'], ['b'], {integers: {to: types.f64}}), node('Sqrt', ['b'], ['y'])],
  inputs: [value('x', 'f32', [4])],
  outputs: [value('y', 'f64', [4])],
});
writeFileSync(path.join(work, 'fixed.onnx'), dense(2));
writeFileSync(path.join(work, 'open.onnx'), dense('rows'));
writeFileSync(path.join(work, 'x.npy'), npyOf('<f4', [2, 3], bytesOf([1, -2, 3, 3, 1, 0])));
const RIGHT = [0, 0, 6, 10];

export const run = (args, env = {}) =>
  spawnSync(gossamer, args, {cwd: work, encoding: 'utf8', timeout: 120_000, env: {...process.env, ...env}});

/** The arguments that run it on a target. */
export const asking = (target) => ['run', 'fixed.onnx', '--target', target, '--input', 'x=x.npy'];

// libwayland's word on machines without a display, said while Vulkan's drivers are asked.
export const said = (stderr) => stderr.split('\n').filter((line) => line && !line.includes('XDG_RUNTIME_DIR')).join('\n');

/** What is wrong with a run that is to print the right values. */
export function gives({status, signal, stdout, stderr}, right = RIGHT) {
  if (status !== 0) return `ended with ${status ?? signal}: ${said(stderr)}`;
  const values = JSON.parse(stdout).outputs[0].data;
  return JSON.stringify(values) === JSON.stringify(right) ? undefined : `gave ${values}`;
}

/** What is wrong with one that is to end with one line that has these words. */
export function refuses({status, signal, stdout, stderr}, words) {
  const text = said(stderr);
  if (status !== 1) return `ended with ${status ?? signal}: ${text.slice(0, 300)}`;
  if (text.split('\n').length !== 1) return `says more than a line: ${text.slice(0, 300)}`;
  return [stdout && `printed ${stdout}`, ...words.map((word) => !text.includes(word) && `no "${word}" in: ${text}`)].filter(Boolean);
}

/** How far the largest of a row, its last element, is from the others: beyond the 65,535 rounds at which Mesa ends an invocation's loops. */
export function longRows(tally, target) {
  const columns = 70_001;
  const w = floats([1, columns], new Array(columns).fill(0).with(-1, 7));
  for (const [name, extent, rows] of [['many long rows', 260, 260], ['long rows, their number open', 'rows', 2]]) {
    writeFileSync(path.join(work, 'long.onnx'), model({
      nodes: [node('Add', ['x', 'w'], ['y']), node('ReduceMax', ['y', 'axis'], ['most']), node('Sub', ['most', 'y'], ['less']),
        node('ReduceMax', ['less', 'axis'], ['z'])],
      inputs: [value('x', 'f32', [extent, 1])],
      outputs: [value('z', 'f32', [extent, 1])],
      weights: [stored(w, 'w'), stored({type: 'i64', shape: [1], data: BigInt64Array.of(1n)}, 'axis')],
    }));
    writeFileSync(path.join(work, 'long.npy'), npyOf('<f4', [rows, 1], bytesOf(new Array(rows).fill(1))));
    tally.record(name, gives(run(['run', 'long.onnx', '--target', target, '--input', 'x=long.npy', '--json']), new Array(rows).fill(7)));
  }
}

/** Sums, a softmax and a product over dimensions that are open, and longer in the run than those rounds. */
export function longDimensions(tally, target) {
  const length = 300_001;
  const row = new Array(length).fill(1).with(-1, 3);
  const axis = stored({type: 'i64', shape: [1], data: BigInt64Array.of(1n)}, 'axis');
  const cases = {
    'a sum of an open length': [[node('ReduceSum', ['x', 'axis'], ['z'])], [axis], 1, [length + 2]],
    'sums of many rows of an open length': [[node('ReduceSum', ['x', 'axis'], ['s']), node('ReduceMax', ['s'], ['z'])], [axis], 40, [length + 2]],
    'a softmax of an open length': [[node('Softmax', ['x'], ['p']), node('ReduceSum', ['p', 'axis'], ['z'])], [axis], 2, [1, 1]],
    'a product of an open length': [[node('Transpose', ['x'], ['t']), node('MatMul', ['x', 't'], ['z'])], [], 2, new Array(4).fill(length + 8)],
  };
  for (const [name, [nodes, weights, rows, right]] of Object.entries(cases)) {
    writeFileSync(path.join(work, 'length.onnx'), model({
      nodes, weights, inputs: [value('x', 'f32', ['rows', 'length'])], outputs: [value('z', 'f32', ['a', 'b'])],
    }));
    writeFileSync(path.join(work, 'length.npy'), npyOf('<f4', [rows, length], bytesOf(new Array(rows).fill(row).flat())));
    const {status, stdout, stderr} = run(['run', 'length.onnx', '--target', target, '--input', 'x=length.npy', '--json']);
    const values = status === 0 ? JSON.parse(stdout).outputs[0].data : [];
    const near = values.length === right.length && values.every((each, i) => Math.abs(each - right[i]) < 1e-4 * right[i]);
    tally.record(name, near ? undefined : `gave ${values} ${said(stderr)}`);
  }
}

/** Models and packages for a page's target run here; profiles are timed by `method`. */
export function runs(tally, target, method) {
  const asJson = [...asking(target), '--json'];
  tally.record('known shapes', gives(run(asJson)));
  tally.record('open shapes', gives(run(asJson.with(1, 'open.onnx'))));
  const made = (args) => said(run(['compile', ...args, '--target', target, '--emit', 'package']).stderr) || undefined;
  tally.record('compile for pages', made(['fixed.onnx', '-o', 'page']));
  tally.record('a package for pages whose shapes are known', gives(run(['run', 'page', '--input', 'x=x.npy', '--json'])));
  tally.record('compile open shapes for pages', made(['open.onnx', '-o', 'open_page']));
  const page = (env) => run(['run', 'open_page', '--input', 'x=x.npy', ...(env ? [] : ['--json'])], env);
  writeFileSync(path.join(work, 'wide.onnx'), wide);
  writeFileSync(path.join(work, 'squares.npy'), npyOf('<f4', [4], bytesOf([4, -9, 2, 16])));
  tally.record('compile 64-bit floats for pages', made(['wide.onnx', '-o', 'wide_page']));
  if (process.env.GOSSAMER_WASMTIME_LIBRARY) {
    tally.record('a plan of pages', gives(page()));
    tally.record('kernels that pages leave to wasm', gives(run(['run', 'wide_page', '--input', 'x=squares.npy', '--json']), [2, 0, Math.SQRT2, 4]));
  } else tally.skip('what pages leave to wasm', 'GOSSAMER_WASMTIME_LIBRARY names no library; tools/setup/wasmtime.sh installs one');
  tally.record('and where there is no engine for it', refuses(page({GOSSAMER_WASMTIME_LIBRARY: '/no/such/library.so'}),
    ['compiled for pages', '/no/such/library.so', '--side cpu, or install wasmtime 36']));
  tally.record('compile --side cpu', made(['open.onnx', '-o', 'open_here', '--side', 'cpu']));
  tally.record('a package with a side for here', gives(run(['run', 'open_here', '--input', 'x=x.npy', '--json'])));
  const profile = run(['bench', 'fixed.onnx', '--target', target, '--device', 'native', '--profile', '--json', '--runs', '2']);
  const found = profile.status === 0 ? JSON.parse(profile.stdout) : {};
  tally.record('a profile', found.method === method && found.launches.length > 0 && found.launches.every(({ms}) => ms >= 0)
    ? undefined : `says ${found.method ?? said(profile.stderr)}`);
  longRows(tally, target);
  const usage = run(['test', '.', '--target', 'interp', '--device', 'native']);
  tally.record('a target that is not native', usage.status === 2 && usage.stderr.includes('no target interp') ? undefined : usage.stderr);
}

/** Builds with the compiler that builds Gossamer; records what it says otherwise. */
export function compile(tally, args, name) {
  const done = spawnSync('clang-19', ['-shared', '-fPIC', '-Wall', '-Werror', ...args], {encoding: 'utf8'});
  if (done.status !== 0) tally.record(name, `does not compile: ${done.error ?? done.stderr}`);
  return done.status === 0;
}
