/** Where a package's files come from: a folder behind a URL, or memory. */
import {discard} from './discard.ts';
import {Xxh3} from './hash/xxh3.ts';
import type {FileEntry} from './manifest.ts';
import {Pieces} from './pieces.ts';
import {GossamerError, messageOf} from './types.ts';

/** Files in memory by name, as the compiler returns them. */
export type Files =
  | ReadonlyMap<string, Uint8Array>
  | Readonly<Record<string, Uint8Array>>
  | readonly {readonly name: string; readonly bytes: Uint8Array}[];

/** How a file is read. */
export interface Reading {
  /** Its size, if known. */
  readonly expected?: number;
  /** Called with each piece. */
  readonly arrived?: (piece: Uint8Array) => void;
  /** Past the HTTP cache. */
  readonly fresh?: boolean;
}

/** How requests are made. */
export interface Requests {
  /** Makes every request in place of the global fetch, from a URL and its settings. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Settings of every request, such as headers and credentials. */
  readonly requestInit?: Omit<RequestInit, 'body' | 'method' | 'signal'> | undefined;
}

export interface Source {
  /** For messages. */
  readonly where: string;
  /** Whether there may be newer files than those read first. */
  readonly cached: boolean;
  /**
   * The file's bytes. Throws 'source' when it cannot be had, with a cause where trying again may help, and
   * the signal's reason on abort.
   */
  read(name: string, reading?: Reading): Promise<Pieces>;
  /** The folder of this name within. */
  folder(name: string): Source;
}

class MemorySource implements Source {
  readonly where: string;
  readonly cached = false;
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #prefix: string;
  constructor(files: ReadonlyMap<string, Uint8Array>, prefix: string) {
    this.#files = files;
    this.#prefix = prefix;
    this.where = prefix === '' ? 'package' : `package ${prefix}`;
  }
  async read(name: string, {arrived}: Reading = {}) {
    const bytes = this.#files.get(this.#prefix + name);
    if (!bytes) throw new GossamerError('source', `${this.where}: ${name} is missing`);
    arrived?.(bytes);
    return Promise.resolve(new Pieces([bytes], false));
  }
  folder(name: string): Source {
    return new MemorySource(this.#files, this.#prefix + name);
  }
}

/** The same promise, but rejected as soon as the signal says so, whatever it waits for. */
function until<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', stop);
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop));
  });
}

/** Of this size, memory goes back to the system when it is freed; allocators keep smaller pieces. */
const BLOCK = 1 << 22;

