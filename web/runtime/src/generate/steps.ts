/** Runs of a language model, each of which takes the token that the one before chose. */
import type {Feed} from '../feeds.ts';
import type {Model} from '../model.ts';
import type {ComputeDevice, DeviceTensor} from '../tensors/tensors.ts';
import type * as Tensors from '../tensors/tensors.ts';
import {besides, type Besides} from './feeds.ts';
import {type GenerateOptions, samplingOf} from './options.ts';

/** The state that counts tokens, for penalties. */
export const COUNTS = 'past_token_counts';
/** The input of which tokens are allowed. Packages that were compiled before it was there lack it. */
export const MASK = 'sampling.mask';

/** A state whose rows can be taken back (rows/rows.ts). */
type Grown = DeviceTensor & {first?(rows: number): DeviceTensor};

export class Steps {
  readonly device: ComputeDevice;
  /** How many were sent. */
  sent = 0;
  readonly #model: Model;
  /** Tokens that no run has read yet, apart from the one that the latest run chose. */
  #waiting: number[];
  /** How many tokens runs have read. */
  #read = 0;
  readonly #start: number;
  readonly #chunk: number;
  readonly #extra: Readonly<Record<string, Feed>>;
  readonly #sampling: Readonly<Record<string, DeviceTensor>>;
  readonly #besides: Besides;
  readonly #logprobs: boolean;
  #chosen: DeviceTensor | undefined;
  #logits: DeviceTensor | undefined;

  /** Begins anew: the model's state is empty. Throws 'input' for an input that nobody knows. */
  constructor(model: Model, prompt: readonly number[], words: number, options: GenerateOptions, {deviceOf, DeviceTensor: Kept}: typeof Tensors) {
    const {manifest, home} = model.parts;
    this.#model = model;
    this.#waiting = [...prompt];
    this.#start = prompt.length;
    this.#chunk = Math.floor(options.promptChunk ?? 1024);
    this.#extra = options.feeds ?? {};
    this.#logprobs = options.onLogprobs !== undefined;
    this.device = deviceOf(home);
    const {counts, feeds} = samplingOf(options, prompt, words, manifest.inputs.some(({name}) => name === MASK));
    const known = ['input_ids', ...this.#states(), ...Object.keys(this.#extra), ...Object.keys(feeds)];
    this.#besides = besides(manifest, known, this.device, Kept);
    this.#sampling = Object.fromEntries(Object.entries(feeds).map(([name, each]) => [name, this.device.tensor(each.data, each)]));
    model.state?.reset();
    if (counts) model.state?.set(COUNTS, this.device.tensor(counts, {shape: [1, words]}));
  }

  #states(): string[] {
    return this.#model.state?.names ?? [];
  }

  #state(name: string): Grown | undefined {
    return this.#model.state?.get(name);
  }

  /** Whether the state can be taken back, so that runs may be sent before a stop is known. */
  get chains(): boolean {
    return this.device.gpuDevice !== undefined && !this.#logprobs && this.#states().every((name) => name === COUNTS || 'first' in (this.#state(name) ?? {}));
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

  /** Takes a token that no run chose, after `before`, which the latest run chose and no run has read. */
  take(id: number, before: number | undefined): void {
    if (this.#waiting.length === 0 && before !== undefined) this.#waiting.push(before);
    this.#waiting.push(id);
  }

  /** Runs so many tokens. */
  async #run(ids: Feed, count: number, masked?: Readonly<Record<string, Feed>>): Promise<void> {
    const feeds = this.#besides.feeds(this.#read, count);
    this.#read += count;
    try {
      const out = await this.#model.run<DeviceTensor>({...this.#extra, ...feeds, ...this.#sampling, ...masked, input_ids: ids}, {location: 'device'});
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

  /** Ends them: the state is that of the prompt and so many tokens, where that many were inputs. */
  end(tokens: number): void {
    this.#keep();
    this.#besides.dispose();
    Object.values(this.#sampling).forEach((each) => each.dispose());
    if (this.sent === 0) return;
    const rows = Math.min(this.#start + tokens, this.#read);
    for (const name of this.#states()) {
      const has = this.#state(name);
      if (name === COUNTS) this.#model.state?.set(name, this.device.tensor(new Int32Array(), {shape: [1, 0]}));
      else if (has?.first) this.#model.state?.set(name, has.first(rows));
    }
  }
}
