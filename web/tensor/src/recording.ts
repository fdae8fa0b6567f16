/** What is recorded: the recorder of this realm, and values of its tensors with how many hold each. */
import {CompileError} from '../../compiler/src/call.ts';
import {Floats, type Recorded, type RecordedAttributes, Recorder} from '../../compiler/src/recorder.ts';
import {encode} from '../../runtime/src/values/encoding.ts';
import {arrayOf} from '../../runtime/src/values/tensor.ts';
import {type DType as AnyType, GossamerError, shapeText, type TensorData} from '../../runtime/src/values/types.ts';
import {atCaller} from './caller.ts';
import type {DType} from './dtype.ts';

export {Floats, type Recorded};
export type Attributes = RecordedAttributes;
export type Device = 'cpu' | 'webgpu' | 'webgl';

let recorder: Recorder | undefined;
let missing: unknown = new GossamerError('source', 'compiler.wasm is still on its way: await init() first');

/** compiler.wasm for programs; what the recorder was made of. */
export let compilerModule: WebAssembly.Module | undefined;

/** Throws what kept compiler.wasm from being had. */
export function getRecorder(): Recorder {
  if (recorder) return recorder;
  throw missing;
}

export async function startRecorder(module: WebAssembly.Module): Promise<void> {
  compilerModule = module;
  recorder = await Recorder.create({wasm: module});
}

export function setMissing(problem: unknown): void {
  missing = problem;
}

/** Elements on a device. */
export interface Stored {
  readonly device: Device;
  readonly dtype: AnyType;
  readonly shape: readonly number[];
  /** Of the elements. */
  readonly bytes: number;
  /** The same in the page's memory, where they are there now. */
  readonly host: TensorData | undefined;
  /** Row-major elements; rejects as the run that makes them. */
  read(): Promise<TensorData>;
  dispose(): void;
}

/** By id, values whose elements programs are fed, as something recorded may still be computed from them. */
const leaves: (Value | undefined)[] = [];

/** Those that are weights of programs, by their serials. */
const frozen = new Map<number, Value>();

let count = 0;

/** A recorded tensor. */
export class Value {
  readonly #recorded: Recorded;
  /** Counts values; ids come again. */
  readonly serial = (count += 1);
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly device: Device;
  /** A gradient may be asked of it, so it stays recorded where it was computed. */
  readonly tracked: boolean;
  /** Whether something that it is, or is computed from, takes gradients: none may flow through where it is used without its past. */
  past: boolean;
  /** The last walk of backward() through it; 0: none. */
  passed = 0;
  /** Of a gradient: the walk that gave it; -1: what it was to be computed through is forgotten. */
  walk = 0;
  /** The turn in which it was computed last, less than 0 where it was asked for (execution.ts). */
  turn = 0;
  /** How many operations it is from what was computed, where no gradient is traced. */
  depth = 0;
  /** backward() was called of it. */
  root = false;
  /** It was computed, and how is forgotten: no gradient goes through it any more. */
  cut = false;
  #holders = 1;
  #stopped: Recorded | undefined;
  #stored: Stored | undefined;

  constructor(recorded: Recorded, device: Device, tracked: boolean, past = tracked) {
    this.#recorded = recorded;
    this.dtype = recorded.dtype as DType;
    this.shape = recorded.shape;
    this.device = device;
    this.tracked = tracked;
    this.past = past;
  }

  get recorded(): Recorded {
    if (this.walk < 0) throw late('what was read since backward() went through it');
    return this.#recorded;
  }

  /** The same elements, where gradients stop. */
  get stopped(): Recorded {
    this.#stopped ??= recordNode('ai.gossamer::StopGradient', [this.recorded])[0] as Recorded;
    return this.#stopped;
  }

  get id(): number {
    return this.#recorded.id;
  }

  /** Of a leaf: whether programs have its elements as a weight, which they prepare once, instead of being fed them. */
  set frozen(on: boolean) {
    getRecorder().freeze(this.id, on ? this.serial : 0);
    if (on) frozen.set(this.serial, this);
    else frozen.delete(this.serial);
  }

