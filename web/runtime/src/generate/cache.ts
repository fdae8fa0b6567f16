/** The state that a generation leaves, from which others go on. */
import {isOnDevice} from '../session/bindings.ts';
import type {Manifest} from '../package/manifest.ts';
import {Pieces} from '../package/pieces.ts';
import {type ValuePort, valuePorts} from '../session/ports.ts';
import {readSafetensors} from '../package/safetensors.ts';
import {fromStorage, toStorage} from '../values/storage.ts';
import type {Tensor} from '../values/tensor.ts';
import type {DeviceTensor} from '../tensors/tensors.ts';
import {ARRAYS, bytesOf, type DType, GossamerError, product, shapeText, type TensorData} from '../values/types.ts';

/** A state whose rows can be taken back (rows/rows.ts). */
export type Grown = DeviceTensor & {readonly axis?: number; first?(rows: number): DeviceTensor};
/** On the host where it was loaded. */
type Kept = Grown | Tensor;

/** Of the tensor of tokens in saved bytes. */
const TOKENS = 'tokens';
const ALIGNMENT = 8;

/** Types by the format's words where these are others than ours. */
const WORDS: Readonly<Partial<Record<DType, string>>> = {f8e4m3fn: 'F8_E4M3', f8e5m2: 'F8_E5M2', f8e8m0: 'F8_E8M0'};
const wordOf = (dtype: DType): string => WORDS[dtype] ?? dtype.toUpperCase();

const wrong = (message: string): GossamerError => new GossamerError('input', message);

const dispose = (each: Kept): void => void (isOnDevice(each) && each.dispose());

/** Another tensor on the same memory. */
function shared(tensor: Kept): Kept {
  if (!isOnDevice(tensor)) return tensor;
  const {device, storage, name, dtype, shape} = tensor;
  if (tensor.first) return tensor.first(shape[tensor.axis as number] as number);
  return new (tensor.constructor as typeof DeviceTensor)(device, {name, dtype, shape}, storage, tensor.lend());
}

/** The first rows of an axis. */
function firstRows(tensor: Kept, axis: number, rows: number): Kept {
  if (isOnDevice(tensor)) return (tensor as Required<Grown>).first(rows);
  const {dtype, data} = tensor;
  const shape = tensor.shape.map((extent, at) => (at === axis ? rows : extent));
  const row = product(shape.slice(axis + 1));
  const [elements, stride] = [row * rows, row * (tensor.shape[axis] as number)];
  const first = new ARRAYS[dtype](product(shape)) as Float32Array;
  for (let at = 0; at < product(shape.slice(0, axis)); ++at) first.set(data.subarray(at * stride, at * stride + elements) as Float32Array, at * elements);
  return {dtype, shape, data: first};
}

/** By name, the axis along which a state grows in place. */
function rowAxes({dims, inputs}: Manifest): Map<string, number> {
  return new Map(dims.flatMap(({output, input = 0, axis}) => (output === undefined ? [] : [[inputs[input]?.name ?? '', axis] as const])));
}

const fits = ({dtype, shape}: Kept, port: ValuePort): boolean =>
  dtype === port.dtype && shape.length === port.shape.length && port.shape.every((extent, axis) => typeof extent !== 'number' || extent === shape[axis]);

/**
 * What a language model keeps of a text: generate() with the same cache goes on from it, and computes only the tokens of its prompt that differ
 * from those of the cache. It starts empty. A generation that ends leaves the state of its prompt and its text here. The state lies on the
 * model's device until dispose(), or until nothing refers to the cache.
 */
export class GenerationCache {
  #tokens: readonly number[] = [];
  #states = new Map<string, Kept>();
  #reused = 0;
  #isUsed = false;

  /** The tokens whose state it holds. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }

  /** How many tokens of the latest prompt were not computed again. */
  get reused(): number {
    return this.#reused;
  }

  /** A cache of the same tokens, which goes its own way. Both share memory until one of them goes on. Throws 'input' during a generation. */
  fork(): GenerationCache {
    this.#check();
    const made = new GenerationCache();
    made.#tokens = this.#tokens;
    made.#states = new Map([...this.#states].map(([name, each]) => [name, shared(each)]));
    return made;
  }

