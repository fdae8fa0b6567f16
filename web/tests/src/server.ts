/** A local server for test pages: cross-origin isolated, and only what was put there. */
import {createReadStream, statSync} from 'node:fs';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import {extname, join, normalize} from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
  '.png': 'image/png',
};

/** Answers a request below a prefix; `rest` is the path after it. */
export type Handler = (
  rest: string,
  request: IncomingMessage,
  response: ServerResponse,
) => void | Promise<void>;

export interface Server {
  readonly origin: string;
  /** Requests to /prefix/... ; a string or bytes answer themselves, a handler does it otherwise. */
  put(prefix: string, content: Handler): void;
  remove(prefix: string): void;
  close(): void;
}

function serveFile(file: string, response: ServerResponse): void {
  const stat = statSync(file, {throwIfNoEntry: false});
  if (!stat?.isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.setHeader('Content-Type', TYPES[extname(file)] ?? 'application/octet-stream');
  response.setHeader('Content-Length', stat.size);
  createReadStream(file).pipe(response);
}

/** The files below a folder, and nothing outside of it. */
export function folder(root: string): Handler {
  return (rest, _request, response) => {
    const path = normalize(`/${decodeURIComponent(rest)}`);
    serveFile(join(root, path), response);
  };
}

export const file =
  (path: string): Handler =>
  (_rest, _request, response) =>
    serveFile(path, response);

export const text =
  (content: string | Uint8Array, type: string): Handler =>
  (_rest, _request, response) => {
    response.setHeader('Content-Type', type);
    response.end(content);
  };

/** The body of a request, whole. */
export async function body(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

export interface ServerOptions {
  /** False: the pages are not cross-origin isolated, so there are no threads. */
  readonly isolated?: boolean;
}

export async function startServer({isolated = true}: ServerOptions = {}): Promise<Server> {
  const handlers = new Map<string, Handler>();
  const server = createServer((request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const prefix = [...handlers.keys()]
      .filter((each) => path === each || path.startsWith(each.endsWith('/') ? each : `${each}/`))
      .sort((a, b) => b.length - a.length)[0];
    const handler = prefix === undefined ? undefined : handlers.get(prefix);
    if (prefix === undefined || !handler) {
      response.writeHead(404).end();
      return;
    }
    Promise.resolve(handler(path.slice(prefix.length), request, response)).catch((problem) => {
      response.writeHead(500).end(String(problem));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    put: (prefix, content) => handlers.set(prefix, content),
    remove: (prefix) => handlers.delete(prefix),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
