// gossamer rpc: pages, Node.js and native programs as devices of the command line; a page that is reloaded; peers that
// behave badly; the CPU time of files that go to a device.
//
//   node tests/rpc/suite.mjs
import {spawn, spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';
import {graph, model, node, npyOf, value} from '../cli/models.mjs';
import {makeCases} from '../conformance/onnx_package.mjs';
import {Tally} from '../tally.mjs';
import {Client, frame, kinds} from './client.mjs';
import {cpuOf} from './cpu_time.mjs';
import {boundedFrames, malformedRequests, otherOrigins} from './hostile.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const {chromium} = createRequire(path.join(root, 'web/package.json'))('playwright-core');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-rpc-'));
const tally = new Tally();
const children = [];

const check = (name, got, wanted) => {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  tally.record(name, a === b ? [] : [`${a?.slice(0, 400)}, not ${b?.slice(0, 400)}`]);
};
const contains = (name, text, ...words) =>
  tally.record(name, words.filter((word) => !text?.includes(word)).map((word) => `no "${word}" in ${text?.slice(0, 300)}`));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function start(program, ...args) {
  const child = spawn(program, args, {stdio: ['ignore', 'pipe', 'pipe']});
  children.push(child);
  child.log = '';
  child.stderr.on('data', (data) => (child.log += data));
  child.ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  return child;
}

async function startServer(port = '0', ...args) {
  const server = start(gossamer, 'rpc', '--port', port, ...args);
  const line = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(data.toString().trim())));
  return {server, address: line, at: (name) => line.replace('?', `/${name}?`)};
}

const run = (...args) => new Promise((resolve) => {
  const child = start(gossamer, ...args);
  let stdout = '';
  child.stdout.on('data', (data) => (stdout += data));
  const timer = setTimeout(() => child.kill('SIGKILL'), 300_000);
  child.ended.then((code) => {
    clearTimeout(timer);
    resolve({code, stdout, stderr: child.log});
  });
});

async function until(what, holds, ms = 120_000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) if (await holds()) return;
  throw new Error(`waited for ${what} in vain`);
}

const devices = async (address) => (await run('rpc', '--list', address)).stdout;

// Models of this suite: enough operators to see that all of a run arrives.
function writeModels() {
  const file = path.join(work, 'layer.onnx');
  writeFileSync(file, model({
    nodes: [node('MatMul', ['x', 'x'], ['p']), node('Softmax', ['p'], ['y']), node('Identity', ['words'], ['same'])],
    inputs: [value('x', 'f32', ['N', 'N']), value('words', 'string', [2])],
    outputs: [value('y', 'f32', ['N', 'N']), value('same', 'string', [2])],
  }));
  return file;
}

const samples = ['test_softmax_axis', 'test_loop', 'test_if', 'test_string_concat'];

async function conformance(name, target, at) {
  for (const filter of samples) {
    const {code, stdout} = await run('test', path.join(makeCases(), 'node'), '--filter', filter, '--target', target,
      '--device', at(name), '--limit', '4');
    const [, passed, failed] = /(\d+) passed, (\d+) failed/.exec(stdout) ?? [];
    tally.record(`${filter}: ${target} on ${name}`, code === 0 && Number(passed) > 0 && failed === '0' ? [] : [stdout.slice(-300)]);
  }
}

async function measured(name, target, at, file) {
  const inputs = ['--dim', 'N=64'];
  const bench = await run('bench', file, '--target', target, '--device', at(name), '--json', ...inputs);
  const times = bench.code === 0 ? JSON.parse(bench.stdout) : {};
  tally.record(`${target} on ${name} is timed`, times.runMs > 0 && times.runs === 10 ? [] : [bench.stdout + bench.stderr]);
  const profile = await run('bench', file, '--target', target, '--device', at(name), '--profile', ...inputs);
  contains(`${target} on ${name} is profiled`, profile.stdout, 'kernel', 'ms');
}

// What is there already is not sent again: the second client's files are the same.
async function onlyWhatChanged(address, number) {
  const client = await Client.open(address);
  const bytes = Buffer.from('some file');
  const hash = createHash('sha256').update(bytes).digest('hex');
  const asks = {do: 'have', files: [{hash, bytes: bytes.length}]};
  check('a new file is missing', (await client.ask(number, asks)).json.missing, [hash]);
  check('it is taken', (await client.ask(number, {do: 'put', hash, at: 0, bytes: bytes.length}, bytes)).kind, kinds.answer);
  const other = await Client.open(address);
  check('and is there for others', (await other.ask(number, asks)).json.missing, []);
  const wrong = await client.ask(number, {do: 'put', hash: 'ab'.repeat(32), at: 0, bytes: 3}, Buffer.from('abc'));
  contains('a file of another hash is refused', wrong.json.message, 'other bytes');
  const late = await client.ask(number, {do: 'put', hash, at: 5, bytes: 9}, bytes);
  contains('a piece out of order is refused', late.json.message, 'order');
  contains('no such model', (await client.ask(number, {do: 'run', model: 99, runs: 1, inputs: []})).json.message, 'no such model');
  contains('no such request', (await client.ask(number, {do: 'dance'})).json.message, 'does not know');
  const many = await Promise.all(Array.from({length: 200}, () => client.ask(number, asks)));
  check('many requests in flight', many.every(({kind}) => kind === kinds.answer), true);
  await client.close();
  await other.close();
}

