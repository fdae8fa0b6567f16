import {type Ends, type OnDevice, TO_HOST} from './bindings.ts';
import type {Device, Fallback} from '../devices/device.ts';
import {areParts, copied, type Feed, type Flat, gather, isFlat, type Part, signature, spread, takeAll} from './feeds.ts';
import type {GenerateOptions} from '../generate/options.ts';
import type {Group, Manifest} from '../package/manifest.ts';
import type {Profile, ProfileOptions} from '../profile/profile.ts';
import {type ValuePort, valuePorts} from './ports.ts';
import type {Loss, ModelParts, Recovery} from './recovery.ts';
import type {RawOutput} from './session.ts';
import {unpackStrings} from '../values/strings.ts';
import type * as Tensors from '../tensors/tensors.ts';
import type {Output, Tensor} from '../values/tensor.ts';
import {type DeviceKind, type DType, GossamerError, type TensorData} from '../values/types.ts';

/** An input or output. Dynamic dimensions are names ("h"), or "?" where computed from others. */
export interface PortInfo {
  readonly name: string;
  readonly dtype: DType | 'string';
  readonly shape: readonly (number | string)[];
  /** An input that run() may leave out: the model has a default for it. */
  readonly optional?: boolean;
}

export interface KernelReport {
  /** What the compiler called it, such as "conv.relu". */
  readonly name: string;
  /** The nodes of the model that it computes. */
  readonly origin: string;
  readonly schedule: string;
  /** Where it runs. */
  readonly device: DeviceKind;
  /** 'init': once at load; 'run': every time. */
  readonly phase: 'init' | 'run';
  /** How often it ran in the latest run. */
  readonly times: number;
  /** Why it runs on another device than the package's; undefined if it does not. */
  readonly reason: string | undefined;
}

/** A tensor that goes from one device to another. */
export interface CopyReport {
  readonly tensor: string;
  readonly from: DeviceKind;
  readonly to: DeviceKind;
  /** How often, in the latest run. */
  readonly times: number;
}

/** What runs where, and why. */
export interface Report {
  readonly model: string;
  readonly device: DeviceKind;
  readonly adapter: string;
  readonly threads: number;
  readonly kernels: readonly KernelReport[];
  /** Copies of the latest run between devices; empty if everything is computed on one. */
  readonly copies: readonly CopyReport[];
  /** What was wanted and not had; empty when all is as asked. */
  readonly fallbacks: readonly Fallback[];
  /** Devices that were lost since load(), the latest last; 100 at most. */
  readonly losses: readonly Loss[];
  /** Bytes of device memory: weights and what lasts; what runs share. */
  readonly memory: {readonly persistent: number; readonly transient: number};
  readonly times: {
    readonly loadMs: number;
    /** From feeds to results computed, the latest run; undefined before the first. */
    readonly runMs: number | undefined;
  };
}

const UNKNOWN = (extent: unknown): number | string =>
  typeof extent === 'number' || typeof extent === 'string' ? extent : '?';

/** Where some outputs stay on the device. */
let tensors: typeof Tensors | undefined;

/** Compares a model with itself, compiled otherwise (web/compiler/src/verify.ts). */
export type Verify = (
  model: Model,
  feeds: Readonly<Record<string, Feed>>,
  options: VerifyOptions | undefined,
) => Promise<Verdict>;

/** What comes with files of the compiler (web/compiler/src/index.ts). */
export interface ModelExtras {
  readonly verify?: Verify;
  readonly tune?: (model: Model, options: TuneOptions | undefined) => Promise<Tuned>;
}

/** Plain values as tensors; the arrays are copied at the call. */
async function shaped({inputs}: Manifest, feeds: Readonly<Record<string, unknown>>): Promise<Record<string, Part>> {
  const own = Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, copied(feed)] as const));
  return (await import('../plain/plain.ts')).asTensors(valuePorts(inputs), own);
}

/** What run() gives. */
function results(manifest: Manifest, raw: readonly RawOutput[]): Record<string, unknown> {
  const entries = manifest.outputs;
  return gather(
    manifest,
    valuePorts(entries).map(({name, dtype}, place): Output => {
      const at = entries[place]?.name === name ? place : entries.findIndex((port) => port.name === name);
      const {data, shape: extents} = raw[at] as RawOutput;
      if (!(data instanceof Promise)) return data;
      const shape = dtype === 'string' ? extents.slice(0, -1) : extents;
      let values: Promise<TensorData | string[]> | undefined =
        dtype === 'string'
          ? Promise.all([data, raw[at + 1]?.data as typeof data]).then(([bytes, lengths]) =>
              unpackStrings(bytes as Uint8Array, lengths as Int32Array, extents.at(-1) as number),
            )
          : data;
      values.catch(() => undefined); // callers that ask for them get the error
      const dispose = (): void => {
        values = undefined;
      };
      return {
        name,
        dtype,
        shape,
        data: <T>() =>
          (values ?? Promise.reject(new GossamerError('disposed', `output "${name}" was disposed`))) as Promise<T>,
        dispose,
        [Symbol.dispose]: dispose,
      };
    }),
  );
}

