/**
 * A model that learns the best kernels for the device it runs on: tuner.wasm compiles candidates in a worker, and they
 * are loaded, compared and timed here, where the model is.
 */
import type {Feed} from '../../runtime/src/session/feeds.ts';
import type {LoadOptions} from '../../runtime/src/session/load.ts';
import type {Model, Tuned, TuneOptions, TuneProgress} from '../../runtime/src/session/model.ts';
import {anyFeeds} from '../../runtime/src/profile/feeds.ts';
import type {Files} from '../../runtime/src/index.ts';
import {time} from '../../rpc/src/job.ts';
import type {Output} from '../../runtime/src/values/tensor.ts';
import type {Place} from './beside.ts';
import {type CallResult, CompileError, entriesOf} from './call.ts';
import type {Call} from './compile_in.ts';
import {MadeFiles} from './made_files.ts';
import {keepRecords, keptRecords} from './records.ts';
import {differences, type Load} from './verify.ts';

/** What a search asks for (web/compiler/tuner/tune_entry.cc). */
type Request = {readonly freed?: readonly number[]} & (
  | {readonly ask: 'load' | 'check'; readonly model: number}
  | {readonly ask: 'runs'; readonly model: number; readonly runs: number}
  | {readonly ask: 'profile'; readonly model: number; readonly runs: number; readonly kernels: readonly number[]}
  | {readonly ask: 'end'; readonly outcome: Omit<Tuned, 'records' | 'files'>}
);

type Feeds = Readonly<Record<string, Feed>>;
type Outputs = Record<string, Output>;

/** A candidate that takes longer than this at once, in milliseconds, is given up. */
const PATIENCE = 30_000;
/** Sums in another order round otherwise; of a tensor's largest magnitude. */
const TOLERANCE = 1e-3;
/** Bytes of weights of models of which one more than needed may be there, as src/tune/bench.cc has it. */
const SMALL = 128e6;
/** Of launches repeated at once, in milliseconds: less than a frame, so that pages go on. */
const AT_ONCE = 3;