// As a search loads candidates: one's files are still there when another comes, and go when a third does.
async function oneAfterAnother(address, number, name, target) {
  const client = await Client.open(address);
  const packages = [];
  for (const kind of ['Relu', 'Neg']) {
    const file = path.join(work, `${kind}.onnx`);
    const folder = path.join(work, `${kind}_${target}`);
    writeFileSync(file, model({nodes: [node(kind, ['x'], ['y'])], inputs: [value('x', 'f32', [4])], outputs: [value('y', 'f32', [4])]}));
    await run('compile', file, '--target', target, '--output', folder);
    const files = readdirSync(folder).map((one) => ({name: one, bytes: readFileSync(path.join(folder, one))}));
    packages.push(files.map((one) => ({...one, hash: createHash('sha256').update(one.bytes).digest('hex')})));
  }
  for (const {hash, bytes} of packages.flat())
    await client.ask(number, {do: 'put', hash, at: 0, bytes: bytes.length}, bytes);
  const answers = [];
  for (const at of [0, 1, 0, 0, 1]) {
    const files = packages[at].map(({name, hash}) => ({name, hash}));
    const {kind, json} = await client.ask(number, {do: 'load', target, threads: 1, files});
    answers.push(kind === kinds.answer ? 'loaded' : json.message);
    if (kind === kinds.answer) await client.ask(number, {do: 'free', model: json.model});
  }
  check(`packages are loaded one after another on ${name}`, answers, Array(5).fill('loaded'));
  await client.close();
}

// Sends a device pieces of a file, of which it has one at a time: another one each turn, and never a whole one, so that no hash is computed.
async function sendPieces(client, number, turn) {
  const piece = Buffer.alloc(4 << 20, 7);
  const hash = String(turn % 4).repeat(64);
  const bytes = 16 * piece.length + turn + 1;
  const answers = await Promise.all(Array.from({length: 16}, (_, at) =>
    client.ask(number, {do: 'put', hash, at: at * piece.length, bytes}, piece)));
  if (!answers.every(({kind}) => kind === kinds.answer)) throw new Error(`a piece was refused: ${JSON.stringify(answers.at(-1)?.json)}`);
}

// CPU time, by that of a peer of Node.js that takes the same pieces. `programs`: the server and the device. `most`: how many times as
// long they may take.
async function speed(address, number, name, programs, most) {
  const client = await Client.open(address);
  const peer = start(process.execPath, path.join(import.meta.dirname, 'reference_peer.mjs'));
  const reference = await Client.open(await new Promise((resolve) => peer.stdout.once('data', (data) => resolve(data.toString().trim()))));
  const ratios = [];
  let seconds = 0;
  for (let turn = 0; turn < 12; ++turn) {
    const [before, begin] = [cpuOf(programs), performance.now()];
    await sendPieces(client, number, turn);
    const [device, middle] = [cpuOf(programs) - before, cpuOf([peer.pid])];
    seconds += (performance.now() - begin) / 1e3;
    await sendPieces(reference, 1, turn);
    if (turn >= 3) ratios.push(device / (cpuOf([peer.pid]) - middle));
  }
  const ratio = ratios.toSorted((a, b) => a - b)[ratios.length >> 1];
  console.log(`files to ${name}: ${((12 * 16 * 4.194) / seconds).toFixed(0)} MB/s, ${ratio.toFixed(2)} times the CPU time of Node.js`);
  tally.record(`files to ${name} take at most ${most} times the CPU time of Node.js`, ratio <= most ? [] : [`${ratio.toFixed(2)} times`]);
  await client.close();
  await reference.close();
  peer.kill('SIGKILL');
}

