/** Where a package's files come from: a folder behind a URL, or memory. */
import {Xxh3} from './hash/xxh3.ts';
import type {FileEntry} from './manifest.ts';
import {GossamerError, messageOf} from './types.ts';

/** Files in memory by name, as the compiler returns them. */
export type Files =
  | ReadonlyMap<string, Uint8Array>
  | Readonly<Record<string, Uint8Array>>
  | readonly {readonly name: string; readonly bytes: Uint8Array}[];

export interface Source {
  /** For messages. */
  readonly where: string;
  /**
   * The file's bytes, or undefined when there is none. `expected` is its size if known; `arrived` is
   * called with each piece. Throws 'source' when it cannot be had and the signal's reason on abort.
   */
  read(
    name: string,
    expected?: number,
    arrived?: (piece: Uint8Array) => void,
  ): Promise<Uint8Array | undefined>;
  /** The folder of this name within. */
  folder(name: string): Source;
}

class MemorySource implements Source {
  readonly where: string;
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #prefix: string;
  constructor(files: ReadonlyMap<string, Uint8Array>, prefix: string) {
    this.#files = files;
    this.#prefix = prefix;
    this.where = prefix === '' ? 'package' : `package ${prefix}`;
  }
  read(name: string, _expected?: number, arrived?: (piece: Uint8Array) => void) {
    const bytes = this.#files.get(this.#prefix + name);
    if (bytes) arrived?.(bytes);
    return Promise.resolve(bytes);
  }
  folder(name: string): Source {
    return new MemorySource(this.#files, this.#prefix + name.replace(/^\.\//, ''));
  }
}

/** Collects pieces; into one array from the start when the size is known. */
async function collect(
  stream: ReadableStream<Uint8Array>,
  expected: number | undefined,
  arrived: ((piece: Uint8Array) => void) | undefined,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let whole = new Uint8Array(expected ?? 0);
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) break;
    if (expected !== undefined && size + value.length <= expected) whole.set(value, size);
    else pieces.push(value);
    size += value.length;
    arrived?.(value);
  }
  if (pieces.length === 0) return whole.subarray(0, size);
  const kept = whole.subarray(0, size - pieces.reduce((sum, piece) => sum + piece.length, 0));
  whole = new Uint8Array(size);
  let at = kept.length;
  whole.set(kept);
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

class UrlSource implements Source {
  readonly where: string;
  readonly #base: URL;
  readonly #signal: AbortSignal | undefined;
  constructor(base: URL, signal: AbortSignal | undefined) {
    this.#base = base;
    this.#signal = signal;
    this.where = base.href;
  }

  folder(name: string): Source {
    return new UrlSource(new URL(name.endsWith('/') ? name : `${name}/`, this.#base), this.#signal);
  }

  async read(name: string, expected?: number, arrived?: (piece: Uint8Array) => void) {
    const url = new URL(name, this.#base);
    this.#signal?.throwIfAborted();
    if (url.protocol === 'file:' && 'process' in globalThis) return this.#readLocal(url, arrived);
    try {
      const response = await fetch(url, this.#signal ? {signal: this.#signal} : {});
      if (response.status === 404) return undefined;
      if (!response.ok || !response.body) {
        throw new Error(`the server answered ${response.status} ${response.statusText}`.trim());
      }
      return await collect(response.body, expected, arrived);
    } catch (problem) {
      this.#signal?.throwIfAborted();
      throw new GossamerError('source', `${url.href}: ${messageOf(problem)}`, {cause: problem});
    }
  }

  async #readLocal(url: URL, arrived?: (piece: Uint8Array) => void) {
    // Not imported, so that bundlers for browsers do not stumble over it.
    const {readFile} = process.getBuiltinModule('node:fs/promises');
    try {
      const bytes: Uint8Array = await readFile(url);
      arrived?.(bytes);
      return bytes;
    } catch (problem) {
      if ((problem as {code?: string}).code === 'ENOENT') return undefined;
      throw new GossamerError('source', `${url.href}: ${messageOf(problem)}`, {cause: problem});
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
): {source: Source; file: string | undefined} {
  if (typeof from === 'string' || from instanceof URL) {
    const url = new URL(from, here());
    const file = /[^/]+\.json$/.exec(url.pathname)?.[0];
    if (file === undefined && !url.pathname.endsWith('/')) url.pathname += '/';
    return {source: new UrlSource(new URL('.', url), signal), file};
  }
  const files = Array.isArray(from)
    ? (from as {name: string; bytes: Uint8Array}[]).map((file) => [file.name, file.bytes] as const)
    : from instanceof Map
      ? (from as ReadonlyMap<string, Uint8Array>)
      : Object.entries(from as Record<string, Uint8Array>);
  return {source: new MemorySource(new Map(files), ''), file: undefined};
}

/** A file of the package, checked against its size and hash. Throws 'source' or 'damaged'. */
export async function readChecked(
  source: Source,
  entry: FileEntry,
  arrived: (bytes: number) => void,
): Promise<Uint8Array> {
  const hash = await Xxh3.create();
  const bytes = await source.read(entry.name, entry.bytes, (piece) => {
    hash.update(piece);
    arrived(piece.length);
  });
  const name = `${source.where}: ${entry.name}`;
  if (!bytes) throw new GossamerError('source', `${name} is missing`);
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
