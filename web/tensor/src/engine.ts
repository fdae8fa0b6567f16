/** Where programs run: compiled by the compiler of the page, run by its run time on tensors that stay on the device. */
import type {Ends} from '../../runtime/src/session/bindings.ts';
import type {ComputeDevice, DeviceTensor, Model} from '../../runtime/src/index.ts';
import {encode} from '../../runtime/src/values/encoding.ts';
import type {Tensor} from '../../runtime/src/values/tensor.ts';
import {bytesOf, type DType, GossamerError, product, type TensorData} from '../../runtime/src/values/types.ts';
import type {Snapshot} from './picture.ts';
import {compilerModule, type Device, type Stored} from './recording.ts';
import {giveUp} from './spare.ts';

export interface Port {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** What is to run. */
export interface Wanted {
  readonly program: number;
  /** One for other extents, too. */
  readonly general: number | undefined;
  readonly model: (program: number) => ProgramModel;
}

/** A program to compile. */
export interface ProgramModel {
  readonly onnx: Uint8Array;
  /** By name, what lies in no file of it. */
  readonly weights: ReadonlyMap<string, Stored>;
}

/** A program that runs, or did. */
export interface ProgramProfile {
  readonly device: Device;
  /** Whether extents are dimensions of it: the same program for other batches and lengths. */
  readonly general: boolean;
  /** How often it ran, and how often the general one did in its place before. */
  readonly runs: number;
  readonly before: number;
  /** From its model to kernels on the device, in ms; undefined while that is under way, or where it is not wanted yet. */
  readonly compileMs: number | undefined;
}

type Counts = {-readonly [Name in 'runs' | 'before' | 'compileMs' | 'general']: ProgramProfile[Name]};

let specializeAfter = 8;

/**
 * Where a program comes again with other extents, one whose extents are dimensions stands in; after so many runs with the same ones
 * a program of these alone is compiled beside, and after as many again it takes over. 0: programs of their own at once. Infinity: never. Returns what it was before.
 */
export function setSpecializeAfter(runs: number): number {
  const before = specializeAfter;
  specializeAfter = runs;
  return before;
}

const TARGETS = {cpu: 'wasm', webgpu: 'webgpu', webgl: 'webgl'} as const;

/** Programs that stay ready; the one that was not used longest goes first. */
const MOST_PROGRAMS = 64;

/** After so many launches the page's events have their turn, and what was collected is let go of: a loop of awaits gives it none. */
const TURN = 64;

/** What a launch gives: read, or on the device. */
type Made = DeviceTensor | Promise<TensorData>;

type Source = TensorData | DeviceTensor | Promise<TensorData | DeviceTensor | Made[]>;

/** What a launch is fed, and whether nobody else wants it. */
interface Given {
  readonly feed: Tensor | DeviceTensor;
  readonly last: boolean;
}

const isHost = (source: unknown): source is TensorData => ArrayBuffer.isView(source);

/** Elements, in the page's memory or on the device. */
export class Elements implements Stored {
  readonly device: Device;
  readonly dtype: DType;
  shape: readonly number[];
  #source: Source | undefined;
  readonly #at: number;
  /** What was uploaded to a GPU, which may be lost. */
  #copy: TensorData | undefined;
  /** Launches that are still to read them. */
  #claims = 0;
  #disposed = false;
  #fed = false;
  /** Told when nobody holds them any more. */
  #watchers: (() => void)[] | undefined;

  /** `at`: its place in what is waited for. */
  constructor(device: Device, {dtype, shape}: Port, source: Source, at?: number) {
    this.device = device;
    this.dtype = dtype;
    this.shape = shape;
    this.#source = source;
    this.#at = at ?? 0;
    if (!(source instanceof Promise) || at !== undefined) return;
    source.then((made) => this.arrive(made as Made), () => undefined); // the error is of those who read them
  }

