/** Runs of a language model, each of which takes the token that the one before chose. */
import type {Feed} from '../session/feeds.ts';
import type {Model} from '../session/model.ts';
import type {ComputeDevice, DeviceTensor} from '../tensors/tensors.ts';
import type * as Tensors from '../tensors/tensors.ts';
import type {GenerationCache, Grown} from './cache.ts';
import {besides, type Besides} from './feeds.ts';
import {countsOf, type GenerateOptions, samplingOf} from './options.ts';

/** The state that counts tokens, for penalties. */
export const COUNTS = 'past_token_counts';
/** The input of which tokens are allowed. Packages that were compiled before it was there lack it. */
export const MASK = 'sampling.mask';

/** Of which packages that were compiled before biases were there have three. */
export const PENALTIES = 'sampling.penalties';

/** How many of the latest tokens choose (packages that were compiled with `speculate`). */
export const ROWS = 'sampling.rows';

const rowsOf = (count: number) => ({dtype: 'i32' as const, shape: [count], data: new Int32Array(count)});

export class Steps {
  readonly device: ComputeDevice;
  /** How many were sent. */
  sent = 0;
  readonly #model: Model;
  /** Tokens that no run has read yet, apart from the one that the latest run chose. */
  #waiting: number[];
  /** How many tokens runs have read. */
  #read = 0;
  readonly #prompt: readonly number[];
  readonly #batch: number;
  readonly #cache: GenerationCache | undefined;
  readonly #chunk: number;
  readonly #extra: Readonly<Record<string, Feed>>;
  readonly #sampling: Readonly<Record<string, DeviceTensor>>;
  readonly #besides: Besides;
  readonly #logprobs: boolean;
  readonly #hasRows: boolean;
  #chosen: DeviceTensor | undefined;
  #logits: DeviceTensor | undefined;

