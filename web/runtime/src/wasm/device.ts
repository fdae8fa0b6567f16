// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- users of src need it too
/// <reference path="../globals.d.ts" />
/** The wasm backend: an engine in a worker (pages) or beside the caller (Node). */
import type {
  Buffer,
  Device,
  Executable,
  Extent,
  Fallback,
  Fence,
  Launch,
  Program,
  Queue,
  Read,
  Recording,
  Room,
} from '../device.ts';
import {Lifetime} from '../lifetime.ts';
import {about, type DType, GossamerError, messageOf} from '../types.ts';
import {WasmEngine} from './engine.ts';
import {hasRelaxedSimd, hasSimd, hasThreads} from './features.ts';
import {type MemoryLimits, withMemoryLimits} from './memory_import.ts';
import {announceLoss, type SharedKernels} from './pool.ts';
import {spawn, type Thread} from './thread.ts';
import script from 'worker:./worker.ts';

/** The engine's methods, wherever it lives. */
interface Remote {
  call(method: string, args: readonly unknown[], transfer?: readonly ArrayBuffer[]): Promise<unknown>;
  stop(): void;
  died?: ((failure: GossamerError) => void) | undefined;
}

function local(engine: WasmEngine): Remote {
  const methods = engine as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
  let last: Promise<unknown> = Promise.resolve();
  return {
    // One call after the other, also across those that wait.
    call(method, args) {
      const result = last.then(() => methods[method]?.apply(engine, [...args]));
      last = result.catch(() => undefined);
      return result;
    },
    stop: () => undefined,
  };
}

class WasmBuffer implements Buffer {
  readonly extent: Extent;
  readonly block: number;
  readonly #remote: Remote;
  constructor(extent: Extent, block: number, remote: Remote) {
    this.extent = extent;
    this.block = block;
    this.#remote = remote;
  }
  dispose(): void {
    void this.#remote.call('free', [this.block]).catch(() => undefined);
  }
}

class WasmRecording implements Recording {
  readonly id: number;
  readonly made: Promise<unknown>;
  readonly #remote: Remote;
  constructor(id: number, made: Promise<unknown>, remote: Remote) {
    this.id = id;
    this.made = made;
    this.#remote = remote;
    made.catch(() => undefined);
  }
  dispose(): void {
    void this.#remote.call('forget', [this.id]).catch(() => undefined);
  }
}

