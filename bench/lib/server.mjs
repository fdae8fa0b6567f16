// Serves the page and its folders on this machine, cross-origin isolated (clocks are finer there, and threads need
// it), and is told by the page how far it is.
import {createReadStream, existsSync, readFileSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';
import {gzipSync} from 'node:zlib';
import {bench} from './layout.mjs';

const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json'};

/** The file of an address: the longest first parts that `folders` names, below which nothing gets out. */
export function fileOf(folders, path) {
  const parts = normalize(decodeURIComponent(path)).split('/').filter(Boolean);
  for (let length = parts.length; length >= 0; --length) {
    const folder = folders[parts.slice(0, length).join('/')];
    if (folder !== undefined) return join(folder, ...parts.slice(length));
  }
  return undefined;
}

/** Bytes of files that were served to a party: code, after gzip, and weights. What the benchmark itself needs is not counted. */
export function fetchedBytes(files) {
  const theirs = [...files].filter((file) => existsSync(file) && !/\.in\d+$/.test(file) && (!file.startsWith(bench) || /node_modules|packages-/.test(file)));
  const weights = theirs.filter((file) => /\.(safetensors|onnx|tflite)$/.test(file));
  const sum = (list, size) => list.reduce((total, file) => total + size(file), 0);
  const code = theirs.filter((file) => !weights.includes(file));
  return {code: sum(code, (file) => gzipSync(readFileSync(file)).length), weights: sum(weights, (file) => statSync(file).size)};
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/**
 * folders: {address: folder}. answers: {'/path': async (posted JSON, undefined for GET) => JSON}; what they throw
 * is answered as {error: message}.
 * Gives {origin, served: the files so far, close()}.
 */
export async function serve(folders, answers = {}) {
  const served = new Set();
  const server = createServer(async (request, response) => {
    const {pathname} = new URL(request.url, 'http://x');
    const isolated = {'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp', 'Cache-Control': 'no-cache'};
    if (answers[pathname]) {
      const posted = request.method === 'POST' ? JSON.parse(await bodyOf(request)) : undefined;
      let answer;
      try {
        answer = await answers[pathname](posted);
      } catch (problem) {
        answer = {error: problem.message};
      }
      response.writeHead(200, {...isolated, 'Content-Type': 'application/json'});
      response.end(JSON.stringify(answer ?? null));
      return;
    }
    const file = fileOf(folders, pathname);
    const found = file !== undefined && existsSync(file) && statSync(file).isFile();
    response.writeHead(found ? 200 : 404, {...isolated, 'Content-Type': TYPES[extname(file ?? '')] ?? 'application/octet-stream'});
    if (found) {
      served.add(file);
      createReadStream(file).pipe(response);
    } else {
      response.end();
    }
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    served,
    origin: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
