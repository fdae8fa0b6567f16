/** Where a package's files come from: a folder at a URL, or memory. */
import {Arrival, type Reading, until} from './arrival.ts';
import {BLOCK} from './blocks.ts';
import {openCheck} from '../hash/check.ts';
import type {FileEntry} from './manifest.ts';
import {Pieces} from './pieces.ts';
import {GossamerError, messageOf} from '../values/types.ts';

/** Files in memory by name, as the compiler returns them. */
export type Files =
  | ReadonlyMap<string, Uint8Array>
  | Readonly<Record<string, Uint8Array>>
  | readonly {readonly name: string; readonly bytes: Uint8Array}[];

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
  /** Whether files are as listed without a look at their hash: the compiler made them in this page. */
  readonly made?: boolean | undefined;
  /**
   * The file's bytes. Throws 'source' when it cannot be had, with a cause where trying again may help, and
   * the signal's reason on abort.
   */
  read(name: string, reading?: Reading): Promise<Pieces>;
  /** The folder of this name within; '..' is the one above. */
  folder(name: string): Source;
}

class MemorySource implements Source {
  readonly where: string;
  readonly cached = false;
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #prefix: string;
  readonly made: boolean | undefined;
  constructor(files: ReadonlyMap<string, Uint8Array>, prefix: string, made: boolean | undefined) {
    this.made = made;
    this.#files = files;
    this.#prefix = prefix;
    this.where = prefix === '' ? 'package' : `package ${prefix}`;
  }
  async read(name: string, {arrived, filled}: Reading = {}) {
    const bytes = this.#files.get(this.#prefix + name);
    if (!bytes) throw new GossamerError('source', `${this.where}: ${name} is missing`);
    arrived?.(bytes);
    for (let at = 0; filled && at < bytes.length; at += BLOCK) await filled(bytes.subarray(at, at + BLOCK) as Uint8Array<ArrayBuffer>);
    return new Pieces([bytes], false);
  }
  folder(name: string): Source {
    const prefix = name === '..' ? this.#prefix.replace(/[^/]+\/$/, '') : this.#prefix + name;
    return new MemorySource(this.#files, prefix, this.made);
  }
}

/** A download fails after this many attempts in a row that brought little, and the wait before the second; it doubles each time. */
const ATTEMPTS = 4;
const LITTLE = 1 << 20;
const WAIT_MS = 100;

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
    const signal = this.#signal;
    signal?.throwIfAborted();
    const arrival = new Arrival(reading);
    if (url.protocol === 'file:' && 'process' in globalThis && !this.#requests.fetch) {
      await this.#readLocal(url, arrival);
      return arrival.pieces;
    }
    for (let idle = 0; ; ) {
      const had = arrival.size;
      let problem: unknown;
      try {
        if (!(await this.#request(url, reading, arrival))) break;
      } catch (caught) {
        signal?.throwIfAborted();
        if (caught instanceof GossamerError) throw caught;
        problem = caught;
      }
      const more = arrival.size - had;
      idle = more < LITTLE ? idle + 1 : 0;
      // It has the expected size, an unknown size, or is as short as before.
      if (!problem && (reading.expected === undefined || arrival.complete || more === 0)) break;
      if (problem && (arrival.size === 0 || idle === ATTEMPTS)) throw this.#failed(url, messageOf(problem), problem);
      await until(signal, new Promise((resolve) => setTimeout(resolve, WAIT_MS * 2 ** idle)));
    }
    return arrival.pieces;
  }

  /** Without the query, which may be a secret. */
  #failed(url: URL, what: string, cause?: unknown): GossamerError {
    return new GossamerError('source', `${url.href}: ${what}`, {cause});
  }

  /** The file, or the rest of one that was cut off. False: nothing is left. */
  async #request(url: URL, {fresh}: Reading, arrival: Arrival): Promise<boolean> {
    const {fetch: own, requestInit} = this.#requests;
    const signal = this.#signal;
    const address = url.href + this.#search;
    const had = arrival.size;
    const init: RequestInit = {...requestInit, ...(signal && {signal}), ...(fresh && {cache: 'reload'})};
    if (had > 0) {
      init.cache = 'no-store';
      init.headers = new Headers(init.headers);
      // A range of a compressed answer would be a range of other bytes.
      if (!arrival.packed) init.headers.set('Range', `bytes=${had}-`);
    }
    const response = await until(signal, own ? own(address, init) : fetch(address, init));
    const {status, headers, body} = response;
    if (had > 0 && status === 416) return false;
    const answer = `the server answered ${status} ${response.statusText}`.trim();
    if (!response.ok) throw had > 0 ? new Error(answer) : this.#failed(url, answer);
    arrival.packed = headers.has('Content-Encoding');
    const begin = status === 206 ? Number(/^bytes (\d+)-/.exec(headers.get('Content-Range') ?? '')?.[1] ?? had) : 0;
    if (begin > had) return false;
    if (body) await arrival.collect(body, signal, had - begin);
    return true;
  }

  async #readLocal(url: URL, arrival: Arrival): Promise<void> {
    // Not imported, so that bundlers for browsers do not stumble over it.
    const {openAsBlob, promises} = process.getBuiltinModule('node:fs');
    try {
      await promises.access(url);
      await arrival.collect((await openAsBlob(url)).stream(), this.#signal);
    } catch (problem) {
      this.#signal?.throwIfAborted();
      throw this.#failed(url, (problem as {code?: string}).code === 'ENOENT' ? 'it is missing' : messageOf(problem));
    }
  }
}