  get held(): boolean {
    return this.#holders > 0;
  }

  /** Its elements, once they are computed or under way. */
  get stored(): Stored | undefined {
    return this.#stored;
  }

  /** From here on programs are fed these elements. */
  set stored(stored: Stored | undefined) {
    if (stored) {
      this.#stored = stored;
      leaves[this.id] = this;
    } else this.drop();
  }

  /** Lets go of its elements. */
  drop(): void {
    if (!this.#stored) return;
    this.#stored.dispose();
    this.#stored = undefined;
    frozen.delete(this.serial);
    leaves[this.id] = undefined;
  }

  hold(): this {
    this.#holders += 1;
    return this;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders !== 0) return;
    letGo(this.#recorded);
    if (this.#stopped) letGo(this.#stopped);
  }
}

/** Lets go of elements that nothing is computed from any more. */
export function drop(ids: readonly number[]): void {
  for (const id of ids) leaves[id]?.drop();
}

/** A program's weights, by the names that they have there. Throws 'disposed' as leafOf(). */
export function weightsOf(program: number): ReadonlyMap<string, Stored> {
  return new Map(getRecorder().weights(program).map((serial) => [`w${serial}`, leafOf(frozen.get(serial)?.id ?? -1).stored as Stored]));
}

/** Nobody holds it any more, though what is recorded of it may use it. */
export function letGo({id}: Recorded): void {
  drop(getRecorder().release(id));
}

/** The value of a leaf. Throws 'disposed' where they were let go of two steps after they were replaced. */
export function leafOf(id: number): Value {
  const leaf = leaves[id];
  if (leaf) return leaf;
  throw late('parameters that were replaced more than two steps ago');
}

const late = (what: string): GossamerError =>
  new GossamerError('disposed', `this was computed from ${what}: read it (data(), item()) earlier, or detach() it`);

/** Bytes of all elements that are held. */
export const leafBytes = (): number => leaves.reduce((sum, leaf) => sum + (leaf?.stored?.bytes ?? 0), 0);

/** Constants by type, shape and elements: axes, shapes and numbers recur in every step. */
const constants = new Map<string, Recorded>();
const MOST_CONSTANTS = 1024;

/** Elements that are part of the program: other ones make another program. */
export function constant(dtype: DType, shape: readonly number[], data: readonly (number | bigint)[]): Recorded {
  const key = `${dtype}|${shape.join()}|${data.join()}`;
  const known = constants.get(key);
  if (known) return known;
  const elements = arrayOf(dtype, data.length);
  const wide = dtype === 'i64' || dtype === 'u64';
  for (let at = 0; at < data.length; ++at) elements[at] = wide ? BigInt(data[at] ?? 0) : Number(data[at]);
  if (constants.size >= MOST_CONSTANTS) {
    constants.forEach(letGo);
    constants.clear();
  }
  const made = getRecorder().constant(dtype, shape, dtype === 'f16' ? encode(elements, dtype) : elements);
  constants.set(key, made);
  return made;
}

/** A list of whole numbers, as ONNX wants axes and shapes. */
export const integers = (list: readonly number[]): Recorded => constant('i64', [list.length], list);

const described = (input: Recorded | null): string => (input ? `${input.dtype} ${shapeText(input.shape)}` : 'nothing');

/** One node. Throws 'input' with the operator and the shapes of its inputs. */
export function recordNode(op: string, inputs: readonly (Recorded | null)[], attributes?: Attributes, outputs = 1): Recorded[] {
  try {
    return getRecorder().record(op, inputs, attributes, outputs);
  } catch (problem) {
    throw recordError(`${op}(${inputs.map(described).join(', ')})`, problem);
  }
}

export function recordError(what: string, problem: unknown): unknown {
  const isSaid = problem instanceof GossamerError && !(problem instanceof CompileError);
  if (!(problem instanceof Error) || isSaid) return problem;
  return atCaller(() => new GossamerError('input', `${what}: ${problem.message}`, {cause: problem}));
}
