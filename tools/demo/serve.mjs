#!/usr/bin/env node
// Serves the demo's pages on this machine: node tools/demo/serve.mjs [FOLDER] [--port N]
// The two Cross-Origin headers make the pages isolated, which is what threads in wasm need.
import {createReadStream, existsSync, realpathSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** The file that an address names; undefined where there is none below the folder. */
function fileAt(folder, address) {
  let name;
  try {
    name = decodeURIComponent(address);
  } catch {
    return undefined;
  }
  if (name.includes('\0')) return undefined;
  const file = path.join(folder, path.posix.normalize(`/${name}`));
  return existsSync(file) ? file : undefined;
}

/** Answers requests with what lies in a folder; `pathname` is the request's path below it. */
export function folderHandler(folder) {
  const root = path.resolve(folder);
  return (pathname, request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405).end();
      return;
    }
    let file = fileAt(root, pathname);
    if (file && statSync(file).isDirectory()) {
      if (!pathname.endsWith('/')) {
        const [, ...query] = (request.url ?? '').split('?');
        response.writeHead(302, {Location: [`${path.posix.basename(pathname)}/`, ...query].join('?')}).end();
        return;
      }
      file = path.join(file, 'index.html');
    }
    if (!file || !existsSync(file)) {
      response.writeHead(404, {'Content-Type': 'text/plain'}).end('Not found\n');
      return;
    }
    response.setHeader('Content-Type', types[path.extname(file)] ?? 'application/octet-stream');
    response.setHeader('Content-Length', statSync(file).size);
    if (request.method === 'HEAD') response.end();
    else createReadStream(file).pipe(response);
  };
}

/**
 * Serves a folder, and below each prefix ('/name/') of `handlers` what its handler answers; resolves with the server and its address.
 * Port 0: any free one.
 */
export function serve(folder, port = 0, handlers = {}) {
  const all = {...handlers, '/': folderHandler(folder)};
  const server = createServer((request, response) => {
    const [pathname = '/'] = (request.url ?? '/').split('?');
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    const prefix = Object.keys(all).find((each) => pathname.startsWith(each)) ?? '/';
    const answer = async () => all[prefix](pathname.slice(prefix.length - 1), request, response);
    answer().catch((problem) => {
      process.stderr.write(`serve: ${pathname}: ${problem.message}\n`);
      response.writeHead(500).end();
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () =>
      resolve({server, address: `http://localhost:${server.address().port}/`}),
    );
  });
}

async function main(words) {
  const at = words.indexOf('--port');
  const port = at < 0 ? 8080 : Number(words.splice(at, 2)[1]);
  const folder = words[0] ?? 'build/demo';
  if (!(Number.isInteger(port) && port >= 0 && port < 65536) || words.length > 1) {
    process.stderr.write('serve: node tools/demo/serve.mjs [FOLDER] [--port N]\n');
    return 2;
  }
  if (!existsSync(folder)) {
    process.stderr.write(`serve: ${folder} is not there: run make demo first\n`);
    return 1;
  }
  try {
    const {address} = await serve(folder, port);
    process.stdout.write(`${folder} is at ${address} (Ctrl+C ends it)\n`);
    return undefined;
  } catch (problem) {
    const hint = problem.code === 'EADDRINUSE' ? `port ${port} is taken: give another --port` : problem.message;
    process.stderr.write(`serve: ${hint}\n`);
    return 1;
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2));
}
