// Peers that know no token, come from elsewhere, or send what is no frame and no request.
import {createRequire} from 'node:module';
import net from 'node:net';
import path from 'node:path';
import {Client, frame, kinds} from './client.mjs';

const {WebSocket} = createRequire(path.resolve(import.meta.dirname, '../../web/package.json'))('ws');

// What becomes of a connection of a page of this origin: 'open' or the status.
const connect = (host, origin) => new Promise((resolve) => {
  const socket = new WebSocket(`ws://${host}/rpc`, {origin});
  socket.on('open', () => {
    resolve('open');
    socket.terminate();
  });
  socket.on('unexpected-response', (_, {statusCode}) => {
    resolve(statusCode);
    socket.terminate();
  });
  socket.on('error', () => {});
});

/** Pages of other origins may not connect, whatever they know. */
export async function otherOrigins(tally, address) {
  const {host} = new URL(address);
  for (const [origin, wanted] of [[undefined, 'open'], [`http://${host}`, 'open'], ['http://example.com', 403], ['null', 403],
    [`http://${host}.example.com`, 403], [`http://example.com/${host}`, 403], ['http://127.0.0.1:1', 403]]) {
    const got = await connect(host, origin);
    tally.record(`origin ${origin}`, got === wanted ? undefined : `${got}, not ${wanted}`);
  }
}

// The header alone of a message of so many bytes: whether the server ends the connection before any of them comes, within `seconds`.
async function announce(host, bytes, {before = [], seconds = 60} = {}) {
  const [name, port] = host.split(':');
  const socket = net.connect(Number(port), name);
  const key = Buffer.from('0123456789abcdef').toString('base64');
  socket.write(`GET /rpc HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`);
  // Binary, with a mask of zeros.
  const header = (length) => {
    if (length < 126) return Buffer.from([0x82, 0x80 | length, 0, 0, 0, 0]);
    const head = Buffer.alloc(14);
    head.set([0x82, 0x80 | 127]);
    head.writeBigUInt64BE(BigInt(length), 2);
    return head;
  };
  await new Promise((resolve) => socket.once('data', resolve));
  for (const message of before) {
    socket.write(Buffer.concat([header(message.length), message]));
    await new Promise((resolve) => socket.once('data', resolve));
  }
  socket.write(header(bytes));
  const timer = new Promise((resolve) => setTimeout(() => resolve('still open'), 1000 * seconds).unref());
  const ended = new Promise((resolve) => {
    socket.on('data', () => {});
    socket.on('close', () => resolve('ended'));
    socket.on('error', () => resolve('ended'));
  });
  const got = await Promise.race([ended, timer]);
  socket.destroy();
  return got;
}

export async function boundedFrames(tally, address) {
  const {host, searchParams} = new URL(address);
  const hello = (token) => frame(0, 1, kinds.request, {do: 'hello', protocol: 1, role: 'client', token});
  const known = [hello(searchParams.get('token'))];
  const check = async (name, got, wanted) => tally.record(name, (await got) === wanted ? undefined : `${await got}, not ${wanted}`);
  await check('a message of 1 MiB before the token ends its connection', announce(host, 2 ** 20), 'ended');
  await check('with the token it is waited for', announce(host, 2 ** 20, {before: known, seconds: 2}), 'still open');
  await check('one of more than 2 GiB ends its connection', announce(host, 2 ** 31 + 1, {before: known}), 'ended');
  await check('as does one whose size is none', announce(host, 2n ** 63n, {before: known}), 'ended');
}

// xorshift32: the same requests each time.
function numbers(seed) {
  let state = seed;
  return (most) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % most;
  };
}

// Requests as clients make them, with bytes of the JSON changed and fields of other kinds.
function* requests(count) {
  const random = numbers(11);
  const hash = 'ab'.repeat(32);
  const seeds = [
    {do: 'have', files: [{hash, bytes: 9}]},
    {do: 'put', hash, at: 0, bytes: 9},
    {do: 'load', target: 'wasm', threads: 1, files: [{name: 'manifest.json', hash}]},
    {do: 'load', target: 'cpu', files: [{name: '../manifest.json', hash}]},
    {do: 'run', model: 1, runs: 1, inputs: [{name: 'x', dtype: 'f32', shape: [2], bytes: 8}]},
    {do: 'free', model: 1},
  ];
  const odd = [null, -1, 1e300, 2 ** 53, '', 'x', [], {}, [[]], true, '../../x', [{}], [{name: 1}]];
  for (let turn = 0; turn < count; ++turn) {
    const seed = structuredClone(seeds[random(seeds.length)]);
    const keys = Object.keys(seed);
    if (random(2) === 0) seed[keys[random(keys.length)]] = odd[random(odd.length)];
    const text = Buffer.from(JSON.stringify(seed));
    for (let changes = random(3); changes > 0; --changes) text[random(text.length)] = random(256);
    yield [text.toString('latin1'), Buffer.alloc(random(12))];
  }
}

/** Malformed requests are answered with errors, and the device lives on. */
export async function malformedRequests(tally, address, number, name) {
  const client = await Client.open(address);
  const pending = [...requests(400)].map(([json, payload]) => client.ask(number, json, payload));
  const answers = await Promise.race([Promise.all(pending), new Promise((resolve) => setTimeout(resolve, 120_000, []).unref())]);
  const kinds_of = answers.map((answer) => answer?.kind);
  const well = answers.length === 400 && kinds_of.every((kind) => kind === kinds.answer || kind === kinds.error);
  tally.record(`${name} answers malformed requests`, well ? undefined : `${answers.length} answers: ${[...new Set(kinds_of)]}`);
  const refused = answers.filter((answer) => answer?.kind === kinds.error && answer.json.message);
  tally.record(`${name} refuses them`, refused.length > 200 ? undefined : `${refused.length} of ${answers.length}`);
  const asked = await client.ask(number, {do: 'have', files: []});
  tally.record(`${name} lives on`, asked?.kind === kinds.answer ? undefined : JSON.stringify(asked));
  await client.close();
}
