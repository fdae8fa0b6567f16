// gossamer serve, as its clients meet it: the Open Inference Protocol in JSON and binary, batching, metrics, limits,
// clients that behave badly, and a clean end.
//
//   node tests/serve/suite.mjs
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import {graph, model, node, npyOf, value} from '../cli/models.mjs';
import {Tally} from '../tally.mjs';
import {gossamer, Server} from './server.mjs';

const tally = new Tally();
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-serve-'));
const file = (name) => path.join(work, name);

const check = (name, got, wanted) => {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  tally.record(name, a === b ? [] : [`${a.slice(0, 400)}, not ${b.slice(0, 400)}`]);
};
const status = (name, answer, wanted, ...words) => tally.record(name, [
  ...(answer.status === wanted ? [] : [`status ${answer.status}, not ${wanted}: ${answer.text.slice(0, 200)}`]),
  ...words.filter((word) => !answer.text.includes(word)).map((word) => `no "${word}" in ${answer.text.slice(0, 300)}`),
]);

const f32 = (name, shape, data) => ({name, datatype: 'FP32', shape, data});

// twice: y[N, 3] = x + x. rows: softmax along N, so that rows depend on each other. words: strings as they are.
function writeModels() {
  writeFileSync(file('twice.onnx'), model({
    nodes: [node('Add', ['x', 'x'], ['y'])],
    inputs: [value('x', 'f32', ['N', 3])], outputs: [value('y', 'f32', ['N', 3])],
  }));
  writeFileSync(file('rows.onnx'), model({
    nodes: [node('Softmax', ['x'], ['y'], {integers: {axis: 0}})],
    inputs: [value('x', 'f32', ['N', 3])], outputs: [value('y', 'f32', ['N', 3])],
  }));
  writeFileSync(file('words.onnx'), model({
    nodes: [node('Identity', ['x'], ['y']), node('Identity', ['n'], ['m'])],
    inputs: [value('x', 'string', ['N']), value('n', 'i64', [2])],
    outputs: [value('y', 'string', ['N']), value('m', 'i64', [2])],
  }));
  writeFileSync(file('kinds.onnx'), model({
    nodes: ['b', 'h', 'u'].map((name) => node('Identity', [name], [`${name}2`])),
    inputs: [value('b', 'bool', [2]), value('h', 'f16', [2]), value('u', 'u8', [2])],
    outputs: [value('b2', 'bool', [2]), value('h2', 'f16', [2]), value('u2', 'u8', [2])],
  }));
  // As many products of small matrices as a request says: runs are long, and requests short.
  const going = {inputs: [value('i', 'i64', []), value('c', 'bool', []), value('a', 'f32', [64, 64])],
    outputs: [value('c2', 'bool', []), value('b', 'f32', [64, 64])]};
  const body = graph({nodes: [node('Identity', ['c'], ['c2']), node('MatMul', ['a', 'a'], ['b'])], ...going});
  writeFileSync(file('slow.onnx'), model({
    nodes: [node('Loop', ['n', '', 'x'], ['y'], {graphs: {body}})],
    inputs: [value('n', 'i64', []), value('x', 'f32', [64, 64])], outputs: [value('y', 'f32', [64, 64])],
  }));
}