const messageOf = (problem: unknown): string => (problem instanceof Error ? problem.message : String(problem));

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took more than ${PATIENCE / 1000} s`)), PATIENCE);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Candidates where the model is. */
class Candidates {
  readonly #load: Load;
  readonly #options: LoadOptions;
  readonly #feeds: Feeds;
  /** Files stay, for a device that is lost and comes back. */
  readonly #all = new Map<number, {readonly files: Files; model?: Model | undefined}>();
  /** Of weights, by name: they come with the first package alone, later ones have them without bytes. */
  readonly #weights = new Map<string, Uint8Array>();
  #expected: Outputs | undefined;

  constructor(load: Load, options: LoadOptions, feeds: Feeds) {
    this.#load = load;
    this.#options = options;
    this.#feeds = feeds;
  }

  async add(number: number, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
    for (const [name, bytes] of files) {
      if (name.endsWith('.safetensors') && bytes.length > 0) this.#weights.set(name, bytes);
    }
    this.#all.set(number, {files: this.withWeights(files)});
    await this.#at(number);
  }

  /** The package of a candidate, or the last one. All of it was made here: nobody need hash the weights. */
  withWeights(files: Iterable<readonly [string, Uint8Array]>): MadeFiles {
    return new MadeFiles([...files].map(([name, bytes]) => [name, bytes.length > 0 ? bytes : this.#weights.get(name) ?? bytes]));
  }

  get small(): boolean {
    return [...this.#weights.values()].reduce((sum, {length}) => sum + length, 0) <= SMALL;
  }

  free(numbers: readonly number[]): void {
    for (const number of numbers) {
      this.#all.get(number)?.model?.dispose();
      this.#all.delete(number);
    }
  }

  clear(): void {
    this.free([...this.#all.keys()]);
  }

  async #at(number: number): Promise<Model> {
    const one = this.#all.get(number);
    if (!one) throw new Error(`there is no candidate ${number}`);
    return (one.model ??= await this.#load(one.files, this.#options));
  }

  /** What goes wrong may have taken the device along: all are loaded again. */
  forgive(): void {
    for (const one of this.#all.values()) {
      one.model?.dispose();
      one.model = undefined;
    }
  }

  async profile(number: number, runs: number, kernels: readonly number[]): Promise<unknown> {
    const model = await this.#at(number);
    const profile = await model.profile(this.#feeds, {runs, minMs: AT_ONCE, ...(kernels.length > 0 && {kernels})});
    return {profile};
  }

  async times(number: number, runs: number): Promise<unknown> {
    return time(await this.#at(number), this.#feeds, {runs, bench: 'runs'});
  }

  /** Compares its outputs with those of the first one asked about. */
  async check(number: number): Promise<void> {
    const outputs = await this.#run(await this.#at(number));
    this.#expected ??= outputs;
    for (const {tensor, error} of await differences(outputs, this.#expected, Object.keys(outputs))) {
      if (!(error <= TOLERANCE)) throw new Error(`wrong numbers in output "${tensor}": off by ${error} of its largest`);
    }
  }

  async #run(model: Model): Promise<Outputs> {
    const outputs = await model.run<Output | readonly Output[] | undefined>(this.#feeds);
    const all = Object.entries(outputs).flatMap(([name, value]) =>
      [value ?? []].flat().map((output, at): [string, Output] => [`${name} ${at}`, output]));
    await Promise.all(all.map(([, output]) => output.data()));
    return Object.fromEntries(all);
  }
}

interface Step {
  readonly request: Request;
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly lines: string;
  readonly progress: TuneProgress | undefined;
}

const ASIDE = new Set(['request', 'lines', 'progress']);
const text = new TextDecoder();

function read(result: CallResult): Step {
  if ('error' in result) throw new CompileError(result.error);
  const all = new Map(entriesOf(result.files));
  const textOf = (name: string): string => text.decode(all.get(name));
  const progress = all.has('progress') ? (JSON.parse(textOf('progress')) as TuneProgress) : undefined;
  return {
    request: JSON.parse(textOf('request')) as Request,
    files: new MadeFiles([...all].filter(([name]) => !ASIDE.has(name))),
    lines: textOf('lines'),
    progress,
  };
}

/** What is freed goes when the next one is loaded, where there is room for both: most of their kernels are the same. */
async function answer(candidates: Candidates, step: Step): Promise<unknown> {
  const free = (): void => candidates.free(step.request.freed ?? []);
  if (!candidates.small) free();
  try {
    return await asked(candidates, step);
  } finally {
    free();
  }
}

async function asked(candidates: Candidates, {request, files}: Step): Promise<unknown> {
  switch (request.ask) {
    case 'load':
      await candidates.add(request.model, files);
      return undefined;
    case 'check':
      await candidates.check(request.model);
      return undefined;
    case 'runs':
      return candidates.times(request.model, request.runs);
    case 'profile':
      return candidates.profile(request.model, request.runs, request.kernels);
    case 'end':
      return undefined;
  }
}

/** A place with tuner.wasm in it, which is this call's. */
export type OpenTuner = () => Promise<Place>;

export async function tune(
  load: Load,
  open: OpenTuner,
  call: Call,
  shipped: string | undefined,
  model: Model,
  {trials = 0, seconds = trials > 0 ? 0 : 10, layoutShare = 0.25, seed = 1, feeds, dims, records, keep = true, onProgress, signal}: TuneOptions = {},
): Promise<Tuned> {
  if (!(layoutShare >= 0 && layoutShare <= 1)) throw new RangeError(`layoutShare is ${layoutShare}: it is a part of the time, from 0 to 1`);
  const began = performance.now();
  const {device, threads} = model.report();
  const place = await open();
  const candidates = new Candidates(load, {device, strict: true, ...(device === 'wasm' && {threads})}, feeds ?? anyFeeds(model, dims));
  let lines = records ?? (await keptRecords(call)) ?? '';
  const withShipped = (): string => (shipped === undefined ? lines : `${shipped}\n${lines}`);
  try {
    const left = seconds > 0 ? Math.max(0.01, seconds - (performance.now() - began) / 1000) : 0;
    let step = read(await place.search({...call, records: withShipped()}, {seconds: left, trials, seed, layoutShare}));
    for (;;) {
      lines += step.lines;
      if (step.progress) onProgress?.(step.progress);
      if (step.request.ask === 'end') break;
      let said: object;
      try {
        said = {bench: await inTime(answer(candidates, step))};
      } catch (problem) {
        candidates.forgive();
        said = {error: messageOf(problem)};
      }
      step = read(await place.answer(JSON.stringify({...said, ...(signal?.aborted && {stop: true})})));
    }
    const {outcome} = step.request;
    if (keep) await keepRecords(call, lines);
    const made = await place.compile({...call, records: withShipped()}, () => undefined);
    if ('error' in made) throw new CompileError(made.error);
    return {...outcome, records: lines, files: candidates.withWeights(entriesOf(made.files))};
  } finally {
    candidates.clear();
    place.stop();
  }
}