// A run that does not end, and one that ends the program: the device is there again, with no hand of anyone.
async function goesOn(device, at, file) {
  const endless = path.join(work, 'endless.onnx');
  const body = graph({
    nodes: [node('Identity', ['on'], ['on_out']), node('Add', ['s', 's'], ['s_out'])],
    inputs: [value('i', 'i64', []), value('on', 'bool', []), value('s', 'f32', [2])],
    outputs: [value('on_out', 'bool', []), value('s_out', 'f32', [2])],
  });
  writeFileSync(endless, model({
    nodes: [node('Loop', ['times', '', 'x'], ['y'], {graphs: {body}})],
    inputs: [value('times', 'i64', []), value('x', 'f32', [2])],
    outputs: [value('y', 'f32', [2])],
  }));
  const times = path.join(work, 'times.npy');
  writeFileSync(times, npyOf('<i8', [], Buffer.from(BigInt64Array.of(2_000_000_000n).buffer)));
  const x = path.join(work, 'x.npy');
  writeFileSync(x, npyOf('<f4', [2], Buffer.alloc(8)));
  const given = ['--target', 'cpu', '--input', `times=${times}`, '--input', `x=${x}`, '--timeout', '1'];
  const here = await run('run', endless, ...given);
  check('a run has a limit here', here.code, 1);
  contains('and says so', here.stderr, 'took longer than 1 s');
  const works = async (why) => {
    const {code, stderr} = await run('bench', file, '--target', 'cpu', '--device', at('native'), '--json', '--dim', 'N=8');
    check(`the device works ${why}`, code === 0 ? 0 : stderr, 0);
  };
  const there = await run('bench', endless, '--device', at('native'), ...given);
  check('and there', there.code, 1);
  contains('which says so', there.stderr, 'native: took longer than 1 s');
  await works('after a run that did not end');
  const {stdout} = spawnSync('pgrep', ['-P', String(device.pid)], {encoding: 'utf8'});
  check('a device is a process below its program', Number(stdout) > 0, true);
  process.kill(Number(stdout), 'SIGABRT');
  await until('the device to leave', () => device.log.includes('the device ended: Aborted'));
  await works('after it crashed');
}

async function badPeers(address) {
  const open = (options) => Client.open(address, options);
  const wrongToken = await Client.open(address.replace(/token=.*/, 'token=guess'));
  contains('a wrong token', wrongToken.hello.json.message, 'token is wrong');
  await wrongToken.closed;
  contains('another version', (await open({hello: {protocol: 99}})).hello.json.message, 'version 1');
  contains('another role', (await open({hello: {role: 'admin'}})).hello.json.message, 'client or device');
  const silent = await open({hello: {do: 'list'}});
  contains('no hello', silent.hello.json.message, 'hello');
  const client = await open();
  contains('a device that is not there', (await client.ask(77, {do: 'have', files: []})).json.message, 'left');
  contains('the server does not run', (await client.ask(0, {do: 'run'})).json.message, 'hello, list and wait');
  contains('nobody of this name', (await client.ask(0, {do: 'wait', name: 'nobody', seconds: 0.1})).json.message, 'nobody');
  client.socket.send(Buffer.from('short'));
  await client.closed;
  const liar = await open();
  const lie = frame(0, 1, kinds.request, '{}');
  lie.writeUInt32LE(1e9, 12);
  liar.socket.send(lie);
  await liar.closed;
  tally.record('nonsense ends its own connection', []);
  // A device that answers what nobody asked, and one that goes while it is asked.
  const device = await open({role: 'device', hello: {name: 'odd', targets: ['cpu']}});
  device.socket.send(frame(1, 1, kinds.answer, {}));
  const asker = await open();
  const number = (await asker.ask(0, {do: 'wait', name: 'odd', seconds: 60})).json.number;
  device.onRequest = () => void device.close();
  const gone = await asker.ask(number, {do: 'have', files: []});
  contains('who goes is told of', gone.json.message, 'odd left while the request was under way');
  check('as that', gone.json.left, true);
  await asker.close();
}

async function commands(address, file) {
  const refused = (name, {code, stderr}, wanted, ...words) => {
    check(name, code, wanted);
    contains(`${name}: what it says`, stderr, ...words);
  };
  refused('no server', await run('bench', file, '--target', 'cpu', '--device', 'rpc://127.0.0.1:1/x?token=y'), 1, 'gossamer rpc');
  refused('no address', await run('bench', file, '--target', 'cpu', '--device', 'http://x'), 1, 'rpc://HOST:PORT');
  refused('wrong token', await run('rpc', '--list', address.replace(/token=.*/, 'token=guess')), 1, 'token is wrong');
  refused('join with a wrong token', await run('rpc', '--join', address.replace(/token=.*/, 'token=guess')), 1, 'token is wrong');
}