async function protocol(server) {
  check('live', (await server.ask('GET', '/v2/health/live')).json, {live: true});
  check('ready', (await server.ask('GET', '/v2/health/ready')).json, {ready: true});
  const about = (await server.ask('GET', '/v2')).json;
  check('server', [about.name, about.extensions], ['gossamer', ['binary_tensor_data']]);
  check('model', (await server.ask('GET', '/v2/models/twice')).json, {
    name: 'twice', versions: ['1'], platform: 'gossamer_cpu',
    inputs: [{name: 'x', datatype: 'FP32', shape: [-1, 3]}], outputs: [{name: 'y', datatype: 'FP32', shape: [-1, 3]}],
  });
  status('model ready', await server.ask('GET', '/v2/models/twice/versions/1/ready'), 200, '"ready":true');

  const flat = await server.infer('twice', [f32('x', [2, 3], [1, 2, 3, 4, 5, 0.1])], {id: 'seven'});
  check('flat JSON', flat.json, {
    model_name: 'twice', model_version: '1', id: 'seven',
    outputs: [{name: 'y', datatype: 'FP32', shape: [2, 3], data: [2, 4, 6, 8, 10, 0.2]}],
  });
  const nested = await server.infer('twice', [f32('x', [2, 3], [[1, 2, 3], [4, 5, 6]])]);
  check('nested JSON', nested.json?.outputs?.[0]?.data, [2, 4, 6, 8, 10, 12]);
  check('no rows', (await server.infer('twice', [f32('x', [0, 3], [])])).json?.outputs?.[0]?.shape, [0, 3]);
  const strange = await server.ask('POST', '/v2/models/twice/infer', {
    body: '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [NaN, Infinity, -1e30]}]}',
  });
  check('NaN and infinity', strange.json?.outputs?.[0]?.data, [null, Infinity, -2e30]);

  const x = Buffer.from(new Float32Array([1, 2, 3]).buffer);
  const binary = await server.inferBinary('twice', [{name: 'x', datatype: 'FP32', shape: [1, 3], bytes: x}], {
    outputs: [{name: 'y', parameters: {binary_data: true}}],
  });
  const length = Number(binary.headers.get('inference-header-content-length'));
  check('binary', [...new Float32Array(new Uint8Array(binary.bytes.subarray(length)).buffer)], [2, 4, 6]);
  check('binary size', JSON.parse(binary.bytes.subarray(0, length)).outputs[0].parameters, {binary_data_size: 12});
  const all = await server.infer('twice', [f32('x', [1, 3], [1, 2, 3])], {parameters: {binary_data_output: true}});
  check('all outputs binary', all.bytes.length - Number(all.headers.get('inference-header-content-length')), 12);

  const n = {name: 'n', datatype: 'INT64', shape: [2], data: ['@', '@']};
  const words = await server.ask('POST', '/v2/models/words/infer', {
    body: JSON.stringify({inputs: [n, {name: 'x', datatype: 'BYTES', shape: [2], data: ['a', 'ü"']}]})
      .replace('"@","@"', '9007199254740993,-9223372036854775808'),
  });
  check('strings', words.json?.outputs?.find(({name}) => name === 'y')?.data, ['a', 'ü"']);
  tally.record('64-bit integers', words.text.includes('[9007199254740993,-9223372036854775808]') ? [] : [words.text]);
  const asked = await server.infer('words', [
    {...n, data: [1, 2]}, {name: 'x', datatype: 'BYTES', shape: [1], data: ['']},
  ], {outputs: [{name: 'm'}]});
  check('one output of two', asked.json?.outputs?.map(({name}) => name), ['m']);
  const text = Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.from('hi'), Buffer.from([0, 0, 0, 0])]);
  const bytes = await server.inferBinary('words', [
    {name: 'x', datatype: 'BYTES', shape: [2], bytes: text},
    {name: 'n', datatype: 'INT64', shape: [2], bytes: Buffer.from(new BigInt64Array([5n, 6n]).buffer)},
  ], {parameters: {binary_data_output: true}});
  const after = Number(bytes.headers.get('inference-header-content-length'));
  tally.record('binary strings', bytes.bytes.subarray(after).includes(text) ? [] : ['other bytes']);

  const kinds = await server.infer('kinds', [
    {name: 'b', datatype: 'BOOL', shape: [2], data: [true, false]},
    {name: 'h', datatype: 'FP16', shape: [2], data: [0.5, 2]},
    {name: 'u', datatype: 'UINT8', shape: [2], data: [0, 255]},
  ]);
  check('kinds', kinds.json?.outputs?.map(({data}) => data), [[true, false], [0.5, 2], [0, 255]]);
}

