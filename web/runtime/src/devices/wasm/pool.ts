/**
 * Threads around kernels. A launch is cut into chunks; `next` holds a sequence number and how many
 * chunks are left, and whoever swaps it takes one. The launch's description is only overwritten when
 * all its chunks are done, so it is read after a chunk was won.
 */
import {GossamerError, messageOf} from '../../values/types.ts';
import {ARGS, DONE_OF, HEAD, LEAST, LONG, MICROS, RANGE, ROW, type Table, TRIED} from './table.ts';

/** Computes the points [begin, end) of a launch, whose arguments lie at `args`. */
export type KernelFunction = (begin: number, end: number, args: number) => void;

/** At the start of the memory; kernels never see it. */
export const CONTROL_BYTES = 4096;

// Words of the control block, apart by a cache line where several threads write them.
const NEXT = 0; // sequence << 16 | chunks left
const DONE = 16; // chunks finished of the current launch
const SLEEPERS = 32; // threads in Atomics.wait on NEXT
const KERNEL = 64;
const ARGUMENTS = 65;
const EXTENT = 66;
const CHUNK = 67;
const FAILED = 68; // what went wrong on another thread; BUSY while it writes down why
const NEWS = 69; // how often threads were called from helping, to load a program
const COUNT = 127; // letters of the reason, from the next word on

const [BUSY, TRAPPED, LOST] = [1, 2, 3];
const MOST_LETTERS = 512;

/** Shared so often, a launch has run compiled; one that takes less would take no longer alone. */
const TRIES = 4;
const WORTH_SHARING_US = 50;

const CHUNKS_PER_THREAD = 4;
const SPIN_MS = 1;
/** After so long the thread that waits lets its events happen: one may say that another thread died. */
const BLOCK_MS = 50;
const POLL_MS = 4;

const controlOf = ({buffer}: WebAssembly.Memory): Int32Array =>
  new Int32Array(buffer, 0, CONTROL_BYTES / 4);

/** The first failure stays. */
function announce(control: Int32Array, kind: number, reason: string): void {
  if (Atomics.compareExchange(control, FAILED, 0, BUSY) !== 0) return;
  const letters = Array.from(reason.slice(0, MOST_LETTERS), (letter) => letter.charCodeAt(0));
  control.set([letters.length, ...letters], COUNT);
  Atomics.store(control, FAILED, kind);
  Atomics.notify(control, DONE);
}

/** Another thread ended: its part of a launch will never be done. */
export const announceLoss = (memory: WebAssembly.Memory, reason: string): void =>
  announce(controlOf(memory), LOST, reason);

/** By their numbers; those of a program that is gone are not there. */
export type Kernels = (KernelFunction | undefined)[];

/** The numbers of a program's kernels. */
export type Gone = readonly [first: number, count: number];

function runChunk(control: Int32Array, kernels: Readonly<Kernels>, chunk: number): void {
  const size = control[CHUNK] ?? 0;
  const range = control[EXTENT] ?? 0;
  const begin = chunk * size;
  kernels[control[KERNEL] ?? 0]?.(begin, Math.min(begin + size, range), control[ARGUMENTS] ?? 0);
}

/** Wins a chunk of the current launch, or gives -1. */
function takeChunk(control: Int32Array): number {
  for (;;) {
    const now = Atomics.load(control, NEXT);
    const left = now & 0xffff;
    if (left === 0) return -1;
    if (Atomics.compareExchange(control, NEXT, now, now - 1) === now) return left - 1;
  }
}

/** Has threads leave help(): a message with another program is on its way. */
export function callAway(memory: WebAssembly.Memory): void {
  const control = controlOf(memory);
  Atomics.add(control, NEWS, 1);
  Atomics.add(control, NEXT, 0x10000); // so that none falls asleep meanwhile
  Atomics.notify(control, NEXT);
}

/** What every thread but the first does, until it was called away more than `calls` times. */
export function help(memory: WebAssembly.Memory, kernels: Readonly<Kernels>, calls: number): void {
  const control = controlOf(memory);
  let idleSince = performance.now();
  for (let turn = 1; Atomics.load(control, NEWS) === calls; ++turn) {
    const chunk = takeChunk(control);
    if (chunk >= 0) {
      try {
        runChunk(control, kernels, chunk);
      } catch (problem) {
        announce(control, TRAPPED, messageOf(problem));
      }
      Atomics.add(control, DONE, 1);
      Atomics.notify(control, DONE);
      idleSince = performance.now();
    } else if (turn % 64 === 0 && performance.now() - idleSince > SPIN_MS) {
      const seen = Atomics.load(control, NEXT);
      if ((seen & 0xffff) === 0 && Atomics.load(control, NEWS) === calls) {
        Atomics.add(control, SLEEPERS, 1);
        Atomics.wait(control, NEXT, seen);
        Atomics.sub(control, SLEEPERS, 1);
        idleSince = performance.now();
      }
    }
  }
}

/** Kernels may have memory of their own: as many bytes an instance as its module says, from `room` on. */
export function giveScratch({scratch, scratch_bytes: bytes}: WebAssembly.Exports, room: (bytes: number) => number): void {
  if (scratch) (scratch as WebAssembly.Global).value = room((bytes as WebAssembly.Global).value as number);
}