export interface VerifyOptions {
  /** Largest difference, as a part of the tensor's largest magnitude (default 1e-3). */
  readonly tolerance?: number | undefined;
}

/** Where a tensor differs most from what it should be. */
export interface Difference {
  readonly tensor: string;
  /** Divided by the tensor's largest magnitude; Infinity if exactly one of the two is infinite or NaN. */
  readonly error: number;
  /** Place of the element, row-major. */
  readonly at: number;
  readonly expected: number;
  readonly actual: number;
  /** What makes it, and the nodes of the model that this computes. */
  readonly kernel: string;
  readonly origin: string;
}

export interface Verdict {
  /** Whether all that was compared is within the tolerance. */
  readonly ok: boolean;
  /** How many tensors that kernels make were compared. */
  readonly compared: number;
  /** The first difference that is larger, in the order of kernels. */
  readonly first: Difference | undefined;
  /** Differences of the model's outputs. */
  readonly outputs: readonly Difference[];
}

/** How far a search is. */
export interface TuneProgress {
  readonly seconds: number;
  /** Layouts that were measured, before the points; and of whole runs, time before by time after. */
  readonly layouts: number;
  readonly layoutGain: number;
  /** Points that were measured. */
  readonly trials: number;
  /** Speedup of the kernels' sum so far: time before divided by time after. */
  readonly gain: number;
  /** What the model's kernels took at first and take now in a run, in milliseconds; those that took most first. */
  readonly kernels: readonly {readonly name: string; readonly origin: string; readonly msBefore: number; readonly ms: number}[];
}

export interface TuneOptions {
  /**
   * How long until the promise resolves, as nearly as can be foreseen, all included (default 10, or as long as `trials` need). The model
   * as it is, one round and the comparison at the end are always measured.
   */
  readonly seconds?: number | undefined;
  /** How many points to measure at most. */
  readonly trials?: number | undefined;
  /** Of `seconds` or, without, of `trials` and beside them: at most so much for layouts, before the points of kernels; 0 to 1 (default 0.25). */
  readonly layoutShare?: number | undefined;
  /** What the model is timed with; else made up, as profile() does. */
  readonly feeds?: Readonly<Record<string, Feed>> | undefined;
  /** How long named dimensions are where no feeds are given (default 1). */
  readonly dims?: Readonly<Record<string, number>> | undefined;
  /**
   * Lines of an earlier search, gone on with; default: those that the origin's storage has for this model and device. Lines with "costs" (`gossamer cost-model
   * --output`) are what the search begins with in place of what comes with the compiler.
   */
  readonly records?: string | undefined;
  /** Whether the origin's storage keeps what is found (default true), for compile() with `tunable`. */
  readonly keep?: boolean | undefined;
  /** Seed of the search's random choices (default 1). */
  readonly seed?: number | undefined;
  /** After each round. */
  readonly onProgress?: ((progress: TuneProgress) => void) | undefined;
  /** Ends the search early; what it has found by then is its result. */
  readonly signal?: AbortSignal | undefined;
}

/** A stage's layout or a kernel's point, as `gossamer inspect --space` names and lists them. */
export interface TunedPart {
  readonly key: string;
  readonly class: string;
  readonly name: string;
  readonly origin: string;
  readonly before: string;
  readonly after: string;
}

/** Times of all launches in a run. */
export interface TunedKernel extends TunedPart {
  readonly msBefore: number;
  readonly msAfter: number;
  readonly trials: number;
}

