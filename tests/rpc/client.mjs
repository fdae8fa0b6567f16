// A client of an RPC server that says what it is told to, right or wrong (docs/specs/rpc.md).
import {createRequire} from 'node:module';
import path from 'node:path';

const {WebSocket} = createRequire(path.resolve(import.meta.dirname, '../../web/package.json'))('ws');

export const kinds = {request: 0, answer: 1, error: 2, progress: 3, gone: 4};

export function frame(peer, id, kind, json, payload = Buffer.alloc(0)) {
  const text = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  const prefix = Buffer.alloc(16);
  [peer, id, kind, text.length].forEach((word, at) => prefix.writeUInt32LE(word, 4 * at));
  return Buffer.concat([prefix, text, payload]);
}

export class Client {
  #waiting = new Map();
  #next = 1;
  /** `address`: rpc://HOST:PORT?token=TOKEN. */
  static async open(address, {hello = {}, role = 'client'} = {}) {
    const client = new Client();
    const {host, searchParams} = new URL(address);
    client.socket = new WebSocket(`ws://${host}/rpc`, {perMessageDeflate: false, maxPayload: 2 ** 30});
    client.closed = new Promise((resolve) => client.socket.on('close', resolve));
    client.socket.on('error', () => {});
    client.socket.on('message', (data) => {
      const [peer, id, kind, length] = [0, 4, 8, 12].map((at) => data.readUInt32LE(at));
      const message = {peer, id, kind, json: JSON.parse(data.subarray(16, 16 + length)), payload: data.subarray(16 + length)};
      if (kind === kinds.request || kind === kinds.gone) client.onRequest?.(message);
      else {
        this.last = message;
        client.#waiting.get(id)?.(message);
        client.#waiting.delete(id);
      }
    });
    await new Promise((resolve) => client.socket.on('open', resolve));
    client.hello = await client.ask(0, {do: 'hello', protocol: 1, role, token: searchParams.get('token'), ...hello});
    return client;
  }

  /** Resolves with the answer, be it an error; undefined where the connection ends first. */
  ask(peer, json, payload) {
    const id = this.#next++;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.socket.send(frame(peer, id, kinds.request, json, payload));
    return Promise.race([answer, this.closed.then(() => undefined)]);
  }

  close() {
    this.socket.terminate();
    return this.closed;
  }
}
