// `gossamer compile --emit component`: the inference service as a component for wasi:http, in wasmtime and in Node.js (jco).
//
//   node tests/component/suite.mjs
import {execFileSync, spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import {model, node, value} from '../cli/models.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-component-'));
const tally = new Tally();
const children = [];

const check = (name, got, wanted) => {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  tally.record(name, a === b ? undefined : `${a?.slice(0, 300)}, not ${b?.slice(0, 300)}`);
};

const install = (script) => execFileSync(path.join(root, script), {cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit']});
const tools = path.join(root, 'third_party/cache/components/node_modules/.bin');

const compile = (file, name, env = {}) => spawnSync(gossamer, ['compile', file, '--name', name, '--target', 'wasm', '--emit', 'component',
  '-o', path.join(work, name)], {env: {...process.env, PATH: `${tools}:${process.env.PATH}`, ...env}, encoding: 'utf8', timeout: 120_000});

// Squares of a free number of rows, and texts as they were.
function writeModel() {
  const file = path.join(work, 'square.onnx');
  writeFileSync(file, model({
    nodes: [node('Mul', ['x', 'x'], ['y']), node('Identity', ['words'], ['same'])],
    inputs: [value('x', 'f32', ['N', 3]), value('words', 'string', [2])],
    outputs: [value('y', 'f32', ['N', 3]), value('same', 'string', [2])],
  }));
  return file;
}

const freePort = () => new Promise((resolve) => {
  const server = net.createServer().listen(0, '127.0.0.1', () => {
    const {port} = server.address();
    server.close(() => resolve(port));
  });
});

/** By its host's own command; resolves with its address when it answers. */
async function serve(program, args, component) {
  const port = await freePort();
  const child = spawn(program, [...args(port), component], {cwd: work, stdio: ['ignore', 'pipe', 'pipe'], detached: true});
  children.push(child);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (log += data));
  const url = `http://127.0.0.1:${port}`;
  for (const end = Date.now() + 60_000; Date.now() < end && child.exitCode === null; await new Promise((resolve) => setTimeout(resolve, 200))) {
    const answer = await fetch(`${url}/v2/health/live`).catch(() => undefined);
    if (answer?.ok) return {url, child};
  }
  throw new Error(`${path.basename(program)} did not answer: ${log.slice(-400)}`);
}

const words = {name: 'words', datatype: 'BYTES', shape: [2], data: ['a', 'über']};
const infer = (url, body, headers = {}) => fetch(`${url}/v2/models/square/infer`, {method: 'POST', body, headers});

async function answers(host, url) {
  const get = async (address) => (await fetch(url + address)).json();
  check(`${host}: ready`, await get('/v2/health/ready'), {ready: true});
  check(`${host}: server`, (await get('/v2')).name, 'gossamer');
  check(`${host}: model`, (await get('/v2/models/square')).inputs, [
    {name: 'x', datatype: 'FP32', shape: [-1, 3]}, {name: 'words', datatype: 'BYTES', shape: [2]}]);
  check(`${host}: a model's readiness`, await get('/v2/models/square/versions/1/ready'), {name: 'square', ready: true});
  const x = {name: 'x', datatype: 'FP32', shape: [2, 3], data: [1, 2, 3, -4, 0.5, 0]};
  const plain = await (await infer(url, JSON.stringify({id: 'one', inputs: [x, words]}))).json();
  check(`${host}: JSON`, [plain.id, ...plain.outputs.map(({data, shape}) => [shape, data])],
    ['one', [[2, 3], [1, 4, 9, 16, 0.25, 0]], [[2], ['a', 'über']]]);
  const rows = 5000;
  const values = Float32Array.from({length: 3 * rows}, (_, at) => at % 100);
  const head = Buffer.from(JSON.stringify({
    inputs: [{name: 'x', datatype: 'FP32', shape: [rows, 3], parameters: {binary_data_size: values.byteLength}}, words],
    outputs: [{name: 'y', parameters: {binary_data: true}}],
  }));
  const binary = await infer(url, Buffer.concat([head, Buffer.from(values.buffer)]), {'Inference-Header-Content-Length': String(head.length)});
  const length = Number(binary.headers.get('Inference-Header-Content-Length'));
  const bytes = await binary.arrayBuffer();
  const squares = bytes.byteLength === length + values.byteLength ? new Float32Array(bytes.slice(length)) : [];
  check(`${host}: binary tensors`, squares.length === values.length && squares.every((each, at) => each === values[at] ** 2), true);
  const many = await Promise.all(Array.from({length: 100}, async (_, at) => {
    const one = {...x, data: x.data.map((each) => each + at)};
    return (await (await infer(url, JSON.stringify({inputs: [one, words]}))).json()).outputs[0].data[0] === (1 + at) ** 2;
  }));
  check(`${host}: a hundred at once`, many.every(Boolean), true);
}

async function refuses(host, url) {
  const x = {name: 'x', datatype: 'FP32', shape: [1, 3], data: [1, 2, 3]};
  for (const [name, body, status, says, headers] of [
    ['no JSON', '{', 400, 'JSON'],
    ['no inputs', '{}', 400, 'inputs'],
    ['a missing input', JSON.stringify({inputs: [x]}), 400, 'words'],
    ['another type', JSON.stringify({inputs: [{...x, datatype: 'INT8'}, words]}), 400, 'x'],
    ['another shape', JSON.stringify({inputs: [{...x, shape: [3]}, words]}), 400, 'x'],
    ['too few values', JSON.stringify({inputs: [{...x, data: [1]}, words]}), 400, 'x'],
    ['an unknown input', JSON.stringify({inputs: [x, words, {...x, name: 'z'}]}), 400, 'z'],
    ['no length', JSON.stringify({inputs: [x, words]}), 400, 'bytes', {'Inference-Header-Content-Length': 'x'}],
    ['a longer header', JSON.stringify({inputs: [x, words]}), 400, '', {'Inference-Header-Content-Length': '99999'}],
    ['a compressed body', 'x', 415, 'compressed', {'Content-Encoding': 'gzip'}],
  ]) {
    const answer = await infer(url, body, headers);
    const text = await answer.text();
    tally.record(`${host}: ${name}`, answer.status === status && JSON.parse(text).error.includes(says) ? undefined : `${answer.status} ${text}`);
  }
  const status = async (address, options) => (await fetch(url + address, options)).status;
  check(`${host}: other addresses and methods`, [await status('/'), await status('/v2/models/other'), await status('/v2/models/%'), await status('/v2/models/square/infer'),
    await status('/v2/models/square', {method: 'DELETE'}), await status('/v2/models/square/versions/2')], [404, 404, 400, 405, 405, 404]);
  const head = await fetch(`${url}/v2/models/square`, {method: 'HEAD'});
  check(`${host}: HEAD`, [head.status, await head.text()], [200, '']);
  check(`${host}: it lives on`, await status('/v2/health/live'), 200);
}

try {
  install('tools/setup/components.sh');
  const [wasmtime] = install('tools/setup/wasm_engines.sh').trim().split('\n').filter((file) => file.endsWith('wasmtime'));
  const file = writeModel();
  const none = compile(file, 'none', {PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`});
  tally.record('without tools it says which', none.status === 1 && none.stderr.includes('cargo install wasm-tools') ? undefined : none.stderr);
  for (const [target, more] of [['cpu', []], ['wasm', ['--weights', 'beside']]]) {
    const {status, stderr} = spawnSync(gossamer, ['compile', file, '--target', target, '--emit', 'component', '-o', path.join(work, 'x'), ...more], {encoding: 'utf8'});
    tally.record(`none for ${target} ${more.join(' ')}`, status === 1 && /are for --target wasm|weights inside/.test(stderr) ? undefined : stderr);
  }
  const made = compile(file, 'square');
  const component = path.join(work, 'square/square.wasm');
  tally.record('it compiles', made.status === 0 && existsSync(component) ? undefined : made.stderr);
  // A component, of version 13 and layer 1, where a module has version 1.
  check('it is a component', [...readFileSync(component).subarray(0, 8)], [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0]);
  for (const [host, program, args] of [
    ['wasmtime', path.join(root, wasmtime), (port) => ['serve', '--addr', `127.0.0.1:${port}`]],
    ['jco', path.join(tools, 'jco'), (port) => ['serve', '--host', '127.0.0.1', '--port', String(port)]],
  ]) {
    const {url, child} = await serve(program, args, component);
    await answers(host, url);
    await refuses(host, url);
    if (host === 'wasmtime') {
      const large = await infer(url, Buffer.alloc((64 << 20) + 1), {}).then(({status}) => status, (problem) => problem.message);
      check(`${host}: a body of more than 64 MiB`, large, 413);
    }
    process.kill(-child.pid);
  }
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  for (const child of children.filter(({exitCode, signalCode}) => exitCode === null && signalCode === null)) {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it has ended
    }
  }
  rmSync(work, {recursive: true, force: true});
}
tally.end();
