/** The files of a package's weights on their way here, a few ahead of what the device takes. */
import type {FileEntry} from './manifest.ts';
import {Pieces} from './pieces.ts';
import {headerHere, readSafetensors, type StoredTensor} from './safetensors.ts';

/** Files that may be here or under way at once, and their bytes. One larger file may be in use as well, once the device takes it. */
const AHEAD = 3;
const AHEAD_BYTES = 200e6;

interface WeightFile {
  readonly file: Pieces;
  readonly bytes: number;
  readonly stored: ReadonlyMap<string, StoredTensor>;
}

export class WeightFiles {
  /** Files that are not read yet, in order. */
  readonly #waiting: Map<string, FileEntry>;
  readonly #here = new Map<string, Promise<WeightFile>>();
  #bytes = 0;
  /** The larger file that the device takes; its memory is freed as that goes on. */
  readonly #opened = new Set<string>();
  readonly #read: (entry: FileEntry) => Promise<Pieces>;
  /** As LoadOptions.weights. */
  readonly given: ((name: string) => Promise<Uint8Array> | undefined) | undefined;
  /** What is under way may end. */
  disposed = false;

  /** `entries` in the order in which they will be wanted. The first are read at once. */
  constructor(entries: readonly FileEntry[], read: (entry: FileEntry) => Promise<Pieces>, given?: WeightFiles['given']) {
    this.given = given;
    this.#waiting = new Map(entries.map((entry) => [entry.name, entry]));
    this.#read = read;
    this.#ahead();
  }

  #ahead(): void {
    for (const {name, bytes} of this.#waiting.values()) {
      const ahead = this.#here.size - this.#opened.size;
      if (ahead >= AHEAD || (ahead > 0 && this.#bytes + bytes > AHEAD_BYTES)) break;
      void this.#begin(name);
    }
  }

  #begin(name: string): Promise<WeightFile> {
    const entry = this.#waiting.get(name);
    this.#waiting.delete(name);
    const bytes = entry?.bytes ?? 0;
    this.#bytes += bytes;
    const pieces = entry ? this.#read(entry) : Promise.resolve(new Pieces([], false));
    const opened = pieces.then(async (file) => {
      await headerHere(file);
      return {file, bytes, stored: entry ? readSafetensors(file, name) : new Map<string, never>()};
    });
    opened.catch(() => undefined); // open() reports it
    this.#here.set(name, opened);
    return opened;
  }

  /** Opens a file, of which more may still arrive. Rejects with 'source' or 'damaged'. Of a file that the package has not there is nothing. */
  async open(name: string): Promise<WeightFile> {
    const file = await (this.#here.get(name) ?? this.#begin(name));
    if (file.bytes > AHEAD_BYTES && this.#here.has(name) && !this.#opened.has(name)) {
      this.#opened.add(name);
      this.#bytes -= file.bytes;
      this.#ahead();
    }
    return file;
  }

  /** Nothing more is wanted of it. Waits for its end: until then it may turn out to be another file. */
  async close(name: string): Promise<void> {
    const {file, bytes} = (await this.#here.get(name)) ?? {};
    file?.dispose();
    // What the cache has not read is still in memory.
    void Promise.resolve(file?.isCopied).then(() => {
      if (!this.#here.delete(name)) return;
      if (!this.#opened.delete(name)) this.#bytes -= bytes ?? 0;
      this.#ahead();
    });
    await file?.here();
  }

  /** Nothing more is wanted at all. */
  dispose(): void {
    this.disposed = true;
    this.#waiting.clear();
    for (const name of this.#here.keys()) this.close(name).catch(() => undefined);
  }
}