/** What a search found; times in milliseconds. */
export interface Tuned {
  readonly adapter: string;
  /** The fastest of whole runs, which take turns. */
  readonly runMsBefore: number;
  readonly runMsAfter: number;
  readonly trials: number;
  readonly failures: number;
  /** Where the search's time went. */
  readonly compileSeconds: number;
  readonly loadSeconds: number;
  readonly measureSeconds: number;
  readonly layoutTrials: number;
  readonly layoutFailures: number;
  /** Whether whole runs were slower in `layouts` at the end: records then leave them to the compiler's rule. */
  readonly layoutsGivenUp: boolean;
  /** Stages whose layout the compiler's rule did not choose; layouts as `gossamer inspect --space` lists them. */
  readonly layouts: readonly TunedPart[];
  /** Those that took most first; points as `gossamer inspect --space` lists them. */
  readonly kernels: readonly TunedKernel[];
  /** All that was measured, a line each: for `records` of compile() and tune(), and for `gossamer compile --records`. */
  readonly records: string;
  /** The model compiled by them, for load(). */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const missing = (option: string): never => {
  throw new GossamerError('unsupported', `load what compile() gives with {${option}: true}`);
};

/** A loaded model. Runs asked for at the same time are done one after the other. */
export class Model {
  readonly inputs: readonly PortInfo[];
  readonly outputs: readonly PortInfo[];
  /** Inputs and outputs that are parts of a sequence, and optionals that hold nothing. */
  readonly groups: readonly Group[];
  /** What it keeps from run to run; undefined where it was loaded without `state`. */
  state: Tensors.State | undefined;
  readonly #recovery: Recovery;
  readonly #extras: ModelExtras;
  #runMs: number | undefined;

  /** @internal Use load(). */
  constructor(recovery: Recovery, extras: ModelExtras = {}) {
    this.#recovery = recovery;
    this.#extras = extras;
    const {parts} = recovery;
    const info = ({name, dtype, shape, value}: ValuePort): PortInfo => ({
      name,
      dtype,
      shape: shape.map(UNKNOWN),
      ...(value && {optional: true}),
    });
    this.inputs = valuePorts(parts.manifest.inputs).map(info);
    this.outputs = valuePorts(parts.manifest.outputs).map(info);
    this.groups = parts.manifest.groups;
  }

  /**
   * Computes all outputs from a tensor for each input, which may be an output of another run or a DeviceTensor, which is read
   * where it lies; a sequence is an array of tensors or of outputs, an optional that holds nothing undefined (say so in `Result`). The
   * feeds are taken at the call: arrays may be changed as soon as it returns its promise. Rejects with a
   * GossamerError: 'input' for a wrong name, type or shape (naming both), 'lost' when the device went away,
   * 'out-of-memory'. Where outputs stay on the device, errors while they are computed are reported by their data(). With
   * `recover` a lost run is done again where the model is loaded next, and resolves when its values have arrived.
   */
  async run<Result extends Output | readonly Output[] | undefined = Output>(
    feeds: Readonly<Record<string, Feed>>,
    options?: Tensors.RunOptions,
  ): Promise<Record<string, Result>> {
    const {state} = this;
    return (await (state ? state.run(feeds, options) : this.compute(feeds, options))) as Record<string, Result>;
  }

  /** @internal A run with all its feeds. */
  async compute(feeds: Readonly<Record<string, Feed>>, options?: Tensors.RunOptions): Promise<Record<string, unknown>> {
    const start = performance.now();
    const recovery = this.#recovery;
    const {recovers} = recovery;
    const {manifest} = recovery.parts;
    const all = spread(manifest, feeds);
    const given = areParts(all) ? all : await shaped(manifest, all);
    const taken = recovers || !isFlat(given) || (options && !tensors) ? takeAll(given, recovers) : undefined;
    if (options) tensors ??= await import('../tensors/tensors.ts');
    const ends = options && tensors ? tensors.endsOf(recovery.parts.manifest, options) : TO_HOST;
    const flat = taken ? await taken : (given as Flat);
    for (;;) {
      const {next} = recovery;
      // No wait where none is needed: the feeds are taken before this returns.
      const parts = next instanceof Promise ? await next : next;
      try {
        const raw = await parts.session.run(flat, taken !== undefined, ends);
        // A run that can be done again has its results when it is done.
        if (recovers) await Promise.all(raw.flatMap(({data}) => (data instanceof Promise ? [data] : [])));
        recovery.ran();
        this.#runMs = performance.now() - start;
        return results(parts.manifest, raw);
      } catch (problem) {
        if (!recovery.retries(parts, problem)) throw problem;
      }
    }
  }