class WasmQueue implements Queue {
  readonly #remote: Remote;
  #failure: Promise<unknown> = Promise.resolve();
  constructor(remote: Remote) {
    this.#remote = remote;
  }
  write(buffer: Buffer, data: Uint8Array, _storage: DType, own = false): Promise<unknown> {
    // A copy travels: the caller's array stays his, and a view does not drag its whole file along.
    const copy = own ? (data as Uint8Array<ArrayBuffer>) : data.slice();
    const written = this.#remote.call('write', [(buffer as WasmBuffer).block, copy], [copy.buffer]);
    written.catch(() => undefined);
    this.#failure = this.#failure.then(() => written);
    this.#failure.catch(() => undefined);
    return written;
  }
  submit(recordings: readonly Recording[], reads: readonly Read[]): Fence {
    const before = [this.#failure];
    this.#failure = Promise.resolve();
    for (const {id, made} of recordings as readonly WasmRecording[]) {
      before.push(made, this.#remote.call('submit', [id]));
    }
    const done = Promise.all(before);
    done.catch(() => undefined);
    const data = reads.map(({buffer, bytes}) => this.#remote.call('read', [(buffer as WasmBuffer).block, bytes]));
    return {done, accepted: done, data: Promise.all(data) as Promise<Uint8Array[]>};
  }
}

class WasmExecutable implements Executable {
  readonly #remote: Remote;
  #recordings = 0;
  constructor(remote: Remote) {
    this.#remote = remote;
  }
  async plan(segment: number, dims: readonly number[]): Promise<Float64Array> {
    return (await this.#remote.call('plan', [segment, dims])) as Float64Array;
  }
  record(launches: readonly Launch[]): Promise<Recording> {
    const steps = launches.map(({kernel, name, buffers, scalars, range}) => ({
      kernel,
      name,
      buffers: buffers.map((buffer) => (buffer as WasmBuffer).block),
      scalars,
      range,
    }));
    const id = ++this.#recordings;
    const made = this.#remote.call('record', [id, steps]);
    return Promise.resolve(new WasmRecording(id, made, this.#remote));
  }
  dispose(): void {
    // The engine holds one program and ends with its device.
  }
}

export class WasmDevice implements Device {
  readonly kind = 'wasm';
  readonly adapter: string;
  readonly software: boolean;
  readonly threads: number;
  readonly fallbacks: readonly Fallback[];
  readonly queue: Queue;
  readonly life = new Lifetime();
  readonly #remote: Remote;
  readonly #limits: MemoryLimits;
  readonly #others: Thread[] = [];

  constructor(
    remote: Remote,
    limits: MemoryLimits,
    threads: number,
    fallbacks: readonly Fallback[],
    adapter: string,
  ) {
    this.#remote = remote;
    remote.died = (failure) => this.#died(failure);
    this.#limits = limits;
    this.threads = threads;
    this.fallbacks = fallbacks;
    this.software = !adapter.includes('relaxed');
    this.adapter = adapter;
    this.queue = new WasmQueue(this.#remote);
  }

  async createBuffers(rooms: readonly Room[]): Promise<Buffer[]> {
    const sizes = rooms.map(({extent}) => ('bytes' in extent ? extent.bytes : 0));
    const blocks = (await this.#remote.call('allocate', [sizes]).catch((problem: unknown) => {
      throw about(rooms.map(({name}) => name).join(), problem);
    })) as number[];
    return rooms.map(({extent}, at) => new WasmBuffer(extent, blocks[at] ?? 0, this.#remote));
  }

  async createExecutable(program: Program, progress: (done: number) => void): Promise<Executable> {
    if (!program.module) throw new GossamerError('damaged', 'the package has no kernels.wasm');
    const entries = program.kernels.map((kernel) => kernel.entry);
    const shared = (await this.#remote.call('load', [
      withMemoryLimits(program.module, this.#limits),
      entries,
      program.plan,
    ])) as SharedKernels | undefined;
    if (shared) await this.#recruit(shared);
    progress(entries.length);
    return new WasmExecutable(this.#remote);
  }

  #died(failure: GossamerError): void {
    if (failure.code === 'lost') this.life.end(failure);
  }

  /** Starts the other threads from here: browsers differ in how well workers start workers. */
  async #recruit(shared: SharedKernels): Promise<void> {
    for (let at = 1; at < this.threads; ++at) {
      const thread = spawn(script);
      thread.died = (failure) => {
        announceLoss(shared.memory, failure.message);
        this.#died(failure);
      };
      this.#others.push(thread);
    }
    await Promise.all(this.#others.map((thread) => thread.call('help', [shared])));
    this.#others.forEach((thread) => thread.detach());
    await this.#remote.call('join', []);
  }

  dispose(): void {
    this.#remote.stop();
    this.#others.forEach((thread) => thread.stop());
  }
}

const wantedThreads = (asked: number | undefined): number => {
  if (asked !== undefined) return Math.max(1, Math.min(64, Math.floor(asked)));
  return hasThreads() && typeof document !== 'undefined'
    ? Math.min(4, navigator.hardwareConcurrency)
    : 1;
};

const RETRIES = 5;
const RETRY_MS = 200;

/**
 * Addresses of ended workers come back some time later, those of models that this thread forgot with a
 * collection; an allocation that fails starts one.
 */
async function waitForAddresses(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  try {
    new WebAssembly.Memory({initial: 1, maximum: 65536});
  } catch {
    // The next worker finds out.
  }
}

/** A worker with an engine, and the limits of its memory. */
async function startWorker(threads: number): Promise<[Thread, MemoryLimits]> {
  for (let left = RETRIES; ; --left) {
    const thread = spawn(script);
    try {
      return [thread, (await thread.call('start', [threads])) as MemoryLimits];
    } catch (problem) {
      thread.stop();
      const memory = problem instanceof GossamerError && problem.code === 'out-of-memory';
      if (left === 0 || !memory) throw problem;
      await waitForAddresses();
    }
  }
}

/** Throws 'unsupported' when the engine lacks SIMD. `relaxed`: the package has kernels with relaxed SIMD, too. */
export async function open(asked: number | undefined, relaxed: boolean): Promise<Device> {
  if (!hasSimd()) throw new GossamerError('unsupported', 'this engine has no WebAssembly with SIMD');
  const fallbacks: Fallback[] = [];
  let threads = wantedThreads(asked);
  if (threads > 1 && !hasThreads()) {
    fallbacks.push({
      what: `one thread instead of ${threads}`,
      reason:
        'the page is not cross-origin isolated (it needs the headers ' +
        'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp)',
    });
    threads = 1;
  }
  const adapter = (where: string): string =>
    `WebAssembly SIMD${relaxed && hasRelaxedSimd() ? ', relaxed' : ''}, ${where}`;
  // A page's main thread must stay free and may not wait; workers and Node may.
  if (typeof document !== 'undefined') {
    try {
      const [thread, limits] = await startWorker(threads);
      return new WasmDevice(thread, limits, threads, fallbacks, adapter('in a worker'));
    } catch (problem) {
      fallbacks.push({
        what: 'one thread on the main thread',
        reason: `a worker could not be started: ${messageOf(problem)}`,
      });
      threads = 1;
    }
  }
  const engine = new WasmEngine(threads);
  return new WasmDevice(local(engine), engine.limits, threads, fallbacks, adapter('beside the caller'));
}
