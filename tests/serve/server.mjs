// A server of this suite: started, asked, ended.
import {spawn} from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');

export class Server {
  /** Starts `gossamer serve` on a free port; resolves when it listens, or when it has ended. */
  static async start(args, env = {}) {
    const server = new Server();
    server.process = spawn(gossamer, ['serve', '--port', '0', ...args], {env: {...process.env, ...env}});
    server.log = '';
    server.process.stderr.on('data', (data) => (server.log += data));
    server.ended = new Promise((resolve) => server.process.on('exit', (code, signal) => resolve(code ?? signal)));
    server.timer = setTimeout(() => server.process.kill('SIGKILL'), 300_000);
    await Promise.race([
      server.ended,
      new Promise((resolve) => server.process.stdout.on('data', (data) => {
        server.url = data.toString().trim();
        server.port = Number(new URL(server.url).port);
        resolve();
      })),
    ]);
    return server;
  }

  /** Ends it as an operator does; gives its exit code. */
  async end(signal = 'SIGTERM') {
    this.process.kill(signal);
    const code = await this.ended;
    clearTimeout(this.timer);
    return code;
  }

  async ask(method, target, {body, headers} = {}) {
    const response = await fetch(this.url + target, {method, body, headers, signal: AbortSignal.timeout(120_000)});
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString();
    let json;
    try {
      json = JSON.parse(text);
    } catch {}
    return {status: response.status, headers: response.headers, bytes, text, json};
  }

  infer(model, inputs, rest = {}, options = {}) {
    return this.ask('POST', `/v2/models/${model}/infer`, {...options, body: JSON.stringify({inputs, ...rest})});
  }

  /** An infer request whose tensors follow the JSON: inputs with `bytes`. */
  inferBinary(model, inputs, rest = {}) {
    const json = Buffer.from(JSON.stringify({
      ...rest,
      inputs: inputs.map(({bytes, ...input}) => ({...input, parameters: {binary_data_size: bytes.length}})),
    }));
    return this.ask('POST', `/v2/models/${model}/infer`, {
      body: Buffer.concat([json, ...inputs.map(({bytes}) => bytes)]),
      headers: {'Inference-Header-Content-Length': String(json.length), 'Content-Type': 'application/octet-stream'},
    });
  }

  /** What the server sends to a client that writes `text` and no more, until it closes. */
  raw(text, {half = false} = {}) {
    return new Promise((resolve) => {
      const socket = net.connect(this.port, '127.0.0.1');
      let answer = '';
      socket.on('data', (data) => (answer += data));
      socket.on('close', () => resolve(answer));
      socket.on('error', () => resolve(answer));
      socket.write(text);
      if (half) socket.end();
    });
  }

  /** Answers of `count` requests on each of `clients` connections at once. */
  async load(clients, count, target, body) {
    const agent = new http.Agent({keepAlive: true, maxSockets: clients});
    const one = (at) => new Promise((resolve) => {
      const request = http.request(this.url + target, {method: 'POST', agent, timeout: 120_000}, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => resolve({status: response.statusCode, text: Buffer.concat(chunks).toString()}));
      });
      request.on('error', (error) => resolve({status: 0, text: error.message}));
      request.on('timeout', () => request.destroy(new Error('timed out')));
      request.end(body(at));
    });
    const answers = [];
    await Promise.all(Array.from({length: clients}, async (_, client) => {
      for (let turn = 0; turn < count; turn++) {
        const at = client * count + turn;
        answers[at] = await one(at);
      }
    }));
    agent.destroy();
    return answers;
  }
}