  /** @internal What runOrdered() does with the ends of a run. */
  async endsOf(options: Tensors.RunOptions): Promise<Ends> {
    tensors ??= await import('../tensors/tensors.ts');
    return tensors.endsOf(this.#recovery.parts.manifest, options);
  }

  /** @internal A run with a right feed for each input, in order, of a model without state that is not loaded again; its outputs in order. */
  runOrdered(feeds: (Tensor | OnDevice)[], ends: Ends): Promise<RawOutput[]> {
    return this.#recovery.parts.session.runOrdered(feeds, false, ends);
  }

  /**
   * Tokens after a prompt, one by one, of a language model that was compiled with `generate` and `state` and loaded with {state: true}.
   * Each token is the next run's input where it lies; on webgpu several runs are sent before the first token is read. Runs are sent as
   * tokens are taken. The state is what the prompt and the tokens leave. One call at a time. Loads generate/generate.js. Rejects as
   * run() does, with 'input' for a prompt that is longer than the model's context, and with the reason of an aborted `signal`.
   */
  generate(prompt: Iterable<number | bigint>, options?: GenerateOptions): AsyncGenerator<number, 'stop' | 'length', void>;
  /**
   * Of several prompts at once: a token for each in every step, undefined where the prompt is longer and where the text has ended. For models whose batch is open.
   * Greedy texts are those of each prompt alone. Without `cache`, `constraint` and `onLogprobs`.
   */
  generate(prompts: readonly Iterable<number | bigint>[], options?: GenerateOptions): AsyncGenerator<(number | undefined)[], ('stop' | 'length')[], void>;
  async *generate(prompt: Iterable<number | bigint> | readonly Iterable<number | bigint>[], options?: GenerateOptions): AsyncGenerator<unknown, unknown, void> {
    return yield* (await import('../generate/generate.ts')).generate(this, prompt, options);
  }

  report(): Report {
    const {parts, losses} = this.#recovery;
    const {manifest, devices, session, fallbacks, loadMs} = parts;
    const device = devices[0] as Device;
    const kindOf = (at = 0): DeviceKind => (devices[at] ?? device).kind;
    const placeOf = (tensor: number): DeviceKind =>
      kindOf(manifest.slots[manifest.tensors[tensor]?.slot ?? 0]?.device);
    const kernels = (['init', 'run'] as const).flatMap((phase) =>
      manifest[phase].map(({kernel, origin, reason}, at): KernelReport => {
        const {name = '', schedule = '', device: place} = manifest.kernels[kernel] ?? {};
        const times = phase === 'run' ? (session.times[at] ?? 0) : 0;
        return {name, origin, schedule, device: kindOf(place), phase, times, reason};
      }),
    );
    return {
      model: manifest.name,
      device: device.kind,
      adapter: device.adapter,
      threads: device.threads,
      kernels,
      copies: [...session.copies.values()].map(({from, to, times}) => ({
        tensor: manifest.tensors[from]?.name ?? '',
        from: placeOf(from),
        to: placeOf(to),
        times,
      })),
      fallbacks,
      losses: losses.map((loss) => ({...loss})),
      memory: session.memory(),
      times: {loadMs, runMs: this.#runMs},
    };
  }

  /**
   * Where the time of a run goes, kernel by kernel, in milliseconds; with made-up feeds if none are given. Loads
   * profile/profile.js. Nothing else should run on the model meanwhile. Rejects as run() does.
   */
  async profile(feeds?: Readonly<Record<string, Feed>>, options?: ProfileOptions): Promise<Profile> {
    return (await import('../profile/profile.ts')).profile(this, feeds, options);
  }

  /**
   * Compares the tensors that kernels make from these feeds with those of the same model in wasm, where every stage is a
   * kernel of its own, and names the first that differs. For models of what compile() gave with `verifiable`; else
   * rejects with 'unsupported'. Takes the time and memory of compiling and running the model twice.
   */
  async verify(feeds: Readonly<Record<string, Feed>>, options?: VerifyOptions): Promise<Verdict> {
    return (this.#extras.verify ?? missing('verifiable'))(this, feeds, options);
  }

  /**
   * Searches faster kernels for this model on its device, beside it, and keeps what it finds; the model itself stays as it
   * is: load() `files` of the result. Frames of the page go on. For models of what compile() gave with `tunable`; else
   * rejects with 'unsupported'. Rejects with a CompileError, and as load() and run() do for the model as it is. A candidate
   * that fails is left out; one that loses the device loses it for this model too (`recover` of load()).
   */
  async tune(options?: TuneOptions): Promise<Tuned> {
    return (this.#extras.tune ?? missing('tunable'))(this, options);
  }

  /** @internal What profile() looks into. */
  get parts(): ModelParts {
    return this.#recovery.parts;
  }

  /** "image: f32 [1, 3, h, w]" for each input and output, for people. */
  describe(): {inputs: string[]; outputs: string[]} {
    const {inputs, outputs} = this.#recovery.parts.manifest;
    return {
      inputs: valuePorts(inputs).map((port) => `${port.name}: ${signature(port)}`),
      outputs: valuePorts(outputs).map((port) => `${port.name}: ${signature(port)}`),
    };
  }

  /** Frees the device's memory and stops its threads. Runs that are not done reject with 'disposed'. */
  dispose(): void {
    this.state?.reset();
    this.#recovery.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
