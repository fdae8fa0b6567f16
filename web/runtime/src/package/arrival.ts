/** A file on its way here. */
import {BLOCK, ended, takeBlock, underWay} from './blocks.ts';
import {Pieces} from './pieces.ts';

/** How a file is read. */
export interface Reading {
  /** Its size, if known. */
  readonly expected?: number;
  /** Called with each piece. */
  readonly arrived?: (piece: Uint8Array) => void;
  /**
   * Called with each block of BLOCK bytes, the last one of fewer, of a file that has its `expected` size; more are read when the one
   * before has been seen to.
   */
  readonly filled?: ((block: Uint8Array<ArrayBuffer>) => Promise<unknown>) | undefined;
  /** Blocks belong to `filled`, so the file that is read is empty. */
  readonly passes?: boolean;
  /** Past the HTTP cache. */
  readonly fresh?: boolean;
}

/** The same promise, but rejected as soon as the signal says so, whatever it waits for. */
export function until<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    signal?.addEventListener('abort', stop);
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', stop));
  });
}

/** Reads that much at a time. */
const PART = 1 << 20;

type Parts = Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>;

/** Parts of a stream in memory that is used again where that can be: what browsers give waits for a collection. */
function partsOf(stream: ReadableStream<Uint8Array>): Parts {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = stream.getReader({mode: 'byob'});
  } catch {
    return stream.getReader();
  }
  let memory = new Uint8Array(PART);
  const read = async (): Promise<ReadableStreamReadResult<Uint8Array>> => {
    const result = await reader.read(memory);
    if (result.value) memory = new Uint8Array(result.value.buffer);
    return result;
  };
  return {read, cancel: (reason) => reader.cancel(reason)};
}

/** What arrives of a file, in blocks. */
export class Arrival {
  size = 0;
  /** The server compresses it. */
  packed = false;
  #blocks: Uint8Array<ArrayBuffer>[] = [];
  #room = 0;
  /** Blocks that are being seen to. */
  readonly #filled: Promise<unknown>[] = [];
  readonly #reading: Reading;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  get complete(): boolean {
    return this.size >= (this.#reading.expected ?? Infinity);
  }

  #add(value: Uint8Array): void {
    const {expected = 0, filled, passes} = this.#reading;
    for (let at = 0; at < value.length; ) {
      if (this.#room === 0) {
        this.#room = Math.min(BLOCK, Math.max(expected - this.size, value.length - at));
        this.#blocks.push(takeBlock(this.#room));
      }
      const block = this.#blocks.at(-1) as Uint8Array<ArrayBuffer>;
      const part = value.subarray(at, at + this.#room);
      block.set(part, block.length - this.#room);
      at += part.length;
      this.size += part.length;
      this.#room -= part.length;
      if (this.#room > 0 || !filled) continue;
      if (passes) this.#blocks = [];
      this.#filled.push(filled(block));
    }
  }

  /** Stops soon after the size that is expected. The first `known` bytes were here before. */
  async collect(stream: ReadableStream<Uint8Array>, signal: AbortSignal | undefined, known = 0): Promise<void> {
    const {expected = Infinity, arrived} = this.#reading;
    const reader = partsOf(stream);
    underWay.add(reader);
    try {
      while (this.size <= expected) {
        const {done, value} = await until(signal, reader.read());
        if (done) break;
        const fresh = value.subarray(known);
        known -= value.length - fresh.length;
        arrived?.(fresh);
        this.#add(fresh);
        while (this.#filled.length > 1) await this.#filled.shift();
      }
    } finally {
      ended(reader);
      reader.cancel().catch(() => undefined);
    }
  }

  get pieces(): Pieces {
    return new Pieces(this.#blocks, true, this.size);
  }
}
