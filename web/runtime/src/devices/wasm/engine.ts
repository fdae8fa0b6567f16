/**
 * Kernels of wasm packages in one linear memory. Lives beside the caller, in pages with another thread on the same
 * memory that computes what takes long; in a worker where memory cannot be shared. Blocks are addresses, so that
 * calls can travel as messages.
 */
import type {Pieces, PlanSize} from '../device.ts';
import {findSegments, PlanMemory} from '../../package/plan_module.ts';
import {GossamerError, messageOf} from '../../values/types.ts';
import {Arena} from './arena.ts';
import type {MemoryLimits} from './memory_import.ts';
import {CONTROL_BYTES, giveScratch, type Gone, type KernelFunction, type Kernels, Pool, type SharedKernels} from './pool.ts';
import {DONE_OF, HEAD, MICROS, RANGE, ROW, type Table} from './table.ts';

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

/** What load() gives. */
export interface Loaded {
  /** The number of its first kernel. */
  readonly first: number;
  readonly shared: SharedKernels | undefined;
}

interface LoadedProgram {
  readonly count: number;
  readonly plan: PlanMemory | undefined;
  /** Of the plan's values and scratch memory; 0: none. */
  readonly blocks: readonly number[];
}

export class WasmEngine {
  /** What the module's memory import has to say. */
  readonly limits: MemoryLimits;
  readonly #memory: WebAssembly.Memory;
  readonly #arena: Arena;
  /** Of all programs, one behind the other; holes where one has gone. */
  readonly #kernels: Kernels = [];
  readonly #pool: Pool;
  readonly #programs = new Map<number, LoadedProgram>();
  /** Programs that have gone and other threads still have. */
  readonly #gone: Gone[] = [];

  constructor(shared: boolean) {
    const {memory, maximum} = makeMemory(shared);
    this.#memory = memory;
    this.limits = {minimum: 0, maximum, shared};
    this.#arena = new Arena(CONTROL_BYTES, PAGE, maximum * PAGE, (end) => {
      memory.grow(Math.ceil((end - memory.buffer.byteLength) / PAGE));
    });
    this.#pool = new Pool(memory, this.#kernels);
  }

  /**
   * Compiles the kernels of a module with these limits, and gives the number of the first. Where memory is shared, with
   * what other threads need, so many; when all have it join() may follow.
   */
  async load(module: Uint8Array, entries: readonly string[], plan: PlanSize | undefined, threads: number): Promise<Loaded> {
    let compiled: WebAssembly.Module;
    let instance: WebAssembly.Instance;
    const env = {memory: this.#memory};
    try {
      compiled = await WebAssembly.compile(module as Uint8Array<ArrayBuffer>);
      instance = await WebAssembly.instantiate(compiled, {env});
    } catch (problem) {
      throw new GossamerError('kernel', `the engine refuses kernels.wasm: ${messageOf(problem)}`);
    }
    const kernels = entries.map((entry) => {
      const kernel = instance.exports[entry];
      if (typeof kernel === 'function') return kernel as KernelFunction;
      throw new GossamerError('damaged', `kernels.wasm exports no function "${entry}"`);
    });
    const segments = plan && findSegments(instance.exports, plan.segments, 'kernels.wasm');
    const address = plan ? this.#arena.allocate(8 * (plan.dims + plan.values)) : 0;
    let room = 0;
    giveScratch(instance.exports, (bytes) => (room = this.#arena.allocate(bytes * (threads + 1))));
    const first = this.#kernels.length;
    this.#kernels.push(...kernels);
    this.#programs.set(first, {
      count: kernels.length,
      blocks: [address, room],
      plan: segments && new PlanMemory(this.#memory, segments, plan, address),
    });
    const gone = this.#gone.splice(0);
    return {first, shared: this.limits.shared ? {memory: this.#memory, module: compiled, entries, first, room, gone} : undefined};
  }

  /** Lets go of the program whose first kernel has this number. */
  unload(first: number): void {
    const program = this.#programs.get(first);
    if (!program) return;
    this.#programs.delete(first);
    const {count, blocks} = program;
    this.#kernels.fill(undefined, first, first + count);
    this.#gone.push([first, count]);
    blocks.forEach((block) => this.#arena.free(block));
  }

  /** Other threads are waiting: use them, so many with this one. */
  join(threads: number): void {
    this.#pool.threads = threads;
  }

  /** Of the program whose first kernel has this number. */
  plan(first: number, segment: number, dims: readonly number[]): Float64Array {
    return this.#programs.get(first)?.plan?.evaluate(segment, dims) ?? new Float64Array();
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
  compute(tables: readonly Table[]): Promise<void> {
    return this.#pool.compute(tables);
  }

  /** Copies bytes from a block to another, in pieces. */
  copy(from: number, to: number, bytes: number, pieces: Pieces = {count: 1, from: 0, to: 0}): void {
    const memory = new Uint8Array(this.#memory.buffer);
    for (let at = 0; at < pieces.count; ++at) {
      const begin = from + at * pieces.from;
      memory.copyWithin(to + at * pieces.to, begin, begin + bytes);
    }
  }

  /** Gives a table the ranges and arguments of another; what is known of its times stays. */
  update(table: number, from: Int32Array): void {
    const words = new Int32Array(this.#memory.buffer, table, from.length);
    const args = HEAD + ROW * (from[DONE_OF] as number);
    for (let row = HEAD; row < args; row += ROW) words[row + RANGE] = from[row + RANGE] as number;
    words.set(from.subarray(args), args);
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