  /**
   * A file in the safetensors format: `tokens`, and each state by the name of its input. Every run time can load() it for the same model, whatever
   * the target. Rejects with 'input' during a generation, and with 'lost'.
   */
  async save(): Promise<Uint8Array<ArrayBuffer>> {
    this.#check();
    const tokens: Tensor = {dtype: 'i64', shape: [this.#tokens.length], data: BigInt64Array.from(this.#tokens, BigInt)};
    const all = [[TOKENS, tokens] as const, ...this.#states].map(async ([name, each]) => {
      const data: TensorData = isOnDevice(each) ? await each.data() : each.data;
      return {name, dtype: each.dtype, shape: each.shape, bytes: toStorage(data, each.dtype, each.dtype, name)};
    });
    const parts = await Promise.all(all);
    let end = 0;
    const header: Record<string, object> = {__metadata__: {format: 'gossamer.cache'}};
    for (const {name, dtype, shape, bytes} of parts) {
      header[name] = {dtype: wordOf(dtype), shape, data_offsets: [end, end + bytes.length]};
      end += bytes.length;
    }
    const json = new TextEncoder().encode(JSON.stringify(header));
    const begin = 8 + Math.ceil(json.length / ALIGNMENT) * ALIGNMENT;
    const file = new Uint8Array(begin + end).fill(0x20, 8, begin);
    new DataView(file.buffer).setUint32(0, begin - 8, true);
    file.set(json, 8);
    let at = begin;
    for (const {bytes} of parts) {
      file.set(bytes, at);
      at += bytes.length;
    }
    return file;
  }

  /** What save() gave. Throws 'damaged' for other bytes; whether they are of the model shows when they are used. */
  static load(bytes: Uint8Array): GenerationCache {
    const where = 'the saved cache';
    const damaged = (what: string): GossamerError => new GossamerError('damaged', `${where} ${what}: give load() what save() gave`);
    const made = new GenerationCache();
    const found = [...readSafetensors(new Pieces([bytes], false), where)].map(([name, {dtype, shape, begin, end}]): [string, Tensor] => {
      if (!dtype || end - begin !== product(shape) * bytesOf(dtype) || end > bytes.length) throw damaged(`has "${name}" of ${end - begin} bytes, which do not fit its shape ${shapeText(shape)}`);
      return [name, {dtype, shape, data: fromStorage(bytes.slice(begin, end), dtype, dtype)}];
    });
    made.#states = new Map(found);
    const tokens = made.#states.get(TOKENS) as Tensor | undefined;
    if (!tokens || tokens.dtype !== 'i64') throw damaged('has no tokens');
    made.#states.delete(TOKENS);
    made.#tokens = Array.from(tokens.data as BigInt64Array, Number);
    return made;
  }

  /** Gives the memory back; the cache is empty from here on. */
  dispose(): void {
    this.#states.forEach(dispose);
    this.#states = new Map();
    this.#tokens = [];
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #check(): void {
    if (this.#isUsed) throw wrong('a generation goes on with this cache: wait until it ends, or fork() the cache before');
  }

  /**
   * @internal Lends the state of the first tokens of a prompt, by name, until put(). `states`: the inputs of the model that are state. State that
   * cannot be set back is given only where all of its tokens begin the prompt. Throws 'input' for the state of another model.
   */
  take(prompt: readonly number[], states: readonly string[], manifest: Manifest): {readonly count: number; readonly states: ReadonlyMap<string, DeviceTensor | Tensor>} {
    this.#check();
    this.#reused = 0;
    const none = {count: 0, states: new Map<string, Kept>()};
    if (this.#states.size === 0) {
      this.#isUsed = true;
      return none;
    }
    const ports = new Map(valuePorts(manifest.inputs).map((port) => [port.name, port]));
    const strange = [...new Set([...states, ...this.#states.keys()])].find((name) => {
      const [each, port] = [this.#states.get(name), ports.get(name)];
      return !each || !port || !states.includes(name) || !fits(each, port);
    });
    if (strange !== undefined) {
      const has = this.#states.get(strange);
      throw wrong(`generate(): the cache is of another model: its state "${strange}" is ${has ? `${has.dtype} ${shapeText(has.shape)}` : 'missing'}`);
    }
    const tokens = this.#tokens;
    const differs = tokens.findIndex((id, at) => id !== prompt[at]);
    // A run takes one token at least.
    const count = Math.min(differs < 0 ? tokens.length : differs, prompt.length - 1);
    const axes = rowAxes(manifest);
    const mine = this.#states;
    this.#states = new Map();
    this.#tokens = [];
    this.#isUsed = true;
    try {
      for (const each of mine.values()) if (isOnDevice(each)) each.check();
      const isWhole = count === tokens.length;
      const canCut = [...mine].every(([name, each]) => axes.has(name) && (!isOnDevice(each) || 'first' in each));
      if (count === 0 || (!isWhole && !canCut)) {
        mine.forEach(dispose);
        return none;
      }
      const given = [...mine].map(([name, each]) => [name, isWhole ? each : firstRows(each, axes.get(name) as number, count)] as const);
      if (!isWhole) mine.forEach(dispose);
      this.#reused = count;
      return {count, states: new Map(given)};
    } catch {
      return none; // the device that had it is gone
    }
  }

  /** @internal What the generation leaves: tensors that stay the model's. */
  put(tokens: readonly number[], states: ReadonlyMap<string, DeviceTensor>): void {
    this.#isUsed = false;
    this.#tokens = tokens;
    this.#states = new Map([...states].map(([name, each]) => [name, shared(each)]));
  }
}
