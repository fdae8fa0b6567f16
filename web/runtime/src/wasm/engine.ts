/**
 * Kernels of a wasm package in one linear memory. Lives beside the caller, in pages with another thread on the same
 * memory that computes what takes long; in a worker where memory cannot be shared. Blocks are addresses, so that
 * calls can travel as messages.
 */
import type {PlanSize} from '../device.ts';
import {findSegments, PlanMemory} from '../plan_module.ts';
import {GossamerError, messageOf} from '../types.ts';
import {Arena} from './arena.ts';
import type {MemoryLimits} from './memory_import.ts';
import {CONTROL_BYTES, type KernelFunction, Pool, type SharedKernels} from './pool.ts';
import {MICROS, type Table} from './table.ts';

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
  #kernels: KernelFunction[] = [];
  #pool: Pool | undefined;
  #plan: PlanMemory | undefined;

  constructor(shared: boolean) {
    const {memory, maximum} = makeMemory(shared);
    this.#memory = memory;
    this.limits = {minimum: 0, maximum, shared};
    this.#arena = new Arena(CONTROL_BYTES, PAGE, maximum * PAGE, (end) => {
      memory.grow(Math.ceil((end - memory.buffer.byteLength) / PAGE));
    });
  }

  /** Compiles the kernels of a module with these limits. Where memory is shared, gives what other threads need; then join() may follow. */
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
    this.join(1);
    return this.limits.shared ? {memory: this.#memory, module: compiled, entries} : undefined;
  }

  /** Other threads are waiting: use them, so many with this one. */
  join(threads: number): void {
    this.#pool = new Pool(this.#memory, this.#kernels, threads);
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

  write(block: number, data: Uint8Array): void {
    new Uint8Array(this.#memory.buffer).set(data, block);
  }

  /** As Pool.compute(). */
  compute(tables: readonly Table[]): Promise<void> | undefined {
    return this.#pool?.compute(tables);
  }

  /** Microseconds of the latest time of these tables. */
  timeOf(tables: readonly Table[]): number {
    const words = new Int32Array(this.#memory.buffer);
    return tables.reduce((sum, [table]) => sum + (words[table / 4 + MICROS] as number), 0);
  }

  read(block: number, bytes: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, block, bytes).slice();
  }
}
