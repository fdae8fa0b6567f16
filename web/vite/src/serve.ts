/** Packages of models, from Vite's server. */
import type {Compiled} from './compiled.ts';
import type {Middleware} from './vite.ts';

const TYPES: Readonly<Record<string, string>> = {json: 'application/json', wasm: 'application/wasm'};

export const serveFiles = (ready: ReadonlyMap<string, Compiled>, base: () => string): Middleware => (request, response, next) => {
  const {pathname} = new URL(request.url ?? '', 'http://localhost');
  // Vite takes the base away before some middlewares, and not before others.
  const [, name = '', file = ''] = /^\/@gossamer\/([^/]+)\/(.*)$/.exec(pathname.startsWith(base()) ? `/${pathname.slice(base().length)}` : pathname) ?? [];
  const bytes = ready.get(decodeURIComponent(name))?.files.get(decodeURIComponent(file));
  if (!bytes) return next();
  response.writeHead(200, {
    'Content-Type': TYPES[/\.(\w+)$/.exec(file)?.[1] ?? ''] ?? 'application/octet-stream', 'Content-Length': bytes.length, 'Cache-Control': 'no-cache',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  });
  response.end(bytes);
};