async function badRequests(server) {
  const x = (change) => [{...f32('x', [1, 3], [1, 2, 3]), ...change}];
  const refused = async (name, inputs, words, rest) =>
    status(name, await server.infer('twice', inputs, rest), 400, ...words);
  await refused('wrong name', x({name: 'z'}), ['no input', '\\"z\\"', 'it has \\"x\\"']);
  await refused('missing input', [], ['input \\"x\\"', 'is missing']);
  await refused('input twice', [...x(), ...x()], ['given twice']);
  await refused('wrong datatype', x({datatype: 'INT32'}), ['INT32', 'FP32']);
  await refused('unknown datatype', x({datatype: 'FP31'}), ['FP31', 'unknown']);
  await refused('wrong shape', x({shape: [1, 4], data: [1, 2, 3, 4]}), ['[1, 4]', '[?, 3]']);
  await refused('wrong rank', x({shape: [3]}), ['[3]', '[?, 3]']);
  await refused('negative extent', x({shape: [-1, 3]}), ['0 or greater']);
  await refused('too few elements', x({data: [1, 2]}), ['has 2 elements', 'has 3']);
  await refused('too many elements', x({shape: [2 ** 40, 3], data: [1]}), ['has 1 elements']);
  await refused('overflowing shape', x({shape: [2 ** 62, 3]}), ['too many elements']);
  await refused('wrong nesting', x({data: [[1, 2], [3]]}), ['nested']);
  await refused('deep nesting', x({data: [[[[[1]]]], 2, 3]}), ['nested']);
  await refused('no number', x({data: ['1', 2, 3]}), ['no number']);
  await refused('no data', x({data: undefined}), ['neither']);
  await refused('unknown output', x(), ['no output', 'it has \\"y\\"'], {outputs: [{name: 'q'}]});
  await refused('output twice', x(), ['asked for twice'], {outputs: [{name: 'y'}, {name: 'y'}]});
  await refused('bad id', x(), ['id'], {id: 7});
  const u8 = (data) => [
    {name: 'b', datatype: 'BOOL', shape: [2], data: [true, false]},
    {name: 'h', datatype: 'FP16', shape: [2], data: [0, 0]}, {name: 'u', datatype: 'UINT8', shape: [2], data},
  ];
  status('256 is no UINT8', await server.infer('kinds', u8([0, 256])), 400, 'no UINT8');
  status('1.5 is no UINT8', await server.infer('kinds', u8([0, 1.5])), 400, 'no UINT8');

  const post = (body, headers) => server.ask('POST', '/v2/models/twice/infer', {body, headers});
  status('no JSON', await post('hello'), 400, 'no JSON');
  status('cut JSON', await post('{"inputs": ['), 400, 'no JSON');
  status('no object', await post('[]'), 400, 'no JSON object');
  status('deep JSON', await post('['.repeat(2_000_000)), 400, 'no JSON');
  status('compressed', await post('x', {'Content-Encoding': 'gzip'}), 415);
  status('length of JSON is no number', await post('{}', {'Inference-Header-Content-Length': '2x'}), 400, 'no number');
  status('length of JSON is too long', await post('{}', {'Inference-Header-Content-Length': '9'}), 400, 'is 9');
  const short = [{name: 'x', datatype: 'FP32', shape: [1, 3], bytes: Buffer.alloc(8)}];
  status('binary is short', await server.inferBinary('twice', short), 400, 'has 8 bytes', 'has 12');
  const json = JSON.stringify({inputs: [{...f32('x', [1, 3]), data: undefined, parameters: {binary_data_size: 12}}]});
  const wrong = (tail) => post(Buffer.concat([Buffer.from(json), tail]), {'Inference-Header-Content-Length': json.length});
  status('binary is cut', await wrong(Buffer.alloc(4)), 400, '4 bytes are left');
  status('binary is long', await wrong(Buffer.alloc(16)), 400, '4 bytes behind');

  status('no such model', await server.infer('thrice', x()), 404, 'thrice');
  status('no such version', await server.ask('GET', '/v2/models/twice/versions/2'), 404);
  status('no such address', await server.ask('GET', '/v3'), 404);
  status('infer takes POST', await server.ask('GET', '/v2/models/twice/infer'), 405, 'POST');
  status('metadata takes GET', await server.ask('DELETE', '/v2/models/twice'), 405, 'GET');
  status('malformed address', await server.ask('GET', '/v2/models/%zz'), 400);
}

// Clients of the socket, not of HTTP.
async function badClients(server) {
  const starts = (name, answer, wanted) => tally.record(name, answer.startsWith(wanted) ? [] : [answer.slice(0, 200)]);
  starts('no HTTP', await server.raw('hello there\r\n\r\n'), 'HTTP/1.1 400');
  starts('long headers', await server.raw(`GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`), 'HTTP/1.1 431');
  starts('announced too long', await server.raw(
    'POST /v2/models/twice/infer HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n'), 'HTTP/1.1 413');
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  starts('chunks without end', await server.raw(
    'POST /v2/models/twice/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n' + chunk.repeat(40)), 'HTTP/1.1 413');
  check('request cut', await server.raw('POST /v2/models/twice/infer HTTP/1.1\r\nContent-Le', {half: true}), '');

  // A client that sends a byte now and then: the whole request has its time, however often it sends.
  const slow = new Promise((resolve) => {
    const socket = net.connect(server.port, '127.0.0.1');
    const begun = Date.now();
    const timer = setInterval(() => socket.write('x'), 100);
    socket.write('GET /v2 HTTP/1.1\r\nX: ');
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(Date.now() - begun);
    });
    socket.resume();
  });

  // Clients that go while their request runs.
  const body = JSON.stringify({inputs: [f32('x', [1, 3], [1, 2, 3])]});
  for (let at = 0; at < 100; at++) {
    const socket = net.connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`POST /v2/models/twice/infer HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`, () =>
      socket.resetAndDestroy());
  }
  const waited = await slow;
  tally.record('slow client', waited > 1500 && waited < 60_000 ? [] : [`closed after ${waited} ms, not about 2000`]);
  status('alive after all that', await server.infer('twice', [f32('x', [1, 3], [1, 2, 3])]), 200);
}

