/** Where programs run: compiled by the compiler of the page, run by its run time on tensors that stay on the device. */
import {Compiler} from '../../compiler/src/index.ts';
import type {ComputeDevice, DeviceTensor, Feed, Model} from '../../runtime/src/index.ts';
import {bytesOf, type DType, GossamerError, product, type TensorData} from '../../runtime/src/types.ts';
import {compilerModule, type Device, type Stored} from './recording.ts';

export interface Port {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

const TARGETS = {cpu: 'wasm', webgpu: 'webgpu', webgl: 'webgl'} as const;

/** Programs that stay ready; the one that was not used longest goes first. */
const MOST_PROGRAMS = 64;

/** After so many launches the page's events have their turn, and what was collected is let go of: a loop of awaits gives it none. */
const TURN = 64;

/** One for all devices, which stays for the next program. */
let compiler: Promise<Compiler> | undefined;

/** What a launch gives: read, or on the device. */
type Made = DeviceTensor | Promise<TensorData>;

type Source = TensorData | Promise<TensorData | DeviceTensor> | DeviceTensor;

const isHost = (source: unknown): source is TensorData => ArrayBuffer.isView(source);

/** Elements, in the page's memory or on the device. */
class Elements implements Stored {
  readonly device: Device;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: number;
  #source: Source | undefined;
  /** Launches that are still to read them. */
  #claims = 0;
  #disposed = false;
  #fed = false;

