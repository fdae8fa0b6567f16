/** The files of a model: in a folder of the disk, behind a URL, or in memory. */
import type * as Files from 'node:fs';
import type * as FileSystem from 'node:fs/promises';
import type {Requests} from '../../runtime/src/package/source.ts';
import {builtin} from '../../ort/src/builtin.ts';

export type Bytes = Uint8Array | Blob;

/** Node.js reads no larger files at once. */
const MOST_READ = 2 ** 31 - 1;

/** A GGUF file, or files by their paths, as pages get them from a folder that the user chose (`<input type="file" webkitdirectory>`), too. */
export type GivenFiles =
  | File
  | ReadonlyMap<string, Bytes>
  | Readonly<Record<string, Bytes>>
  | readonly (File | {readonly name: string; readonly bytes: Bytes})[];

export interface Folder {
  /** For messages. */
  readonly where: string;
  /** Its files, where they can be listed. */
  readonly names: readonly string[] | undefined;
  /** Undefined: there is no such file. `told` is called with bytes that arrive from a server that says how many there are. */
  readonly read: (name: string, told?: (done: number, total: number) => void) => Promise<Bytes | undefined>;
  /** `length` bytes from `offset` on, fewer at the file's end, and how many it has. Undefined: there is no such file. */
  readonly part: (name: string, offset: number, length: number) => Promise<{readonly bytes: Uint8Array; readonly size: number} | undefined>;
  /** What changes when the file does, without a look at its content. Undefined: nothing is known of it. */
  readonly stamp: (name: string) => Promise<string | undefined>;
  /** Where the runtime finds a compiled package. */
  readonly address: string | undefined;
}

export const bytesOf = async (file: Bytes): Promise<Uint8Array> => (file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer()));

const isFile = (given: unknown): given is File => typeof File !== 'undefined' && given instanceof File;

function entriesOf(given: GivenFiles): (readonly [string, Bytes])[] {
  if (isFile(given)) return [[given.name, given]];
  if (given instanceof Map) return [...(given as ReadonlyMap<string, Bytes>)];
  if (!Array.isArray(given)) return Object.entries(given as Readonly<Record<string, Bytes>>);
  return (given as readonly (File | {readonly name: string; readonly bytes: Bytes})[]).map((each) =>
    each instanceof Blob ? [each.webkitRelativePath || each.name, each] : [each.name, each.bytes]);
}

/** Paths below the one folder that all files are in. */
function inMemory(given: GivenFiles): Folder {
  const entries = entriesOf(given);
  const top = /^[^/]*\//.exec(entries[0]?.[0] ?? '')?.[0] ?? '';
  const shared = entries.every(([name]) => name.startsWith(top)) ? top : '';
  const files = new Map(entries.map(([name, bytes]) => [name.slice(shared.length), bytes]));
  const stampOf = (file: Bytes | undefined): string | undefined => (isFile(file) ? `${file.lastModified} ${file.size}` : undefined);
  return {
    where: 'the given files',
    names: [...files.keys()],
    address: undefined,
    read: (name) => Promise.resolve(files.get(name)),
    part: async (name, offset, length) => {
      const file = files.get(name);
      if (!(file instanceof Blob)) return file && {bytes: file.subarray(offset, offset + length), size: file.length};
      return {bytes: await bytesOf(file.slice(offset, offset + length)), size: file.size};
    },
    stamp: (name) => Promise.resolve(stampOf(files.get(name))),
  };
}

/** `only`: the file that is asked for. */
async function onDisk(path: string, fs: typeof FileSystem, only?: string): Promise<Folder> {
  const base = path.startsWith('file:') ? new URL(path.replace(/\/?$/, '/')) : path.replace(/\/?$/, '/');
  const place = (name: string): string | URL => (base instanceof URL ? new URL(encodeURI(name), base) : base + name);
  const names = only !== undefined ? [only] : await fs.readdir(base, {recursive: true}).catch((problem: unknown) => {
    throw new Error(`load(): the folder ${path} cannot be read: ${(problem as Error).message}`, {cause: problem});
  });
  return {
    where: path,
    names: names.map((name) => name.replaceAll('\\', '/')),
    address: base instanceof URL ? base.href : (builtin<{pathToFileURL: (path: string) => URL}>('node:url')?.pathToFileURL(base).href ?? base).replace(/\/?$/, '/'),
    read: async (name) => {
      try {
        const {size} = await fs.stat(place(name));
        if (size > MOST_READ) return await builtin<typeof Files>('node:fs')?.openAsBlob(place(name));
        return new Uint8Array(await fs.readFile(place(name)));
      } catch (problem) {
        if (['ENOENT', 'ENOTDIR'].includes((problem as {code?: string}).code ?? '')) return undefined;
        throw problem;
      }
    },
    part: async (name, offset, length) => {
      const file = await fs.open(place(name)).catch(() => undefined);
      if (!file) return undefined;
      try {
        const {size} = await file.stat();
        const bytes = new Uint8Array(Math.max(Math.min(size - offset, length), 0));
        for (let at = 0, read = 1; at < bytes.length && read > 0; at += read) read = (await file.read(bytes, at, bytes.length - at, offset + at)).bytesRead;
        return {bytes, size};
      } finally {
        await file.close();
      }
    },
    stamp: (name) => fs.stat(place(name)).then(({mtimeMs, size}) => `${mtimeMs} ${size}`, () => undefined),
  };
}