/** Collects what arrives in blocks; stops soon after the size that is expected. */
async function collect(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  {expected, arrived}: Reading,
): Promise<Pieces> {
  const blocks: Uint8Array[] = [];
  let size = 0;
  let room = 0;
  const reader = stream.getReader();
  try {
    while (expected === undefined || size <= expected) {
      const {done, value} = await until(signal, reader.read());
      if (done) break;
      arrived?.(value);
      for (let at = 0; at < value.length; ) {
        if (room === 0) {
          room = Math.min(BLOCK, Math.max((expected ?? 0) - size, value.length - at));
          blocks.push(new Uint8Array(room));
        }
        const block = blocks.at(-1) as Uint8Array;
        const part = value.subarray(at, at + room);
        block.set(part, block.length - room);
        at += part.length;
        size += part.length;
        room -= part.length;
      }
      discard(value);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  return new Pieces(blocks, true, size);
}

class UrlSource implements Source {
  readonly where: string;
  readonly cached: boolean;
  readonly #base: URL;
  readonly #search: string;
  readonly #signal: AbortSignal | undefined;
  readonly #requests: Requests;
  /** `search` goes to every file: signed addresses end in one. */
  constructor(base: URL, search: string, signal: AbortSignal | undefined, requests: Requests) {
    this.#base = base;
    this.#search = search;
    this.#signal = signal;
    this.#requests = requests;
    this.where = base.href;
    this.cached = base.protocol !== 'file:';
  }

  folder(name: string): Source {
    return new UrlSource(new URL(name, this.#base), this.#search, this.#signal, this.#requests);
  }

  async read(name: string, reading: Reading = {}) {
    const url = new URL(name, this.#base);
    const {fetch: own, requestInit} = this.#requests;
    const signal = this.#signal;
    signal?.throwIfAborted();
    // Without the query, which may be a secret.
    const failed = (what: string, cause?: unknown): GossamerError =>
      new GossamerError('source', `${url.href}: ${what}`, {cause});
    if (url.protocol === 'file:' && 'process' in globalThis && !own) {
      return this.#readLocal(url, failed, reading);
    }
    try {
      const address = url.href + this.#search;
      const init = {...requestInit, ...(signal && {signal}), ...(reading.fresh && {cache: 'reload' as const})};
      const response = await until(signal, own ? own(address, init) : fetch(address, init));
      if (!response.ok) throw failed(`the server answered ${response.status} ${response.statusText}`.trim());
      if (response.body) return await collect(response.body, signal, reading);
      const bytes = new Uint8Array(await until(signal, response.arrayBuffer()));
      reading.arrived?.(bytes);
      return new Pieces([bytes], true);
    } catch (problem) {
      signal?.throwIfAborted();
      throw problem instanceof GossamerError ? problem : failed(messageOf(problem), problem);
    }
  }

  async #readLocal(
    url: URL,
    failed: (what: string) => GossamerError,
    reading: Reading,
  ): Promise<Pieces> {
    // Not imported, so that bundlers for browsers do not stumble over it.
    const {openAsBlob, promises} = process.getBuiltinModule('node:fs');
    try {
      await promises.access(url);
      return await collect((await openAsBlob(url)).stream(), this.#signal, reading);
    } catch (problem) {
      this.#signal?.throwIfAborted();
      throw failed((problem as {code?: string}).code === 'ENOENT' ? 'it is missing' : messageOf(problem));
    }
  }
}

/** The base of relative URLs: the page, the worker, or Node's working directory. */
function here(): string {
  if (typeof document !== 'undefined') return document.baseURI;
  if (typeof location !== 'undefined') return location.href;
  return `file://${(globalThis as {process?: {cwd(): string}}).process?.cwd() ?? ''}/`;
}

/** The source and, where the address names a file, that file. */
export function openSource(
  from: string | URL | Files,
  signal: AbortSignal | undefined,
  requests: Requests,
): {source: Source; file: string | undefined} {
  if (typeof from === 'string' || from instanceof URL) {
    const url = new URL(from, here());
    const file = /[^/]+\.json$/.exec(url.pathname)?.[0];
    if (file === undefined && !url.pathname.endsWith('/')) url.pathname += '/';
    return {source: new UrlSource(new URL('.', url), url.search, signal, requests), file};
  }
  const files = Array.isArray(from)
    ? (from as {name: string; bytes: Uint8Array}[]).map((file) => [file.name, file.bytes] as const)
    : from instanceof Map
      ? (from as ReadonlyMap<string, Uint8Array>)
      : Object.entries(from as Record<string, Uint8Array>);
  return {source: new MemorySource(new Map(files), ''), file: undefined};
}

async function readOnce(
  source: Source,
  entry: FileEntry,
  fresh: boolean,
  arrived: (bytes: number) => void,
): Promise<Pieces> {
  const hash = await Xxh3.create();
  const bytes = await source.read(entry.name, {
    expected: entry.bytes,
    fresh,
    arrived: (piece) => {
      hash.update(piece);
      arrived(piece.length);
    },
  });
  const name = `${source.where}: ${entry.name}`;
  if (bytes.length !== entry.bytes) {
    const trouble = bytes.length < entry.bytes ? 'the download was cut off' : 'another file';
    throw new GossamerError(
      'damaged',
      `${name} has ${bytes.length} bytes instead of ${entry.bytes} (${trouble}?)`,
    );
  }
  const digest = hash.digest();
  if (digest !== entry.xxh3) {
    throw new GossamerError(
      'damaged',
      `${name} has hash ${digest} instead of ${entry.xxh3}: it was changed or damaged`,
    );
  }
  return bytes;
}

/**
 * A file of the package, checked against its size and hash. What is cut off or not as listed is fetched once
 * more, past the HTTP cache: it may be older than its manifest. Throws 'source' or 'damaged'.
 */
export async function readChecked(
  source: Source,
  entry: FileEntry,
  arrived: (bytes: number) => void,
): Promise<Pieces> {
  let seen = 0;
  try {
    return await readOnce(source, entry, false, (count) => arrived(((seen += count), count)));
  } catch (problem) {
    const {code, cause} = problem as Partial<GossamerError>;
    if (!source.cached || (code !== 'damaged' && !(code === 'source' && cause))) throw problem;
    arrived(-seen);
    return readOnce(source, entry, true, arrived);
  }
}
