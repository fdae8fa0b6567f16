// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- users of src need it too
/// <reference path="../../globals.d.ts" />
/** The wasm backend: an engine on the caller's thread, or in a worker if memory cannot be shared (engine.ts). */
import type {
  Buffer,
  Device,
  Executable,
  Fallback,
  Fence,
  Launch,
  Pieces,
  Program,
  Queue,
  Read,
  Recording,
  Room,
} from '../device.ts';
import {Lifetime} from '../lifetime.ts';
import {about, disposed, type DType, GossamerError, messageOf} from '../../values/types.ts';
import {type Loaded, WasmEngine} from './engine.ts';
import {hasRelaxedSimd, hasSimd, hasThreads, isAllowed} from './features.ts';
import {type MemoryLimits, withMemoryLimits} from './memory_import.ts';
import {announceLoss, callAway, type SharedKernels} from './pool.ts';
import {DONE_OF, HEAD, type Table, tableOf} from './table.ts';
import {spawn, type Thread} from './thread.ts';
import script from 'worker:./worker.ts';

/** The engine's methods, wherever it lives. */
interface Remote {
  /** A call would be done before it returns. */
  readonly direct?: boolean;
  call(method: string, args: readonly unknown[], transfer?: readonly ArrayBuffer[]): Promise<unknown>;
  stop(why?: GossamerError): void;
}

/** The thread of a page: what takes longer is computed on another, and so is what follows so much in one go. */
const STAY_US = 1000;
const TURN_MS = 8;

/** `leader`: computes what takes long. */
function local(engine: WasmEngine | undefined, leader: Thread | undefined): Remote {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let over: GossamerError | undefined;
  /** When this thread began to compute for those who had it last; 0: its events have happened since. */
  let turn = 0;
  /** Whether what took so long is worth no message, and there was not much of that in one go. */
  const stays = (micros: number): boolean => {
    const now = performance.now();
    if (micros <= STAY_US && !turn) {
      turn = now;
      setTimeout(() => (turn = 0));
    }
    return micros <= STAY_US && now - turn < TURN_MS;
  };
  return {
    get direct() {
      return waiting === 0;
    },
    // One call after the other, also across those that wait.
    // eslint-disable-next-line @typescript-eslint/require-await -- what is thrown rejects
    async call(method, args) {
      const act = (): unknown => {
        if (over) throw over;
        const away = leader && method === 'compute' && !stays(engine?.timeOf(args[0] as Table[]) ?? 0);
        const methods = engine as unknown as Record<string, (...args: readonly unknown[]) => unknown>;
        return away ? leader.call(method, args) : methods[method]?.(...args);
      };
      const result = waiting > 0 ? last.then(act) : act();
      if (result instanceof Promise) {
        ++waiting;
        const passed = (): number => --waiting;
        last = result.then(passed, passed);
      }
      return result;
    },
    stop(why = disposed()) {
      over ??= why;
      engine = undefined; // and with it the memory
    },
  };
}

interface WasmBuffer extends Buffer {
  readonly block: number;
}

interface WasmRecording extends Recording {
  readonly table: number;
  /** Names of its launches. */
  readonly names: readonly string[];
}

const allocate = (remote: Remote, sizes: readonly number[]): Promise<number[]> =>
  remote.call('allocate', [sizes]) as Promise<number[]>;

const free = (remote: Remote, block: number): unknown => remote.call('free', [block]).catch(() => undefined);

