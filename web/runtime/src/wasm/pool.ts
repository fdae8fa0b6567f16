/**
 * Threads around kernels. A launch is cut into chunks; `next` holds a sequence number and how many
 * chunks are left, and whoever swaps it takes one. The launch's description is only overwritten when
 * all its chunks are done, so it is read after a chunk was won.
 */
import type {KernelFunction} from './engine.ts';
import {spawn, type Thread, type ThreadSource} from './thread.ts';

/** At the start of the memory; kernels never see it. */
export const CONTROL_BYTES = 4096;

// Words of the control block, apart by a cache line where several threads write them.
const NEXT = 0; // sequence << 16 | chunks left
const DONE = 16; // chunks finished of the current launch
const SLEEPERS = 32; // threads in Atomics.wait on NEXT
const KERNEL = 64;
const ARGS = 65;
const RANGE = 66;
const CHUNK = 67;
const FAILED = 68; // 1 when a kernel trapped on another thread

const CHUNKS_PER_THREAD = 4;
const SPIN_MS = 1;

function runChunk(control: Int32Array, kernels: readonly KernelFunction[], chunk: number): void {
  const size = control[CHUNK] ?? 0;
  const range = control[RANGE] ?? 0;
  const begin = chunk * size;
  kernels[control[KERNEL] ?? 0]?.(begin, Math.min(begin + size, range), control[ARGS] ?? 0);
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

/** What every thread but the first does, for ever. */
export function helpForever(memory: WebAssembly.Memory, kernels: readonly KernelFunction[]): void {
  const control = new Int32Array(memory.buffer, 0, CONTROL_BYTES / 4);
  let idleSince = performance.now();
  for (let turn = 1; ; ++turn) {
    const chunk = takeChunk(control);
    if (chunk >= 0) {
      try {
        runChunk(control, kernels, chunk);
      } catch {
        Atomics.store(control, FAILED, 1);
      }
      Atomics.add(control, DONE, 1);
      Atomics.notify(control, DONE);
      idleSince = performance.now();
    } else if (turn % 64 === 0 && performance.now() - idleSince > SPIN_MS) {
      const seen = Atomics.load(control, NEXT);
      if ((seen & 0xffff) === 0) {
        Atomics.add(control, SLEEPERS, 1);
        Atomics.wait(control, NEXT, seen);
        Atomics.sub(control, SLEEPERS, 1);
        idleSince = performance.now();
      }
    }
  }
}

/** What another thread needs to have the same kernels on the same memory. */
export interface SharedKernels {
  readonly memory: WebAssembly.Memory;
  readonly module: WebAssembly.Module;
  readonly entries: readonly string[];
}

export interface Pool {
  run(kernel: number, args: number, range: number): void;
  stop(): void;
}

/** Threads beside the calling one, with the kernels instantiated. */
export async function startPool(
  {memory, module, entries}: SharedKernels,
  kernels: readonly KernelFunction[],
  threads: number,
  source: ThreadSource,
): Promise<Pool> {
  const control = new Int32Array(memory.buffer, 0, CONTROL_BYTES / 4);
  const others: Thread[] = [];
  try {
    for (let at = 1; at < threads; ++at) others.push(spawn(source));
    await Promise.all(others.map((thread) => thread.call('help', [memory, module, entries])));
    others.forEach((thread) => thread.detach());
  } catch (problem) {
    others.forEach((thread) => thread.stop());
    throw problem;
  }
  let sequence = 0;

  const waitFor = (chunks: number): void => {
    const start = performance.now();
    for (let turn = 1; ; ++turn) {
      const done = Atomics.load(control, DONE);
      if (done === chunks) return;
      if (turn % 64 === 0 && performance.now() - start > SPIN_MS) {
        Atomics.wait(control, DONE, done, 10);
      }
    }
  };

  return {
    run(kernel, args, range) {
      const size = Math.ceil(range / Math.min(range, threads * CHUNKS_PER_THREAD));
      const chunks = Math.ceil(range / size);
      control[KERNEL] = kernel;
      control[ARGS] = args;
      control[RANGE] = range;
      control[CHUNK] = size;
      Atomics.store(control, DONE, 0);
      sequence = (sequence + 1) & 0x7fff;
      Atomics.store(control, NEXT, (sequence << 16) | chunks);
      if (Atomics.load(control, SLEEPERS) > 0) Atomics.notify(control, NEXT);
      let mine = 0;
      let trap: unknown;
      for (let chunk = takeChunk(control); chunk >= 0; chunk = takeChunk(control)) {
        try {
          runChunk(control, kernels, chunk);
        } catch (problem) {
          trap = problem;
        }
        ++mine;
      }
      if (mine > 0) Atomics.add(control, DONE, mine);
      waitFor(chunks);
      if (trap !== undefined) throw trap as Error;
      if (Atomics.exchange(control, FAILED, 0) !== 0) {
        throw new WebAssembly.RuntimeError('a kernel trapped on another thread');
      }
    },
    stop() {
      others.forEach((thread) => thread.stop());
    },
  };
}