/** The base of relative URLs: the page, the worker, or Node's working directory. */
function here(): string {
  if (typeof document !== 'undefined') return document.baseURI;
  if (typeof location !== 'undefined') return location.href;
  return `file://${(globalThis as {process?: {cwd(): string}}).process?.cwd() ?? ''}/`;
}

const COMPILE = 'compile it (`gossamer compile`, or compile() of @gossamer/compiler) and load what that makes';

/** The source and, where the address names a file, that file. */
export function openSource(
  from: string | URL | Files,
  signal: AbortSignal | undefined,
  requests: Requests,
): {source: Source; file: string | undefined} {
  if (typeof from === 'string' || from instanceof URL) {
    const url = new URL(from, here());
    if (/\.(onnx|ort)$/.test(url.pathname)) throw new GossamerError('source', `${url.href} is a model, not a package: ${COMPILE}`);
    const file = /[^/]+\.json$/.exec(url.pathname)?.[0];
    if (file === undefined && !url.pathname.endsWith('/')) url.pathname += '/';
    return {source: new UrlSource(new URL('.', url), url.search, signal, requests), file};
  }
  if (typeof from !== 'object' || from === null || ArrayBuffer.isView(from) || (Symbol.toStringTag in from && !(from instanceof Map))) {
    throw new GossamerError('source', `${Object.prototype.toString.call(from).slice(8, -1)} is not a package, which is an address or files by their names; a model's bytes: ${COMPILE}`);
  }
  const files = Array.isArray(from)
    ? (from as {name: string; bytes: Uint8Array}[]).map((file) => [file.name, file.bytes] as const)
    : from instanceof Map
      ? (from as ReadonlyMap<string, Uint8Array>)
      : Object.entries(from as Record<string, Uint8Array>);
  return {source: new MemorySource(new Map(files), '', (from as Partial<Source>).made), file: undefined};
}

/** Blocks that are as listed go into `file` at once, those that are there are passed over, and the last one waits for the end. */
async function readOnce(
  source: Source,
  entry: FileEntry,
  fresh: boolean,
  arrived: (bytes: number) => void,
  file: Pieces,
): Promise<void> {
  const check = source.made ? undefined : await openCheck(entry, source.cached);
  const passes = source.cached && check?.filled !== undefined;
  const last = Math.ceil(entry.bytes / BLOCK) - 1;
  let count = 0;
  let end: Uint8Array | undefined;
  let before: Promise<unknown> = Promise.resolve();
  const filled = (block: Uint8Array<ArrayBuffer>): Promise<unknown> => {
    const at = count++;
    const checked = check?.filled?.(block);
    const handOver = async (): Promise<void> => {
      const whole = await checked;
      if (!whole || at !== file.count) return;
      if (at === last) end = whole;
      else {
        file.push(whole);
        await file.hold?.();
      }
    };
    return (before = before.then(handOver));
  };
  const bytes = await source.read(entry.name, {
    expected: entry.bytes,
    fresh,
    arrived: (piece) => {
      check?.arrived?.(piece);
      arrived(piece.length);
    },
    filled: passes ? filled : check?.filled,
    passes,
  });
  const name = `${source.where}: ${entry.name}`;
  if (bytes.length !== entry.bytes) {
    const trouble = bytes.length < entry.bytes ? 'the download was cut off' : 'another file';
    throw new GossamerError(
      'damaged',
      `${name} has ${bytes.length} bytes instead of ${entry.bytes} (${trouble}?)`,
    );
  }
  const wrong = await check?.wrong();
  if (wrong !== undefined) {
    throw new GossamerError('damaged', `${name} ${wrong}: it was changed, or is another model's`);
  }
  await before;
  if (!passes) file.become(bytes);
  else if (end) file.push(end);
}

/**
 * A file of the package on its way, checked against its size and, where it came from elsewhere, its SHA-256, or xxh3 where the manifest
 * has no other. Blocks with hashes of their own are there as they arrive. What is cut off goes on where it ended; what is still cut off
 * or not as listed is fetched once more, past the HTTP cache: it may be older than its manifest. Fails with 'source' or 'damaged'.
 */
export function openChecked(folder: Source, entry: FileEntry, arrived: (bytes: number) => void): Pieces {
  const source = entry.above ? folder.folder('..') : folder;
  const file = new Pieces([], true, entry.bytes);
  let seen = 0;
  const read = async (): Promise<void> => {
    try {
      await readOnce(source, entry, false, (count) => arrived(((seen += count), count)), file);
    } catch (problem) {
      const {code, cause} = problem as Partial<GossamerError>;
      if (!source.cached || (code !== 'damaged' && !(code === 'source' && cause))) throw problem;
      arrived(-seen);
      await readOnce(source, entry, true, arrived, file);
    }
  };
  read().catch((problem: unknown) => file.fail(problem));
  return file;
}
