import {GossamerError, messageOf} from './types.ts';
import {withMemoryLimits} from './wasm/memory_import.ts';

/** plan.wasm of a GPU package: from dimensions to sizes, ranges and scalars, on the caller's thread. */
export class PlanModule {
  readonly #memory: WebAssembly.Memory;
  readonly #plan: (dims: number, values: number) => void;
  readonly #values: number;

  private constructor(memory: WebAssembly.Memory, plan: unknown, values: number) {
    if (typeof plan !== 'function') {
      throw new GossamerError('damaged', 'plan.wasm exports no plan function');
    }
    this.#memory = memory;
    this.#plan = plan as (dims: number, values: number) => void;
    this.#values = values;
  }

  static async create(module: Uint8Array, values: number): Promise<PlanModule> {
    const pages = Math.ceil((4 * (values + 64)) / 65536);
    const memory = new WebAssembly.Memory({initial: pages});
    try {
      const patched = withMemoryLimits(module, {minimum: 0, maximum: undefined, shared: false});
      const {instance} = await WebAssembly.instantiate(patched as Uint8Array<ArrayBuffer>, {
        env: {memory},
      });
      return new PlanModule(memory, instance.exports['plan'], values);
    } catch (problem) {
      if (problem instanceof GossamerError) throw problem;
      throw new GossamerError('kernel', `the engine refuses plan.wasm: ${messageOf(problem)}`);
    }
  }

  evaluate(dims: readonly number[]): Int32Array {
    if (dims.length > 64) throw new GossamerError('input', 'more than 64 dynamic dimensions');
    new Int32Array(this.#memory.buffer).set(dims);
    this.#plan(0, 4 * dims.length);
    return new Int32Array(this.#memory.buffer, 4 * dims.length, this.#values).slice();
  }
}