class WasmQueue implements Queue {
  readonly #remote: Remote;
  /** The error of the launch that trapped first; no later one runs. */
  #failure: GossamerError | undefined;
  constructor(remote: Remote) {
    this.#remote = remote;
  }
  copy(from: Buffer, to: Buffer, bytes: number, _storage: DType, pieces?: Pieces): void {
    const blocks = [(from as WasmBuffer).block, (to as WasmBuffer).block];
    this.#remote.call('copy', [...blocks, bytes, pieces]).catch(() => undefined); // submit() says what is wrong
  }
  write(buffer: Buffer, data: Uint8Array, _storage: DType, own = false): Promise<unknown> {
    // A copy travels: the caller's array stays his, and a view does not drag its whole file along.
    const copy = own || this.#remote.direct ? (data as Uint8Array<ArrayBuffer>) : data.slice();
    const written = this.#remote.call('write', [(buffer as WasmBuffer).block, copy], [copy.buffer]);
    written.catch(() => undefined); // reported by submit() as well
    return written;
  }
  submit(recordings: readonly Recording[], reads: readonly Read[]): Fence {
    const done = this.#compute(recordings as readonly WasmRecording[]);
    done.catch(() => undefined);
    const data = reads.map(({buffer, bytes, offset = 0}) => this.#read((buffer as WasmBuffer).block + offset, bytes));
    return {done, accepted: done, data: Promise.all(data)};
  }
  #read(block: number, bytes: number): Promise<Uint8Array> {
    return this.#remote.call('read', [block, bytes]) as Promise<Uint8Array>;
  }
  async #compute(recordings: readonly WasmRecording[]): Promise<void> {
    try {
      await this.#remote.call('compute', [recordings.map(({table, names}): Table => [table, names.length])]);
    } catch (problem) {
      if (problem instanceof GossamerError) throw problem;
      let name: string | undefined;
      for (const {table, names} of recordings) {
        const head = await this.#read(table, 4 * HEAD);
        name ??= names[new Int32Array(head.buffer)[DONE_OF] ?? 0];
      }
      throw (this.#failure ??= new GossamerError('kernel', `${name} trapped: ${messageOf(problem)}; load the model again`));
    }
  }
}