// A thousand clients that send nothing, within the time that each has for a request.
async function idleClients() {
  const server = await Server.start([file('twice.onnx'), '--read-timeout', '120']);
  const idle = await Promise.all(Array.from({length: 1000}, () => new Promise((resolve) => {
    const socket = net.connect(server.port, '127.0.0.1', () => resolve(socket));
    socket.on('error', () => resolve(socket));
  })));
  // Connected is what the system has taken; the server counts one when it gets to it, and the one that asks.
  let open = 0;
  for (const end = Date.now() + 120_000; open <= 1000 && Date.now() < end; ) {
    const metrics = await server.ask('GET', '/metrics');
    open = Number(/^gossamer_connections (\d+)$/m.exec(metrics.text)?.[1]);
  }
  tally.record('a thousand idle connections', open > 1000 ? [] : [`${open} connections`]);
  const answer = await server.infer('twice', [f32('x', [1, 3], [1, 2, 3])]);
  check('an answer beside them', answer.json?.outputs[0].data, [2, 4, 6]);
  check('ends with a thousand connected', await server.end(), 0);
  for (const socket of idle) socket.destroy();
}

async function batches() {
  const server = await Server.start([file('twice.onnx'), file('rows.onnx'), '--max-batch', '16', '--max-waiting', '1000']);
  const body = (at) => JSON.stringify({inputs: [f32('x', [1, 3], [at, at + 1, at + 2])]});
  for (const name of ['twice', 'rows']) {
    const answers = await server.load(200, 10, `/v2/models/${name}/infer`, body);
    const lost = answers.filter((answer) => answer.status !== 200).length;
    check(`${name}: nothing lost of 2000`, lost, 0);
    const wrong = answers.filter(({text}, at) => {
      const wanted = name === 'twice' ? [2 * at, 2 * at + 2, 2 * at + 4] : [1, 1, 1];
      return JSON.stringify(JSON.parse(text).outputs?.[0].data) !== JSON.stringify(wanted);
    });
    check(`${name}: every client has its own answer`, wrong.length, 0);
  }
  const {text} = await server.ask('GET', '/metrics');
  const count = (name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  const runs = count('gossamer_run_requests_count{model="twice"}');
  tally.record('requests were joined', runs < 1900 ? [] : [`${runs} runs of 2000 requests`]);
  check('requests are counted', count('gossamer_requests_total{model="twice",status="200"}'), 2000);
  check('the runs answered all', count('gossamer_run_requests_sum{model="twice"}'), 2000);
  tally.record('dependent rows are told', server.log.includes('rows: joined requests have other answers') ? [] : [server.log]);
  check('ends', await server.end(), 0);
}

async function limits() {
  const slow = (rounds) => JSON.stringify({inputs: [
    {name: 'n', datatype: 'INT64', shape: [], data: [rounds]}, f32('x', [64, 64], Array(64 * 64).fill(0))]});
  const server = await Server.start([file('slow.onnx'), '--max-waiting', '2', '--timeout', '0.5', '--threads', '1']);
  const target = '/v2/models/slow/infer';
  const warm = await server.ask('POST', target, {body: slow(1)});
  status('slow model', warm, 200);
  const big = slow(50_000);
  const answers = await Promise.all(Array.from({length: 6}, () => server.ask('POST', target, {body: big})));
  const codes = answers.map((answer) => answer.status).sort();
  tally.record('full queue', [
    ...(codes[0] === 200 ? [] : ['none was answered']),
    ...(codes.every((code) => code === 200 || code === 503) ? [] : [codes.join()]),
    ...(answers.some(({text}) => text.includes('too many requests wait')) ? [] : ['none was refused']),
  ]);
  const retry = answers.find(({text}) => text.includes('too many'));
  check('Retry-After', retry?.headers.get('retry-after'), '1');
  // What is under way is answered, and then the server has ended. It runs once another one waits.
  const last = [1, 2].map(() => server.ask('POST', target, {body: big}).catch(() => undefined));
  const waits = async () => /gossamer_waiting_requests\S* [1-9]/.test((await server.ask('GET', '/metrics')).text);
  while (!(await waits())) await new Promise((resolve) => setTimeout(resolve, 20));
  const code = server.end();
  const ends = await Promise.all(last);
  check('answered while ending', ends.some((answer) => answer?.status === 200), true);
  check('clean end', await code, 0);
}

async function tokens() {
  const server = await Server.start([`named=${file('twice.onnx')}`], {GOSSAMER_TOKEN: 'open sesame'});
  status('no token', await server.ask('GET', '/v2'), 401, 'Authorization');
  status('wrong token', await server.ask('GET', '/v2', {headers: {Authorization: 'Bearer open'}}), 401);
  status('token', await server.ask('GET', '/v2', {headers: {Authorization: 'Bearer open sesame'}}), 200);
  status('metrics want it too', await server.ask('GET', '/metrics'), 401);
  status('probes want none', await server.ask('GET', '/v2/health/ready'), 200);
  status('a name', await server.ask('GET', '/v2/models/named', {headers: {Authorization: 'Bearer open sesame'}}), 200);
  check('interrupted', await server.end('SIGINT'), 0);
}

async function usage() {
  const run = (...args) => spawnSync(gossamer, ['serve', ...args], {encoding: 'utf8', timeout: 120_000});
  const refused = (name, {status: code, stderr}, wanted, ...words) => tally.record(name, [
    ...(code === wanted ? [] : [`exit code ${code}, not ${wanted}`]),
    ...words.filter((word) => !stderr.includes(word)).map((word) => `no "${word}" in ${stderr}`),
  ]);
  refused('no model', run(), 2, 'models');
  refused('missing file', run(file('none.onnx')), 1, 'none.onnx', 'no such file');
  refused('two of one name', run(file('twice.onnx'), `twice=${file('rows.onnx')}`), 1, 'twice', 'NAME=FILE');
  refused('no address', run(file('twice.onnx'), '--host', 'nowhere'), 1, '--host nowhere');
  const server = await Server.start([file('twice.onnx')]);
  refused('port in use', run(file('twice.onnx'), '--port', String(server.port)), 1, 'in use', '--port');
  check('ends at once', await server.end(), 0);
}

// A real model gives what the command line gives.
async function realModel() {
  const digits = 'examples/digits/model.onnx';
  const folder = file('digits');
  const compiled = spawnSync(gossamer, ['compile', digits, '--target', 'cpu', '-o', folder], {encoding: 'utf8'});
  check('compiled', compiled.status, 0);
  const server = await Server.start([`${folder}/`]);
  const {inputs, outputs} = (await server.ask('GET', '/v2/models/digits')).json;
  const data = Float32Array.from({length: inputs[0].shape.reduce((a, b) => a * b)}, (_, at) => Math.sin(at));
  writeFileSync(file('x.npy'), npyOf('<f4', inputs[0].shape, Buffer.from(data.buffer)));
  const got = await server.infer('digits', [f32(inputs[0].name, inputs[0].shape, [...data])]);
  const ran = spawnSync(gossamer, ['run', folder, '--input', `${inputs[0].name}=${file('x.npy')}`, '--json'], {encoding: 'utf8'});
  const wanted = JSON.parse(ran.stdout).outputs[0].data.map(Math.fround);
  const found = got.json?.outputs?.[0]?.data.map(Math.fround);
  tally.record('a real model answers as the command line', wanted.length > 1 && wanted.join() === found.join() ? [] : [
    `${found.slice(0, 10)}, not ${wanted.slice(0, 10)}`]);
  check('its outputs', got.json?.outputs?.map(({name}) => name), outputs.map(({name}) => name));
  await server.end();
}

try {
  writeModels();
  await usage();
  const server = await Server.start(
    ['twice', 'words', 'kinds'].map((name) => file(`${name}.onnx`)).concat('--max-body', '2500000', '--read-timeout', '2'));
  await protocol(server);
  await badRequests(server);
  await badClients(server);
  check('ends with clients connected', await server.end(), 0);
  await idleClients();
  await batches();
  await limits();
  await tokens();
  await realModel();
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