  /** What was waited for is there. */
  arrive(made: Made | TensorData): void {
    if (this.#source) this.#source = made;
    else if (!isHost(made) && !(made instanceof Promise)) made.dispose();
    if (made instanceof Promise) made.then((data) => this.#source && (this.#source = data), () => undefined);
  }

  // Private methods are static: others would mark all elements that are made.

  /** Once it is there. */
  static async #arrived(its: Elements): Promise<TensorData | DeviceTensor> {
    const source = await (its.#source as Source);
    return Array.isArray(source) ? ((await source[its.#at]) as TensorData | DeviceTensor) : source;
  }

  get host(): TensorData | undefined {
    const source = this.#copy ?? this.#source;
    return isHost(source) ? source : undefined;
  }

  get bytes(): number {
    return product(this.shape) * bytesOf(this.dtype);
  }

  /** A copy, as the array may be fed again. */
  async read(): Promise<TensorData> {
    const given = this.#copy ?? this.#source;
    if (!given) throw new GossamerError('disposed', 'these elements were disposed');
    // At once: when they are disposed of, the array is another tensor's.
    const source = isHost(given) ? given : await Elements.#arrived(this);
    return isHost(source) ? source.slice() : source.data().catch(advised);
  }

  /** The shape, once a run has decided it. */
  async decided(): Promise<readonly number[]> {
    const source = await Elements.#arrived(this);
    if (!isHost(source)) this.shape = source.shape;
    return this.shape;
  }

  claim(): this {
    this.#claims += 1;
    return this;
  }

  /** For a launch that claimed them, and whether nobody wants them afterwards. What is fed a second time goes to the device. */
  feed(on: ComputeDevice): Given | Promise<Given> {
    let source = this.#source as Source;
    if (source instanceof Promise) return Elements.#arrived(this).then(() => this.feed(on));
    if (!isHost(source) && source.device !== on) {
      // That device was lost.
      const again = (data: TensorData): Given | Promise<Given> => {
        this.#source = data;
        return this.feed(on);
      };
      return this.#copy ? again(this.#copy) : source.data().catch(advised).then(again);
    }
    const {dtype, shape} = this;
    const last = this.#disposed && this.#claims === 1;
    if (isHost(source) && this.#fed && !last) {
      if (this.device !== 'cpu') this.#copy = source;
      this.#source = source = on.tensor(source, {dtype, shape});
    }
    this.#fed = true;
    return {feed: isHost(source) ? {dtype, shape, data: source} : source, last: last && !isHost(source)};
  }

  /** The launch has read them; `given`: and has their memory. */
  settle(given: boolean): void {
    this.#claims -= 1;
    if (given) this.#source = undefined;
    else Elements.#free(this);
  }

  /** As they lie in memory, in an array of the caller's own; from here on they are in the page's memory alone, as a program has them, too. */
  async weight(): Promise<Uint8Array> {
    const source = this.#source instanceof Promise ? await Elements.#arrived(this) : this.#source;
    const data = await this.read();
    if (source && !isHost(source) && this.#source === source) {
      this.#source = data.slice();
      this.#fed = false;
      source.dispose();
    }
    const raw = this.dtype === 'f16' ? encode(data, 'f16') : data;
    return new Uint8Array(raw.buffer as ArrayBuffer, raw.byteOffset, raw.byteLength);
  }

  /** Calls `gone` when nobody holds them any more. */
  watch(gone: () => void): void {
    if (this.#disposed) gone();
    else (this.#watchers ??= []).push(gone);
  }

  dispose(): void {
    this.#disposed = true;
    this.#watchers?.splice(0).forEach((gone) => gone());
    Elements.#free(this);
  }

  static #free(its: Elements): void {
    if (!its.#disposed || its.#claims > 0) return;
    const source = its.#source;
    giveUp(its.#copy ?? source);
    its.#source = its.#copy = undefined;
    if (source && !isHost(source) && !(source instanceof Promise)) source.dispose();
  }
}

/** Rejects with a device's error and what the page can do. */
const advised = async (problem: unknown): Promise<never> => (await import('./advice.ts')).advised(problem);

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
  /** Bytes of their weights. */
  readonly #weights = new Map<number, number>();
  readonly #counts = new Map<number, Counts>();
  /** Programs that are compiled while the general one goes on. */
  readonly #beside = new Map<number, Promise<Model>>();
  /** General programs that cannot be compiled. */
  readonly #unfit = new Set<number>();
  /** By feeds that are given away and outputs that are read. */
  readonly #ways = new WeakMap<Model, Map<string, Ends>>();
  #opened: Promise<ComputeDevice> | undefined;
  #compiled = 0;
  #launches = 0;
  #latest: Model | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Results of the latest launch. */
  #made: readonly Elements[] = [];

  constructor(device: Device) {
    this.device = device;
  }

  /** Bytes that the program which ran last takes while it runs, beside feeds and outputs. */
  get scratch(): number {
    return this.#latest?.report().memory.transient ?? 0;
  }

  /** Bytes of weights that programs have, as they have them. */
  get weights(): number {
    return [...this.#weights.values()].reduce((sum, bytes) => sum + bytes, 0);
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
   * device. The memory of feeds that are disposed of before the page's next turn may become that of outputs.
   */
  run(wanted: Wanted, feeds: readonly Stored[], outputs: readonly Port[], read: readonly boolean[]): Elements[] {
    const ready = this.#choose(wanted);
    const claimed = feeds.map((feed) => (feed as Elements).claim());
    const before = this.#last;
    let made: Elements[] = [];
    const launched = (async () => {
      try {
        await before;
        const all = await this.#launch(await ready, claimed, read);
        made.forEach((each, at) => each.arrive(all[at] as Made));
        return all;
      } catch (problem) {
        return await advised(problem);
      }
    })();
    this.#last = launched.catch(() => undefined);
    return (this.#made = made = outputs.map((port, at) => new Elements(this.device, port, launched, at)));
  }

  async #launch(model: Model, claimed: readonly Elements[], read: readonly boolean[]): Promise<Made[]> {
    if (++this.#launches % TURN === 0) await new Promise((resolve) => setTimeout(resolve));
    this.#latest = model;
    const device = await this.#open();
    const waiting = claimed.map((each) => each.feed(device));
    const given = waiting.some((each) => each instanceof Promise) ? await Promise.all(waiting.map((each) => Promise.resolve(each))) : (waiting as Given[]);
    const ends = this.#endsOf(model, given, read);
    try {
      const results = await model.runOrdered(given.map(({feed}) => feed), ends instanceof Promise ? await ends : ends);
      return results.map(({data}, at) => (read[at] ? (data as Promise<TensorData>).catch(advised) : (data as DeviceTensor)));
    } finally {
      claimed.forEach((each, at) => each.settle(given[at]?.last ?? false));
    }
  }

  /** How a run of these feeds is fed and read, which is mostly as one before was. */
  #endsOf(model: Model, given: readonly Given[], read: readonly boolean[]): Ends | Promise<Ends> {
    let ways = this.#ways.get(model);
    if (!ways) this.#ways.set(model, (ways = new Map<string, Ends>()));
    let key = '';
    for (const {last} of given) key += last ? 1 : 0;
    for (const host of read) key += host ? 1 : 0;
    const known = ways.get(key);
    if (known) return known;
    const names = (of: readonly boolean[], kind: string): string[] => of.flatMap((is, at) => (is ? [`${kind}${at}`] : []));
    const options = {location: 'device', fetches: names(read, 'o'), donate: names(given.map(({last}) => last), 'i')} as const;
    return model.endsOf(options).then((ends) => {
      ways.set(key, ends);
      return ends;
    });
  }

  /** Resolves when all that was launched is done. */
  async idle(): Promise<void> {
    await this.#last;
    const [smallest] = [...this.#made].sort((a, b) => a.bytes - b.bytes);
    await smallest?.read().catch(() => undefined);
  }

  #open(): Promise<ComputeDevice> {
    if (this.#opened) return this.#opened;
    const opened = (this.#opened = import('../../runtime/src/index.ts').then(({openDevice}) => openDevice(TARGETS[this.device], {threads})));
    const close = (): void => {
      if (this.#opened !== opened) return;
      this.#opened = undefined;
      const gone = [...this.#models.values()];
      this.#models.clear();
      this.#weights.clear();
      // Launches under way say that it is lost, not that their model is disposed of.
      void this.#last.then(() => gone.forEach((model) => void model.then((each) => each.dispose(), () => undefined)));
    };
    // When it is lost the next program opens another.
    opened.then((device) => {
      device.collects = false; // Elements are given back by their tensors
      device.home.backend.life.watch(close);
    }, close);
    return opened;
  }

  /** What a snapshot shows, as pixels of [1, height, width, 4]; it is closed. */
  picture(port: Port, snapshot: Promise<Snapshot>): Stored {
    const [, height = 1, width = 1] = port.shape;
    const make = async (): Promise<DeviceTensor> => {
      const picture = await snapshot;
      try {
        const device = await this.#open();
        return await device.image(picture, {height, width, channels: 4, layout: 'nhwc', dtype: port.dtype, scale: 1, mean: 0, std: 1});
      } finally {
        picture.close();
      }
    };
    return new Elements(this.device, port, make());
  }

  /** What programs did, in the order in which they were first wanted. */
  profile(): ProgramProfile[] {
    return [...this.#counts.values()].map((counts) => ({device: this.device, ...counts}));
  }

  #count(program: number, general = false): Counts {
    let counts = this.#counts.get(program);
    if (!counts) this.#counts.set(program, (counts = {general, runs: 0, before: 0, compileMs: undefined}));
    return counts;
  }

  /** The program, or the general one while it is not there. */
  #choose({program, general, model}: Wanted): Promise<Model> {
    const counts = this.#count(program);
    if (general === undefined || specializeAfter === 0 || this.#models.has(program) || this.#unfit.has(general)) {
      counts.runs += 1;
      return this.#ready(program, model);
    }
    counts.before += 1;
    this.#count(general, true).runs += 1;
    if (counts.before === specializeAfter) {
      this.#beside.set(program, this.#compile(model(program), counts, program).catch(() => this.#ready(general, model)));
    }
    const beside = counts.before === 2 * specializeAfter && this.#beside.get(program);
    // Counted, so that what a run gives does not hang on how long compiling took.
    if (beside) {
      this.#beside.delete(program);
      this.#keep(program, beside);
    }
    return this.#ready(general, model).catch(() => {
      this.#unfit.add(general);
      return this.#ready(program, model);
    });
  }

  #ready(program: number, model: Wanted['model']): Promise<Model> {
    const known = this.#models.get(program);
    // Their order matters when some are to go.
    if (known && 2 * this.#models.size < MOST_PROGRAMS) return known;
    this.#models.delete(program);
    const ready = known ?? this.#compile(model(program), this.#count(program), program);
    this.#keep(program, ready);
    if (!known) ready.catch(() => this.#models.delete(program));
    return ready;
  }

  #keep(program: number, ready: Promise<Model>): void {
    this.#models.set(program, ready);
    if (this.#models.size > MOST_PROGRAMS) this.#retire(this.#models.keys().next().value as number);
  }

  #retire(program: number): void {
    const its = this.#models.get(program);
    this.#models.delete(program);
    this.#weights.delete(program);
    // Launches before this moment may still want it.
    if (its) void Promise.all([its, this.#last]).then(([each]) => each.dispose(), () => undefined);
  }

  async #compile({onnx, weights}: ProgramModel, counts: Counts, program: number): Promise<Model> {
    this.#compiled += 1;
    const held = new Map([...weights].map(([name, each]) => [name, (each as Elements).claim()]));
    try {
      const start = performance.now();
      const opened = this.#open();
      const {loadProgram} = await import('./load_program.ts');
      const made = await loadProgram(compilerModule as WebAssembly.Module, onnx, TARGETS[this.device], opened, (name) => held.get(name)?.weight());
      counts.compileMs = performance.now() - start;
      this.#weights.set(program, made.report().memory.persistent);
      held.forEach((each) => each.watch(() => this.#retire(program)));
      return made;
    } finally {
      held.forEach((each) => each.settle(false));
    }
  }
}

const engines = new Map<Device, Engine>();

export function engineOf(device: Device): Engine {
  let engine = engines.get(device);
  if (!engine) engines.set(device, (engine = new Engine(device)));
  return engine;
}

export const allEngines = (): Engine[] => [...engines.values()];