  /** The model's state is that of the tokens of the prompt that the cache has. Throws 'input' for an input that nobody knows, and for a cache of another model. */
  constructor(model: Model, prompts: readonly (readonly number[])[], words: number, options: GenerateOptions, {deviceOf, DeviceTensor: Kept}: typeof Tensors) {
    const {manifest, home} = model.parts;
    const [prompt = []] = prompts;
    this.#model = model;
    this.#prompt = prompt;
    this.#batch = prompts.length;
    this.#chunk = Math.floor(options.promptChunk ?? 1024);
    this.#extra = options.feeds ?? {};
    this.#logprobs = options.onLogprobs !== undefined;
    this.device = deviceOf(home);
    const feeds = samplingOf(options, words, manifest.inputs.some(({name}) => name === MASK));
    const known = ['input_ids', ROWS, ...this.#states(), ...Object.keys(this.#extra), ...Object.keys(feeds)];
    this.#besides = besides(manifest, known, this.device, Kept, this.#batch);
    this.#hasRows = manifest.inputs.some(({name}) => name === ROWS);
    this.#sampling = Object.fromEntries(Object.entries(feeds).map(([name, each]) => [name, this.device.tensor(each.data, each)]));
    model.state?.reset();
    const kept = options.cache?.take(prompt, this.#states().filter((name) => name !== COUNTS), manifest);
    this.#cache = options.cache;
    this.#read = kept?.count ?? 0;
    this.#waiting = prompt.slice(this.#read);
    kept?.states.forEach((each, name) => model.state?.set(name, each));
    const counts = prompts.map((each) => countsOf(options, each, each.slice(this.#read), words));
    const isCounted = counts.some((each) => each !== undefined);
    if (isCounted) model.state?.set(COUNTS, this.device.tensor(Int32Array.from(counts.flatMap((each = new Int32Array()) => [...each])), {shape: [this.#batch, words]}));
  }

  #states(): string[] {
    return this.#model.state?.names ?? [];
  }

  #state(name: string): Grown | undefined {
    return this.#model.state?.get(name);
  }

  /** Whether the state can be taken back, so that runs may be sent before a stop is known. */
  get chains(): boolean {
    return this.device.gpuDevice !== undefined && !this.#logprobs && this.canGoBack;
  }

  /** Whether the state can be set back. */
  get canGoBack(): boolean {
    return this.#states().every((name) => name === COUNTS || 'first' in (this.#state(name) ?? {}));
  }

  /**
   * Sends the runs of tokens that wait, the prompt at first, or one of the token before. Gives its token, which is valid until the next one
   * is sent. `mask`: of the tokens that may be chosen.
   */
  async send(mask?: Int32Array): Promise<DeviceTensor> {
    const masked = mask && {[MASK]: {dtype: 'i32' as const, shape: [1, mask.length], data: mask}};
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0) await this.#run(this.#chosen, 1, masked);
    for (let at = 0; at < waiting.length; at += this.#chunk) {
      const ids = BigInt64Array.from(waiting.slice(at, at + this.#chunk), BigInt);
      await this.#run({dtype: 'i64', shape: [1, ids.length], data: ids}, ids.length, masked);
    }
    ++this.sent;
    return this.#chosen as DeviceTensor;
  }

  /** Runs as many tokens of each text. Gives the ones that follow. */
  async feed(tokens: readonly (readonly number[])[]): Promise<number[]> {
    const length = tokens[0]?.length ?? 0;
    for (let at = 0; at < length; at += this.#chunk) {
      const ids = BigInt64Array.from(tokens.flatMap((each) => each.slice(at, at + this.#chunk)), BigInt);
      const count = ids.length / tokens.length;
      await this.#run({dtype: 'i64', shape: [tokens.length, count], data: ids}, count);
    }
    return Array.from(await (this.#chosen as DeviceTensor).data<BigInt64Array>(), Number);
  }

  /**
   * Runs a token that no run has read, and `drafts` after it. Gives the tokens that are chosen, as far as the drafts are the same, and the next one.
   * The state is that of the token and of right drafts. Greedy choice without penalties alone.
   */
  async check(token: number, drafts: readonly number[]): Promise<ArrayLike<number>> {
    const ids = BigInt64Array.from([token, ...drafts], BigInt);
    await this.#run({dtype: 'i64', shape: [1, ids.length], data: ids}, ids.length, {[ROWS]: rowsOf(ids.length)});
    ++this.sent;
    const chosen = Array.from(await (this.#chosen as DeviceTensor).data<BigInt64Array>(), Number);
    const wrong = drafts.findIndex((id, at) => id !== chosen[at]);
    if (wrong < 0) return chosen;
    this.#read -= drafts.length - wrong;
    for (const name of this.#states().filter((each) => each !== COUNTS)) this.#model.state?.set(name, (this.#state(name) as Required<Grown>).first(this.#read));
    return chosen.slice(0, wrong + 1);
  }

  /** Takes a token that no run chose, after `before`, which the latest run chose and no run has read. */
  take(id: number, before: number | undefined): void {
    if (this.#waiting.length === 0 && before !== undefined) this.#waiting.push(before);
    this.#waiting.push(id);
  }

  /** Runs so many tokens. */
  async #run(ids: Feed, count: number, more?: Readonly<Record<string, Feed>>): Promise<void> {
    const feeds = this.#besides.feeds(this.#read, count);
    try {
      const out = await this.#model.run<DeviceTensor>({...this.#extra, ...feeds, ...(this.#hasRows && {[ROWS]: rowsOf(1)}), ...this.#sampling, ...more, input_ids: ids}, {location: 'device'});
      this.#read += count;
      const {next_ids: chosen, logits, ...others} = out;
      Object.values(others).forEach((each) => each.dispose());
      this.#keep(chosen, logits);
    } finally {
      for (const each of Object.values(feeds)) if ('device' in (each as object)) (each as DeviceTensor).dispose();
    }
  }

  #keep(chosen?: DeviceTensor, logits?: DeviceTensor): void {
    this.#chosen?.dispose();
    this.#logits?.dispose();
    this.#chosen = chosen;
    this.#logits = logits;
    if (this.#logprobs) return;
    this.#logits?.dispose();
    this.#logits = undefined;
  }

  /** Of the latest step, where they are asked for. */
  logits(): Promise<ArrayLike<number>> | undefined {
    return this.#logits?.data<Float32Array>();
  }

  /** Ends them: the state is that of the prompt and of `text`, as far as these were inputs; of several texts, of all inputs. */
  end(text: readonly number[]): void {
    this.#keep();
    this.#besides.dispose();
    Object.values(this.#sampling).forEach((each) => each.dispose());
    const {state} = this.#model;
    const tokens = this.#batch > 1 ? Array<number>(this.#read) : [...this.#prompt, ...text].slice(0, this.#read);
    const left = new Map<string, DeviceTensor>();
    try {
      if (state && this.#read > 0) state.set(COUNTS, this.device.tensor(new Int32Array(), {shape: [this.#batch, 0]}));
      for (const name of this.#states().filter((each) => each !== COUNTS && this.#read > 0)) {
        const has = this.#state(name);
        if (has?.first && tokens.length < this.#read) state?.set(name, has.first(tokens.length));
        const is = this.#state(name);
        if (is && (has?.first || tokens.length === this.#read)) left.set(name, is);
      }
    } catch {
      left.clear(); // the device is gone, as whoever reads is told
    }
    const isWhole = left.size > 0 && left.size === this.#states().length - 1;
    this.#cache?.put(isWhole ? tokens : [], isWhole ? left : new Map());
  }
}
