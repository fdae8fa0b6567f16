/**
 * Kernels of a wasm package in one linear memory. Synchronous where it computes; lives in a worker in
 * pages and behind the same calls in Node. Handles are numbers, so that calls can travel as messages.
 */
import type {PlanSize} from '../device.ts';
import {findSegments, PlanMemory} from '../plan_module.ts';
import {GossamerError, messageOf} from '../types.ts';
import {Arena} from './arena.ts';
import type {MemoryLimits} from './memory_import.ts';
import {CONTROL_BYTES, type KernelFunction, Pool, type SharedKernels} from './pool.ts';

/** A launch as it travels: `buffers` are handles. */
export interface WasmLaunch {
  readonly kernel: number;
  readonly name: string;
  readonly buffers: readonly number[];
  readonly scalars: readonly number[];
  readonly range: number;
}

interface Step {
  readonly kernel: number;
  readonly name: string;
  readonly args: number;
  readonly range: number;
  /** Its first runs, in which all threads help, and the shortest of these: code is being compiled in others. */
  tries: number;
  least: number;
}

const TRIES = 4;

/** A shared launch that takes less would take no longer alone. */
const WORTH_SHARING_MS = 0.05;

const PAGE = 65536;
const MAX_PAGES = 65536;

/** Some engines cannot reserve 4 GiB of addresses for a shared memory; smaller ones do for most. */
function makeMemory(shared: boolean): {memory: WebAssembly.Memory; maximum: number} {
  for (let maximum = MAX_PAGES; ; maximum /= 2) {
    try {
      return {memory: new WebAssembly.Memory({initial: 1, maximum, shared}), maximum};
    } catch (problem) {
      if (maximum < 1024) {
        throw new GossamerError('out-of-memory', `no wasm memory: ${messageOf(problem)}`);
      }
    }
  }
}

export class WasmEngine {
  /** What the module's memory import has to say. */
  readonly limits: MemoryLimits;
  readonly #memory: WebAssembly.Memory;
  readonly #arena: Arena;
  readonly #threads: number;
  #pool: Pool | undefined;
  #kernels: KernelFunction[] = [];
  #plan: PlanMemory | undefined;
  readonly #recordings = new Map<number, {steps: Step[]; block: number}>();
  /**
   * What ended the last run, and every run after it. Kernels of the compiler do not trap on any input,
   * so one that does had wrong addresses, and may have written over weights before.
   */
  #failure: GossamerError | undefined;

  constructor(threads: number) {
    const shared = threads > 1;
    const {memory, maximum} = makeMemory(shared);
    this.#memory = memory;
    this.limits = {minimum: 0, maximum, shared};
    this.#threads = threads;
    this.#arena = new Arena(CONTROL_BYTES, PAGE, maximum * PAGE, (end) => {
      memory.grow(Math.ceil((end - memory.buffer.byteLength) / PAGE));
    });
  }

  /** Compiles the kernels of a module with these limits. With several threads, gives what the others need; then join() follows. */
  async load(
    module: Uint8Array,
    entries: readonly string[],
    plan: PlanSize | undefined,
  ): Promise<SharedKernels | undefined> {
    let compiled: WebAssembly.Module;
    let instance: WebAssembly.Instance;
    const env = {memory: this.#memory};
    try {
      compiled = await WebAssembly.compile(module as Uint8Array<ArrayBuffer>);
      instance = await WebAssembly.instantiate(compiled, {env});
    } catch (problem) {
      throw new GossamerError('kernel', `the engine refuses kernels.wasm: ${messageOf(problem)}`);
    }
    this.#kernels = entries.map((entry) => {
      const kernel = instance.exports[entry];
      if (typeof kernel === 'function') return kernel as KernelFunction;
      throw new GossamerError('damaged', `kernels.wasm exports no function "${entry}"`);
    });
    if (plan) {
      const segments = findSegments(instance.exports, plan.segments, 'kernels.wasm');
      const address = this.#arena.allocate(8 * (plan.dims + plan.values));
      this.#plan = new PlanMemory(this.#memory, segments, plan, address);
    }
    return this.#threads > 1 ? {memory: this.#memory, module: compiled, entries} : undefined;
  }

  /** The other threads are waiting: use them. */
  join(): void {
    this.#pool = new Pool(this.#memory, this.#kernels, this.#threads);
  }

  plan(segment: number, dims: readonly number[]): Float64Array {
    return this.#plan?.evaluate(segment, dims) ?? new Float64Array();
  }

  /** Zeroed memory for each size; none at all when one does not fit. */
  allocate(sizes: readonly number[]): number[] {
    const blocks: number[] = [];
    const {fresh} = this.#arena;
    try {
      for (const size of sizes) blocks.push(this.#arena.allocate(size));
    } catch (problem) {
      blocks.forEach((block) => this.#arena.free(block));
      throw problem;
    }
    const bytes = new Uint8Array(this.#memory.buffer);
    // Fresh memory is zero, and takes none of the machine's until it is written.
    blocks.forEach((block, at) => bytes.fill(0, block, Math.min(block + (sizes[at] ?? 0), fresh)));
    return blocks;
  }

  free(block: number): void {
    this.#arena.free(block);
  }

  /** `id` is the caller's choice, so that nobody waits for an answer. */
  record(id: number, launches: readonly WasmLaunch[]): void {
    const words = launches.reduce((sum, each) => sum + each.buffers.length + each.scalars.length, 0);
    const block = this.#arena.allocate(4 * words);
    const memory = new Int32Array(this.#memory.buffer, block, words);
    let at = 0;
    const steps: Step[] = [];
    for (const {kernel, name, buffers, scalars, range} of launches) {
      if (range > 0) steps.push({kernel, name, args: block + 4 * at, range, tries: 0, least: Infinity});
      memory.set(buffers, at);
      memory.set(scalars, at + buffers.length);
      at += buffers.length + scalars.length;
    }
    this.#recordings.set(id, {steps, block});
  }

  forget(id: number): void {
    const recording = this.#recordings.get(id);
    if (recording) this.#arena.free(recording.block);
    this.#recordings.delete(id);
  }

  write(block: number, data: Uint8Array): void {
    new Uint8Array(this.#memory.buffer).set(data, block);
  }

  async submit(id: number): Promise<void> {
    if (this.#failure) throw this.#failure;
    const pool = this.#pool;
    for (const step of this.#recordings.get(id)?.steps ?? []) {
      const {kernel, name, args, range} = step;
      try {
        if (!pool || range === 1 || (step.tries === TRIES && step.least < WORTH_SHARING_MS)) {
          this.#kernels[kernel]?.(0, range, args);
        } else {
          const begin = performance.now();
          const late = pool.run(kernel, args, range);
          if (late) await late;
          if (step.tries < TRIES) {
            ++step.tries;
            step.least = Math.min(step.least, performance.now() - begin);
          }
        }
      } catch (problem) {
        throw (this.#failure =
          problem instanceof GossamerError
            ? problem
            : new GossamerError('kernel', `${name} trapped: ${messageOf(problem)}; load the model again`));
      }
    }
  }

  read(block: number, bytes: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, block, bytes).slice();
  }
}