/** What another thread needs to have the same kernels on the same memory. */
export interface SharedKernels {
  readonly memory: WebAssembly.Memory;
  readonly module: WebAssembly.Module;
  readonly entries: readonly string[];
  /** The number of its first kernel. */
  readonly first: number;
  /** Scratch memory, that of each thread behind another's. */
  readonly room: number;
  /** Programs that the thread may forget. */
  readonly gone: readonly Gone[];
}

/** The first thread's side. The others are already in help(), or will be. */
export class Pool {
  readonly #memory: WebAssembly.Memory;
  readonly #control: Int32Array;
  readonly #kernels: Readonly<Kernels>;
  /** How many compute. */
  threads = 1;
  #sequence = 0;
  /**
   * What ended the last run, and every run after it. Kernels of the compiler do not trap on any input,
   * so one that does had wrong addresses, and may have written over weights before.
   */
  #failure: unknown;

  /** `kernels` may grow. */
  constructor(memory: WebAssembly.Memory, kernels: Readonly<Kernels>) {
    this.#memory = memory;
    this.#control = controlOf(memory);
    this.#kernels = kernels;
  }

  /** Does the launches of tables, before it returns where no thread takes long. Rejects with what run() throws. */
  async compute(tables: readonly Table[]): Promise<void> {
    if (this.#failure) throw this.#failure as Error;
    try {
      for (const [table, count] of tables) {
        const words = new Int32Array(this.#memory.buffer, table);
        const word = (at: number): number => words[at] as number;
        const since = (start: number): number => Math.min(LONG, Math.ceil(1e3 * (performance.now() - start)));
        const begin = performance.now();
        let shared = false;
        for (let at = 0; at < count; ++at) {
          words[DONE_OF] = at;
          const row = HEAD + ROW * at;
          const kernel = word(row);
          const args = table + word(row + ARGS);
          const range = word(row + RANGE);
          const tried = word(row + TRIED);
          if (range <= 0) continue;
          if (this.threads === 1 || range === 1 || (tried === TRIES && word(row + LEAST) < WORTH_SHARING_US)) {
            this.#kernels[kernel]?.(0, range, args);
          } else {
            shared = true;
            const start = performance.now();
            const late = this.run(kernel, args, range);
            if (late) await late;
            if (tried < TRIES) {
              words[row + TRIED] = tried + 1;
              words[row + LEAST] = Math.min(word(row + LEAST), since(start));
            }
          }
        }
        words[DONE_OF] = count;
        words[MICROS] = shared ? LONG : since(begin);
      }
    } catch (problem) {
      throw (this.#failure = problem) as Error;
    }
  }
  /**
   * One launch, on all threads that come to help in time; a promise only where one of them takes long. Throws
   * what a kernel traps with, and 'lost' where a thread ended.
   */
  run(kernel: number, args: number, range: number): Promise<void> | undefined {
    const control = this.#control;
    const size = Math.ceil(range / Math.min(range, this.threads * CHUNKS_PER_THREAD));
    const chunks = Math.ceil(range / size);
    control[KERNEL] = kernel;
    control[ARGUMENTS] = args;
    control[EXTENT] = range;
    control[CHUNK] = size;
    Atomics.store(control, DONE, 0);
    this.#sequence = (this.#sequence + 1) & 0x7fff;
    Atomics.store(control, NEXT, (this.#sequence << 16) | chunks);
    if (Atomics.load(control, SLEEPERS) > 0) Atomics.notify(control, NEXT);
    let mine = 0;
    let trap: unknown;
    for (let chunk = takeChunk(control); chunk >= 0; chunk = takeChunk(control)) {
      try {
        runChunk(control, this.#kernels, chunk);
      } catch (problem) {
        trap = problem;
      }
      ++mine;
    }
    if (mine > 0) Atomics.add(control, DONE, mine);
    const start = mine < chunks ? performance.now() : 0;
    for (let turn = 1; !this.#over(chunks); ++turn) {
      const waited = turn % 64 === 0 ? performance.now() - start : 0;
      if (waited > BLOCK_MS) return this.#wait(chunks, trap);
      if (waited > SPIN_MS) Atomics.wait(control, DONE, Atomics.load(control, DONE), 10);
    }
    this.#end(trap);
    return undefined;
  }

  /** Whether all chunks are done, or never will be. */
  #over(chunks: number): boolean {
    return Atomics.load(this.#control, DONE) === chunks || Atomics.load(this.#control, FAILED) === LOST;
  }

  async #wait(chunks: number, trap: unknown): Promise<void> {
    while (!this.#over(chunks)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    this.#end(trap);
  }

  #end(trap: unknown): void {
    if (trap !== undefined) throw trap as Error;
    const control = this.#control;
    let failed = BUSY;
    while (failed === BUSY) failed = Atomics.load(control, FAILED);
    if (failed === 0) return;
    const letters = control.subarray(COUNT + 1, COUNT + 1 + (control[COUNT] ?? 0));
    const reason = String.fromCharCode(...letters);
    throw failed === LOST ? new GossamerError('lost', reason) : new Error(reason);
  }
}