// In a browser that nobody watches: who drives one is sent every message of its pages.
async function pageSpeed(address, server) {
  const browser = start('/usr/bin/chromium', '--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', `--user-data-dir=${path.join(work, 'chromium')}`,
    `${address.replace('rpc:', 'http:').replace('?', '/?')}&name=alone`);
  const client = await Client.open(address);
  const {json} = await client.ask(0, {do: 'wait', name: 'alone', seconds: 120});
  await speed(address, json.number, 'a page', [server.pid, browser.pid], 4.5);
  await client.close();
  browser.kill('SIGKILL');
  await browser.ended;
}

async function pages(address, at, file) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--enable-unsafe-webgpu', '--disable-gpu-watchdog'],
    ignoreDefaultArgs: ['--disable-gpu', '--disable-software-rasterizer'],
  });
  try {
    const page = await browser.newPage();
    await page.goto(`${address.replace('rpc:', 'http:')}&name=page`.replace('?', '/?'));
    await page.waitForSelector('#status.joined');
    check('the page says what it has', await page.textContent('#targets'), 'webgpu, webgl, wasm');
    for (const target of ['wasm', 'webgl', 'webgpu']) {
      await conformance('page', target, at);
      await measured('page', target, at, file);
    }
    const there = (await (await Client.open(address)).ask(0, {do: 'wait', name: 'page', seconds: 60})).json.number;
    await malformedRequests(tally, address, there, 'page');
    contains('the page shows the last run', await page.textContent('#last'), 'ms on');
    if (process.env.GOSSAMER_SCREENSHOT) await page.screenshot({path: process.env.GOSSAMER_SCREENSHOT});
    const number = async () => {
      const client = await Client.open(address);
      const found = (await client.ask(0, {do: 'wait', name: 'page', seconds: 60})).json.number;
      await client.close();
      return found;
    };
    // Reloaded while it works: that request fails and says why, the next one is answered.
    const before = await number();
    const long = run('bench', file, '--target', 'wasm', '--device', at('page'), '--dim', 'N=512', '--runs', '100000');
    const busy = await Client.open(address);
    await until('the page to be busy', async () =>
      (await busy.ask(0, {do: 'list'})).json.devices.find(({name}) => name === 'page')?.pending > 0);
    await sleep(1000); // the load is done, and it runs
    await page.reload();
    const {code, stderr} = await long;
    check('a reload ends what is under way', code, 1);
    contains('and says so', stderr, 'page left while the request was under way', 'reloaded');
    await busy.close();
    const after = await number();
    check('it is another connection of the same name', after > before, true);
    const again = await run('bench', file, '--target', 'webgl', '--device', at('page'), '--json', '--dim', 'N=8');
    check('and works', again.code, 0);
  } finally {
    await browser.close();
  }
}

try {
  const file = writeModels();
  const {server, address, at} = await startServer();
  const native = start(gossamer, 'rpc', '--join', address, '--name', 'native');
  const joined = start(process.execPath, path.join(root, 'web/rpc/dist/join.mjs'), address, '--name', 'node');
  await until('two devices', async () => /native.*\n.*node|node.*\n.*native/.test(await devices(address)));
  const listed = await devices(address);
  contains('devices are listed', listed, `native  ${process.env.GOSSAMER_WASMTIME_LIBRARY ? 'cpu,wasm' : 'cpu'}  gossamer`, 'node  wasm  Node.js');
  const {json} = await (await Client.open(address)).ask(0, {do: 'list'});
  for (const {name, number} of json.devices) {
    await onlyWhatChanged(address, number);
    await malformedRequests(tally, address, number, name);
    await oneAfterAnother(address, number, name, name === 'native' ? 'cpu' : 'wasm');
    await speed(address, number, name, [server.pid, (name === 'native' ? native : joined).pid], 2.6);
  }
  await conformance('native', 'cpu', at);
  await conformance('node', 'wasm', at);
  await measured('native', 'cpu', at, file);
  await measured('node', 'wasm', at, file);
  const second = start(gossamer, 'rpc', '--join', address, '--name', 'native');
  await until('a second native', async () => (await devices(address)).includes('native-2'));
  tally.record('two of one name are told apart', []);
  second.kill();
  await commands(address, file);
  await goesOn(native, at, file);
  await badPeers(address);
  await otherOrigins(tally, address);
  await boundedFrames(tally, address);
  await pageSpeed(address, server);
  await pages(address, at, file);
  // Devices find a server that comes back at the same address.
  const {port, searchParams} = new URL(address);
  server.kill('SIGTERM');
  check('the server ends', await server.ended, 0);
  await startServer(port, '--token', searchParams.get('token'));
  await until('the devices to come back', async () => (await devices(address)).includes('native'));
  tally.record('devices come back', []);
  check('a device lives on', native.exitCode, null);
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(work, {recursive: true, force: true, maxRetries: 10, retryDelay: 200});
}
tally.end();
