/** Where programs run: compiled by the compiler of the page, run by its run time. */
import {Compiler} from '../../compiler/src/index.ts';
import type {Model, Output, Tensor as HostTensor} from '../../runtime/src/index.ts';
import {bytesOf, type DType, GossamerError, product, type TensorData} from '../../runtime/src/types.ts';
import {compilerModule, type Device, type Stored} from './recording.ts';

export interface Port {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** One device. Calls return at once; what they give arrives in order. */
export interface Engine {
  readonly device: Device;
  /** The caller's elements, which must not change any more. */
  upload(port: Port, data: TensorData | Promise<TensorData>): Stored;
  /** Computes `outputs` from `feeds`; `model` gives the ONNX bytes where the program is new. */
  run(program: number, model: () => Uint8Array, feeds: readonly Stored[], outputs: readonly Port[]): Stored[];
  /** Resolves when all that was launched is done. */
  idle(): Promise<void>;
  /** How many programs are ready, and how many were compiled. */
  readonly programs: {readonly ready: number; readonly compiled: number};
}

/** One for all devices, which stays for the next program. */
let compiler: Promise<Compiler> | undefined;

const TARGETS = {cpu: 'wasm', webgpu: 'webgpu', webgl: 'webgl'} as const;

/** Programs that stay ready; the one that was not used longest goes first. */
const MOST_PROGRAMS = 64;

/** Elements in the page's memory. */
class HostValues implements Stored {
  readonly device: Device;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: number;
  #data: TensorData | Promise<TensorData> | undefined;

  constructor(device: Device, {dtype, shape}: Port, data: TensorData | Promise<TensorData>) {
    this.device = device;
    this.dtype = dtype;
    this.shape = shape;
    this.bytes = product(shape) * bytesOf(dtype);
    this.#data = data;
    // The error is of those who read it.
    if (data instanceof Promise) data.then((values) => this.#data && (this.#data = values), () => undefined);
  }

  get now(): TensorData | Promise<TensorData> {
    if (this.#data) return this.#data;
    throw new GossamerError('disposed', 'these elements were disposed');
  }

  read(): Promise<TensorData> {
    return Promise.resolve(this.now);
  }

  dispose(): void {
    this.#data = undefined;
  }
}

class RuntimeEngine implements Engine {
  readonly device: Device;
  readonly #models = new Map<number, Promise<Model>>();
  #compiled = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(device: Device) {
    this.device = device;
  }

  get programs(): {ready: number; compiled: number} {
    return {ready: this.#models.size, compiled: this.#compiled};
  }

  idle(): Promise<void> {
    return this.#last;
  }

  upload(port: Port, data: TensorData | Promise<TensorData>): Stored {
    return new HostValues(this.device, port, data);
  }

  run(program: number, model: () => Uint8Array, feeds: readonly Stored[], outputs: readonly Port[]): Stored[] {
    // Taken at once: the caller may dispose them as soon as this returns.
    const given = feeds.map((feed) => [feed as Port, (feed as HostValues).now] as const);
    const done = this.#run(this.#ready(program, model), given);
    const before = this.#last;
    this.#last = Promise.allSettled([before, done]).then(() => undefined);
    return outputs.map((port, at) =>
      new HostValues(this.device, port, done.then((all) => (all[at] as Output).data<TensorData>())),
    );
  }

  async #run(
    ready: Promise<Model>,
    given: readonly (readonly [Port, TensorData | Promise<TensorData>])[],
  ): Promise<Output[]> {
    const model = await ready;
    const feeds: Record<string, HostTensor> = {};
    for (const [at, [{dtype, shape}, data]] of given.entries()) feeds[`i${at}`] = {dtype, shape, data: await data};
    const results = await model.run(feeds);
    return model.outputs.map(({name}) => results[name] as Output);
  }

  #ready(program: number, model: () => Uint8Array): Promise<Model> {
    const known = this.#models.get(program);
    this.#models.delete(program);
    const ready = known ?? this.#compile(model());
    this.#models.set(program, ready);
    if (this.#models.size > MOST_PROGRAMS) {
      const [oldest, its] = this.#models.entries().next().value as [number, Promise<Model>];
      this.#models.delete(oldest);
      void its.then((each) => each.dispose(), () => undefined);
    }
    if (!known) ready.catch(() => this.#models.delete(program));
    return ready;
  }

  async #compile(model: Uint8Array): Promise<Model> {
    this.#compiled += 1;
    const target = TARGETS[this.device];
    compiler ??= Compiler.open({wasm: compilerModule});
    const loading = import('../../runtime/src/index.ts');
    const files = await (await compiler).compile(model, {target});
    return (await loading).load(files, {device: target});
  }
}

const engines = new Map<Device, Engine>();

export function engineOf(device: Device): Engine {
  let engine = engines.get(device);
  if (!engine) engines.set(device, (engine = new RuntimeEngine(device)));
  return engine;
}

export const allEngines = (): Engine[] => [...engines.values()];