class WasmExecutable implements Executable {
  readonly #remote: Remote;
  /** The number of its first kernel. */
  readonly #first: number;
  constructor(remote: Remote, first: number) {
    this.#remote = remote;
    this.#first = first;
  }
  async plan(segment: number, dims: readonly number[]): Promise<Float64Array> {
    return (await this.#remote.call('plan', [this.#first, segment, dims])) as Float64Array;
  }
  #words(launches: readonly Launch[]): Int32Array<ArrayBuffer> {
    return tableOf(launches, (buffer) => (buffer as WasmBuffer).block, this.#first);
  }
  update(recording: Recording, launches: readonly Launch[]): void {
    this.#remote.call('update', [(recording as WasmRecording).table, this.#words(launches)]).catch(() => undefined);
  }
  async record(launches: readonly Launch[]): Promise<WasmRecording> {
    const words = this.#words(launches);
    const [table = 0] = await allocate(this.#remote, [words.byteLength]);
    void this.#remote.call('write', [table, new Uint8Array(words.buffer)]).catch(() => undefined);
    return {table, names: launches.map(({name}) => name), dispose: () => free(this.#remote, table)};
  }
  dispose(): void {
    this.#remote.call('unload', [this.#first]).catch(() => undefined);
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
  readonly owner = this;
  readonly #remote: Remote;
  readonly #limits: MemoryLimits;
  readonly #first: Thread | undefined;
  readonly #others: Thread[] = [];
  /** How often the others were called away from helping. */
  #calls = 0;
  /** Until the threads have the program that came last. */
  #last: Promise<unknown> = Promise.resolve();

  /** `engine`: on the caller's thread; otherwise it is in the worker `first`, which computes for a page. */
  constructor(
    {limits, engine, first}: Place,
    threads: number,
    fallbacks: readonly Fallback[],
    adapter: string,
  ) {
    this.#remote = engine ? local(engine, first) : (first as Thread);
    this.#limits = limits;
    this.#first = first;
    if (first) this.#watch(first);
    this.threads = threads;
    this.fallbacks = fallbacks;
    this.software = !adapter.includes('relaxed');
    this.adapter = adapter;
    this.queue = new WasmQueue(this.#remote);
  }

  lacking(needs: readonly string[]): string | undefined {
    return needs.find((need) => need === 'wasm-relaxed-simd' && this.software);
  }

  async createBuffers(rooms: readonly Room[]): Promise<Buffer[]> {
    const sizes = rooms.map(({extent}) => ('bytes' in extent ? extent.bytes : 0));
    const blocks = await allocate(this.#remote, sizes).catch((problem: unknown) => {
      throw about(rooms.map(({name}) => name).join(), problem);
    });
    return rooms.map(({extent}, at): WasmBuffer => {
      const block = blocks[at] ?? 0;
      return {extent, block, dispose: () => free(this.#remote, block)};
    });
  }

  async createExecutable(program: Program, progress: (done: number) => void): Promise<Executable> {
    if (!program.module) throw new GossamerError('damaged', 'the package has no kernels.wasm');
    const entries = program.kernels.map((kernel) => kernel.entry);
    const {first, shared} = (await this.#remote.call('load', [
      withMemoryLimits(program.module, this.#limits),
      entries,
      program.plan,
      this.threads,
    ])) as Loaded;
    if (shared) {
      const mine = this.#last.then(() => this.#recruit(shared));
      this.#last = mine.catch(() => undefined);
      await mine;
    }
    progress(entries.length);
    return new WasmExecutable(this.#remote, first);
  }

  #watch(thread: Thread, memory?: WebAssembly.Memory): void {
    thread.died = (failure) => {
      if (failure.code !== 'lost') return;
      if (memory) announceLoss(memory, failure.message);
      this.#remote.stop(failure);
      this.life.end(failure);
    };
  }

  /**
   * All threads get a program. The others are started from here with the first one: browsers differ in how well workers
   * start workers.
   */
  async #recruit(shared: SharedKernels): Promise<void> {
    const {threads} = this;
    if (this.#others.length > 0) {
      callAway(shared.memory);
      ++this.#calls;
      this.#others.forEach((thread) => thread.keep(true));
    }
    for (let at = this.#others.length + 1; at < threads; ++at) {
      const thread = await spawn(script);
      this.#watch(thread, shared.memory);
      this.#others.push(thread);
    }
    const calls = this.#others.map((thread, at) => thread.call('help', [shared, this.#calls, at + 1]));
    await Promise.all([...calls, this.#first?.call('lead', [shared, threads])]);
    this.#others.forEach((thread) => thread.keep(false));
    if (!this.#first) await this.#remote.call('join', [threads]);
  }

  dispose(): void {
    this.#remote.stop();
    for (const thread of [this.#first, ...this.#others]) thread?.stop();
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

/** Where the engine is, with the worker of a page. */
interface Place {
  readonly limits: MemoryLimits;
  readonly engine?: WasmEngine | undefined;
  readonly first?: Thread | undefined;
}

function beside(shared: boolean, first?: Thread): Place {
  const engine = new WasmEngine(shared);
  return {limits: engine.limits, engine, first};
}

/** A worker, without an engine where its memory is `elsewhere`, and what `use` makes of it: both need memory, which may be late. */
export async function startThread<T>(elsewhere: boolean, use: (first: Thread, limits: MemoryLimits | undefined) => T): Promise<T> {
  for (let left = RETRIES; ; --left) {
    const first = await spawn(script);
    try {
      return use(first, (await first.call('start', [elsewhere])) as MemoryLimits | undefined);
    } catch (problem) {
      first.stop();
      const memory = problem instanceof GossamerError && problem.code === 'out-of-memory';
      if (!memory && script.otherwise()) continue;
      if (left === 0 || !memory) throw problem;
      await waitForAddresses();
    }
  }
}

const startWorker = (): Promise<Place> =>
  startThread(hasThreads(), (first, limits) => (limits ? {limits, first} : beside(true, first)));

/** Throws 'unsupported' when the engine lacks SIMD. `relaxed`: the package has kernels with relaxed SIMD, too. */
export async function open(asked: number | undefined, relaxed: boolean): Promise<Device> {
  if (!hasSimd()) throw new GossamerError('unsupported', 'this engine has no WebAssembly with SIMD');
  if (!isAllowed()) throw new GossamerError('unsupported', "the page's policy lacks script-src 'wasm-unsafe-eval'");
  const fallbacks: Fallback[] = [];
  let threads = wantedThreads(asked);
  if (threads > 1 && !hasThreads()) {
    fallbacks.push({
      what: `one thread instead of ${threads}`,
      reason:
        'the page is not cross-origin isolated (it needs ' +
        'Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp)',
    });
    threads = 1;
  }
  const adapter = (where: string): string =>
    `WebAssembly SIMD${relaxed && hasRelaxedSimd() ? ', relaxed' : ''}, ${where}`;
  // A page's main thread must stay free and may not wait; workers and Node may.
  if (typeof document !== 'undefined') {
    try {
      return new WasmDevice(await startWorker(), threads, fallbacks, adapter('in a worker'));
    } catch (problem) {
      fallbacks.push({
        what: 'one thread on the main thread',
        reason: `a worker could not be started: ${messageOf(problem)}`,
      });
      threads = 1;
    }
  }
  return new WasmDevice(beside(threads > 1), threads, fallbacks, adapter('beside the caller'));
}
