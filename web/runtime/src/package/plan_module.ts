import type {PlanSize} from '../devices/device.ts';
import {GossamerError, messageOf} from '../values/types.ts';

type Segment = (dims: number, values: number) => void;

/** The functions of a plan's segments: "plan", "plan_1", ... Throws 'damaged' when one is missing. */
export function findSegments(
  exports: WebAssembly.Exports,
  segments: number,
  file: string,
): Segment[] {
  return Array.from({length: segments}, (_, at) => {
    const name = at === 0 ? 'plan' : `plan_${at}`;
    const found = exports[name];
    if (typeof found === 'function') return found as Segment;
    throw new GossamerError('damaged', `${file} exports no function "${name}"`);
  });
}

/** Variables, and behind them the values, all f64, from `address` (a multiple of 8) on. */
export class PlanMemory {
  readonly #memory: WebAssembly.Memory;
  readonly #segments: readonly Segment[];
  readonly #size: PlanSize;
  readonly #address: number;

  constructor(
    memory: WebAssembly.Memory,
    segments: readonly Segment[],
    size: PlanSize,
    address: number,
  ) {
    this.#memory = memory;
    this.#segments = segments;
    this.#size = size;
    this.#address = address;
  }

  evaluate(segment: number, dims: readonly number[]): Float64Array {
    const at = this.#address + 8 * dims.length;
    new Float64Array(this.#memory.buffer, this.#address, dims.length).set(dims);
    const values = new Float64Array(this.#memory.buffer, at, this.#size.values);
    if (segment === 0) values.fill(0);
    this.#segments[segment]?.(this.#address, at);
    return values.slice();
  }
}

/** plan.wasm of a GPU package: from dimensions to sizes, ranges and scalars, on the caller's thread. */
export async function createPlan(
  module: Uint8Array,
  size: PlanSize,
): Promise<PlanMemory> {
  const pages = Math.ceil((8 * (size.values + size.dims)) / 65536);
  const memory = new WebAssembly.Memory({initial: pages});
  try {
    const {instance} = await WebAssembly.instantiate(module as Uint8Array<ArrayBuffer>, {env: {memory}});
    const segments = findSegments(instance.exports, size.segments, 'plan.wasm');
    return new PlanMemory(memory, segments, size, 0);
  } catch (problem) {
    if (problem instanceof GossamerError) throw problem;
    throw new GossamerError('kernel', `the engine refuses plan.wasm: ${messageOf(problem)}`);
  }
}