/** The body of an answer. Its length is only a hint, because it may be that of compressed bytes. */
async function received(response: Response, told: ((done: number, total: number) => void) | undefined): Promise<Uint8Array> {
  const total = Number(response.headers.get('content-length'));
  if (!told || !response.body || !(total > 0)) return new Uint8Array(await response.arrayBuffer());
  let bytes = new Uint8Array(total);
  let done = 0;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const end = done + part.value.length;
    if (end > bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * bytes.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(part.value, done);
    told((done = end), Math.max(end, total));
  }
  return done === bytes.length ? bytes : bytes.slice(0, done);
}

function onServer(address: string, {fetch: get = (url, init) => fetch(url, init), requestInit}: Requests, signal: AbortSignal | undefined): Folder {
  const base = typeof location === 'undefined' ? undefined : location.href;
  const [path = '', query] = address.split('?');
  const folder = new URL(path.replace(/\/?$/, '/'), base);
  const ask = (name: string, init: RequestInit): Promise<Response> => {
    const url = new URL(encodeURI(name), folder);
    if (query) url.search = query;
    return get(url.href, {...requestInit, ...(signal && {signal}), ...init});
  };
  const found = async (name: string, headers?: Record<string, string>): Promise<Response | undefined> => {
    const response = await ask(name, headers ? {headers: {...Object.fromEntries(new Headers(requestInit?.headers)), ...headers}} : {});
    // Servers answer for a missing file as they like: a page, 403, 404.
    if ([401, 403, 404, 410].includes(response.status) || /^text\/html/.test(response.headers.get('content-type') ?? '')) return undefined;
    if (!response.ok) throw new Error(`load(): ${folder.href}${name}: the server answered ${response.status} ${response.statusText}`.trim());
    return response;
  };
  const whole = new Map<string, Uint8Array>();
  return {
    where: folder.href,
    names: undefined,
    address: folder.href + (query ? `?${query}` : ''),
    read: async (name, told) => {
      const here = whole.get(name);
      if (here) return here;
      const response = await found(name);
      return response && received(response, told);
    },
    part: async (name, offset, length) => {
      const cut = (bytes: Uint8Array) => ({bytes: bytes.subarray(offset, offset + length), size: bytes.length});
      const here = whole.get(name);
      if (here) return cut(here);
      const response = await found(name, {range: `bytes=${offset}-${offset + length - 1}`});
      if (!response) return undefined;
      const bytes = new Uint8Array(await response.arrayBuffer());
      const total = Number(/\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]);
      if (response.status === 206 && total >= bytes.length) return {bytes, size: total};
      whole.set(name, bytes); // the server has no ranges
      return cut(bytes);
    },
    stamp: async (name) => {
      const {ok, headers} = await ask(name, {method: 'HEAD'});
      const mark = headers.get('etag') ?? headers.get('last-modified');
      return ok && mark ? `${mark} ${headers.get('content-length')}` : undefined;
    },
  };
}

/** How names of the files of a model in several end. */
const PART = /-(\d{5})-of-(\d{5})\.gguf$/i;

/** The name of the GGUF file that `from` is, or that is alone in it, or the first of a model in several: a folder may have several beside its own files. */
export function ggufName(from: string | URL | GivenFiles): string | undefined {
  const names = typeof from === 'string' || from instanceof URL ? [String(from).replace(/[?#].*$/, '')] : entriesOf(from).map(([name]) => name);
  const isOneModel = new Set(names.map((each) => (PART.test(each) ? each.replace(PART, '-$2') : each))).size === 1;
  const name = isOneModel ? names.sort()[0] : undefined;
  return name?.toLowerCase().endsWith('.gguf') ? decodeURIComponent(name.split(/[/\\]/).at(-1) ?? name) : undefined;
}

/** The folder that a path or address is in. */
function around(from: string | URL): string {
  const [path = '', query] = String(from).split('?');
  return (path.replace(/[^/\\]*$/, '') || '.') + (query === undefined ? '' : `?${query}`);
}

/** Throws for a folder that cannot be read. */
export async function openFolder(from: string | URL | GivenFiles, requests: Requests, signal: AbortSignal | undefined): Promise<Folder> {
  if (typeof from !== 'string' && !(from instanceof URL)) return inMemory(from);
  const only = ggufName(from);
  const place = only === undefined ? String(from) : around(from);
  const fs = /^(https?|blob|data):/.test(place) ? undefined : builtin<typeof FileSystem>('node:fs/promises');
  return fs ? onDisk(place, fs, only) : onServer(place, requests, signal);
}
