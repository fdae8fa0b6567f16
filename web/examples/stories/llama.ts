/** A Llama whose caches of keys and values stay on the device. */
import {compile} from '../../compiler/src/index.ts';
import {type ComputeDevice, type DeviceTensor, load, type Model, openDevice, tensor} from '../../runtime/src/index.ts';

/** What was there before, and what is there now. */
const CACHES = {past_k: 'present_k', past_v: 'present_v'} as const;

const ids = (tokens: readonly number[]): ReturnType<typeof tensor> => tensor(BigInt64Array.from(tokens, BigInt), [1, tokens.length]);

/** The model twice: for a text that begins, of any length, and for the token that follows one. */
export class Llama {
  readonly #device: ComputeDevice;
  readonly #first: Model;
  readonly #next: Model;

  private constructor(device: ComputeDevice, first: Model, next: Model) {
    this.#device = device;
    this.#first = first;
    this.#next = next;
  }

  static async open(file: Blob, target: 'wasm' | 'webgpu' | 'webgl'): Promise<Llama> {
    // One thread: a token's arithmetic is less than waking others.
    const device = await openDevice(target, {threads: 1});
    const [first, next] = await Promise.all([compile(file, {target, dims: {P: 0}}), compile(file, {target, dims: {T: 1}})]);
    return new Llama(device, await load(first, {device}), await load(next, {device, state: CACHES}));
  }

  get adapter(): string {
    return this.#device.adapter;
  }

  /** Logits of what follows these tokens, all of a text. */
  async begin(tokens: readonly number[]): Promise<Float32Array> {
    const empty = tensor(new Float32Array(), [5, 1, 4, 0, 8]);
    const feeds = {ids: ids(tokens), past_k: empty, past_v: empty};
    const made = await this.#first.run<DeviceTensor>(feeds, {location: 'device', fetches: ['logits']});
    for (const [past, present] of Object.entries(CACHES)) this.#next.state?.set(past, made[present] as DeviceTensor);
    return (made['logits'] as DeviceTensor).data<Float32Array>();
  }

  /** Logits of what follows one more. */
  async follow(token: number): Promise<Float32Array> {
    const {logits} = await this.#next.run({ids: ids([token])}, {fetches: ['logits']});
    return (await logits?.data<Float32Array>()) ?? new Float32Array();
  }

  dispose(): void {
    for (const each of [this.#first, this.#next, this.#device]) each.dispose();
  }
}