  constructor(device: Device, {dtype, shape}: Port, source: Source) {
    this.device = device;
    this.dtype = dtype;
    this.shape = shape;
    this.bytes = product(shape) * bytesOf(dtype);
    this.#source = source;
    if (!(source instanceof Promise)) return;
    source.then((made) => {
      if (this.#source) this.#source = made;
      else if (!isHost(made)) made.dispose();
    }, () => undefined); // the error is of those who read them
  }

  /** A copy, as the array may be fed again. */
  async read(): Promise<TensorData> {
    if (!this.#source) throw new GossamerError('disposed', 'these elements were disposed');
    const source = await this.#source;
    return isHost(source) ? source.slice() : source.data();
  }

  claim(): this {
    this.#claims += 1;
    return this;
  }

  /** For a launch that claimed them, and whether nobody wants them afterwards. What is fed a second time goes to the device. */
  async feed(on: ComputeDevice): Promise<{feed: Feed; last: boolean}> {
    let source = await (this.#source as Source);
    const {dtype, shape} = this;
    const last = this.#disposed && this.#claims === 1;
    if (isHost(source) && this.#fed && !last) this.#source = source = on.tensor(source, {dtype, shape});
    this.#fed = true;
    return {feed: isHost(source) ? {dtype, shape, data: source} : source, last: last && !isHost(source)};
  }

  /** The launch has read them; `given`: and has their memory. */
  settle(given: boolean): void {
    this.#claims -= 1;
    if (given) this.#source = undefined;
    else this.#free();
  }

  dispose(): void {
    this.#disposed = true;
    this.#free();
  }

  #free(): void {
    if (!this.#disposed || this.#claims > 0) return;
    const source = this.#source;
    this.#source = undefined;
    if (source && !isHost(source) && !(source instanceof Promise)) source.dispose();
  }
}

/** Of 'cpu'; the run time's default where nobody said. */
let threads: number | undefined;

/** How many threads compute on 'cpu', from the first program on. Throws 'input' when that has begun, and for what is no count. */
export function setNumThreads(count: number): void {
  if (!(count >= 1)) throw new GossamerError('input', `${count} threads`);
  if (allEngines().some(({device}) => device === 'cpu')) throw new GossamerError('input', 'a program has run already: say how many threads before');
  threads = count;
}

/** One device. Calls return at once; launches are made in order. */
export class Engine {
  readonly device: Device;
  readonly #models = new Map<number, Promise<Model>>();
  #opened: Promise<ComputeDevice> | undefined;
  #compiled = 0;
  #launches = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** The smallest result of the latest launch. */
  #probe: Stored | undefined;

  constructor(device: Device) {
    this.device = device;
  }

  /** How many programs are ready, and how many were compiled. */
  get programs(): {readonly ready: number; readonly compiled: number} {
    return {ready: this.#models.size, compiled: this.#compiled};
  }

  /** The caller's elements, which must not change any more. */
  upload(port: Port, data: TensorData | Promise<TensorData>): Stored {
    return new Elements(this.device, port, data);
  }

  /**
   * Computes `outputs` from `feeds`; those of them that are `read` come to the page in the same submission, the others stay on the
   * device. `model` gives the ONNX bytes where the program is new. The memory of feeds that are disposed of before the page's next
   * turn may become that of outputs.
   */
  run(program: number, model: () => Uint8Array, feeds: readonly Stored[], outputs: readonly Port[], read: readonly boolean[]): Stored[] {
    const ready = this.#ready(program, model);
    const claimed = feeds.map((feed) => (feed as Elements).claim());
    const before = this.#last;
    const launched = (async () => {
      await before;
      return this.#launch(await ready, claimed, read);
    })();
    this.#last = launched.catch(() => undefined);
    const made = outputs.map((port, at) => new Elements(this.device, port, launched.then<TensorData | DeviceTensor>((all) => all[at] as Made)));
    this.#probe = made.reduce((least, each) => (each.bytes < least.bytes ? each : least));
    return made;
  }

  async #launch(model: Model, claimed: readonly Elements[], read: readonly boolean[]): Promise<Made[]> {
    if (++this.#launches % TURN === 0) await new Promise((resolve) => setTimeout(resolve));
    const device = await this.#open();
    const feeds: Record<string, Feed> = {};
    const donate: string[] = [];
    const given = await Promise.all(claimed.map((each) => each.feed(device)));
    given.forEach(({feed, last}, at) => {
      feeds[`i${at}`] = feed;
      if (last) donate.push(`i${at}`);
    });
    const fetches = read.flatMap((each, at) => (each ? [`o${at}`] : []));
    try {
      const results = await model.run<DeviceTensor>(feeds, {location: 'device', fetches, donate});
      return read.map((host, at) => {
        const result = results[`o${at}`] as DeviceTensor;
        return host ? result.data() : result;
      });
    } finally {
      claimed.forEach((each, at) => each.settle(given[at]?.last ?? false));
    }
  }

  /** Resolves when all that was launched is done. */
  async idle(): Promise<void> {
    await this.#last;
    await this.#probe?.read().catch(() => undefined);
  }

  #open(): Promise<ComputeDevice> {
    this.#opened ??= import('../../runtime/src/index.ts').then(({openDevice}) => openDevice(TARGETS[this.device], {threads}));
    return this.#opened;
  }

  #ready(program: number, model: () => Uint8Array): Promise<Model> {
    const known = this.#models.get(program);
    this.#models.delete(program);
    const ready = known ?? this.#compile(model());
    this.#models.set(program, ready);
    if (known) return known;
    ready.catch(() => this.#models.delete(program));
    if (this.#models.size > MOST_PROGRAMS) {
      const [oldest, its] = this.#models.entries().next().value as [number, Promise<Model>];
      this.#models.delete(oldest);
      // Launches before this one may still want it.
      void Promise.all([its, this.idle()]).then(([each]) => each.dispose(), () => undefined);
    }
    return ready;
  }

  async #compile(model: Uint8Array): Promise<Model> {
    this.#compiled += 1;
    compiler ??= Compiler.open({wasm: compilerModule});
    const device = this.#open();
    const files = await (await compiler).compile(model, {target: TARGETS[this.device]});
    const {load} = await import('../../runtime/src/index.ts');
    return load(files, {device: await device});
  }
}

const engines = new Map<Device, Engine>();

export function engineOf(device: Device): Engine {
  let engine = engines.get(device);
  if (!engine) engines.set(device, (engine = new Engine(device)));
  return engine;
}

export const allEngines = (): Engine[] => [...engines.values()];
