/**
 * Programs of lazy tensors, as src/tensor/recorder.h records them: what a node makes is known at once, nothing is
 * computed. An instance of compiler.wasm beside the caller, called without waiting.
 */
import type {DType, TensorData} from '../../runtime/src/types.ts';
import {CompileError, type Exports, Instance} from './call.ts';
import {getModule, type WasmSource} from './module.ts';

/** A tensor: its id, which is the key to its elements, and what is known of it. */
export interface Recorded {
  readonly id: number;
  readonly dtype: DType;
  /** -1: an extent that a run decides. */
  readonly shape: readonly number[];
}

/** Attributes that are floats; plain numbers are integers. */
export class Floats {
  readonly values: number | readonly number[];
  constructor(values: number | readonly number[]) {
    this.values = values;
  }
}
export type RecordedAttribute = number | string | Floats | readonly number[] | readonly string[];
export type RecordedAttributes = Readonly<Record<string, RecordedAttribute>>;

/** What computes tensors. */
export interface Plan {
  /** The same for programs of the same structure. */
  readonly program: number;
  /**
   * Another program with the same inputs and outputs, whose extents are dimensions: it computes this one's and others that differ in
   * them. Undefined where there is none, or none yet: it takes two programs of one structure.
   */
  readonly general: number | undefined;
  /** Ids of the leaves that it is fed, in the order of its inputs. */
  readonly feeds: readonly number[];
}

/** An ONNX model that can be recorded: a module. */
export interface ImportedModel {
  readonly handle: number;
  readonly name: string;
  /** Dynamic dimensions are names. */
  readonly inputs: readonly {readonly name: string; readonly dtype: DType; readonly shape: readonly (number | string)[]}[];
  readonly outputs: readonly string[];
  /** What is fed when it is recorded, in order: weights, and constants that are large or no matter of training. */
  readonly leaves: readonly ModelLeaf[];
}
export interface ModelLeaf {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Whether it is a weight: floats that only operators with weights read. */
  readonly trainable: boolean;
  /** Its elements as they lie in memory, little-endian: f16 as 16-bit codes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The ports of a program that is written as a model, in order. */
export interface ProgramPorts {
  readonly name?: string;
  /** Default: "i0", "i1", ... */
  readonly inputs?: readonly string[];
  /** Default: "o0", "o1", ... */
  readonly outputs?: readonly string[];
  /** An input with elements here (as they lie in memory) is a weight of the model instead. */
  readonly weights?: readonly (Uint8Array | undefined)[];
}

interface RecorderExports extends Exports {
  gs_row(words: number): number;
  gs_leaf(dtype: number, rank: number): number;
  gs_constant(dtype: number, rank: number, bytes: number, size: number): number;
  gs_operation(op: number, opSize: number, attributes: number, size: number): number;
  gs_record(operation: number, inputs: number, outputs: number): number;
  gs_gradient(xs: number, seeded: number): number;
  gs_spec(number: number): void;
  gs_freeze(id: number, token: number): void;
  gs_plan(wanted: number, frozen: number): number;
  gs_weights(number: number): number;
  gs_program(number: number, ports: number, size: number, weights: number, count: number): number;
  gs_import(bytes: number, size: number): number;
  gs_signature(model: number): number;
  gs_apply(model: number, inputs: number, leaves: number): number;
  gs_settle(id: number, history: number): void;
  gs_decide(id: number, rank: number): void;
  gs_forget(id: number): void;
  gs_drop(id: number): number;
  gs_fault(): number;
}

/** ONNX's codes, by the types that tensors of the web have. */
const CODES: Partial<Record<DType, number>> = {
  f32: 1, u8: 2, i8: 3, u16: 4, i16: 5, i32: 6, i64: 7, bool: 9, f16: 10, f64: 11, u32: 12, u64: 13, bf16: 16,
};
const DTYPES = new Map(Object.entries(CODES).map(([dtype, code]) => [code, dtype as DType]));

/** As gs_signature writes it. */
interface Signature {
  readonly name: string;
  readonly inputs: readonly {name: string; dtype: number; shape: (number | string)[]}[];
  readonly outputs: readonly string[];
  readonly leaves: readonly {name: string; dtype: number; shape: number[]; trainable: boolean}[];
}

type Spec = Pick<Recorded, 'dtype' | 'shape'>;

const jsonOf = (attributes: RecordedAttributes): string =>
  JSON.stringify(attributes, (_, value: unknown) =>
    value instanceof Floats ? (typeof value.values === 'number' ? {f: value.values} : {fs: value.values}) : value,
  );

/** What tells operators with attributes apart, in less time than jsonOf() takes. */
function keyOf(op: string, attributes: RecordedAttributes): string {
  let key = op;
  for (const name in attributes) {
    const value = attributes[name];
    if (value instanceof Floats) key += `|${name}=f${typeof value.values}${String(value.values)}`;
    else key += `|${name}=${typeof value === 'number' ? value : JSON.stringify(value)}`;
  }
  return key;
}

export class Recorder {
  readonly #instance: Instance;
  readonly #wasm: RecorderExports;
  /** The row of words that both sides fill and read; remade when the memory grows. */
  #row = new Int32Array(0);
  readonly #specs: Spec[] = [];
  readonly #operations = new Map<string, number>();

  private constructor(instance: Instance) {
    this.#instance = instance;
    this.#wasm = instance.exports as RecorderExports;
  }

  /** Every recorder has an instance of its own, of a module that is compiled once. */
  static async create(options: {readonly wasm?: WasmSource | undefined} = {}): Promise<Recorder> {
    return new Recorder(await Instance.create(await getModule(options.wasm)));
  }

  /** Room for so many words, and what the other side wrote there. */
  #words(count: number, moved = false): Int32Array {
    // A memory that grew has taken the array's buffer, and with it its length.
    if (count <= this.#row.length && !moved) return this.#row;
    const address = this.#wasm.gs_row(count);
    return (this.#row = new Int32Array(this.#wasm.memory.buffer, address, Math.max(count, 256)));
  }

  #fill(words: readonly number[]): void {
    this.#words(words.length).set(words);
  }

  #fault(): CompileError {
    const answer = this.#instance.take(this.#wasm.gs_fault());
    return new CompileError('error' in answer ? answer.error : {where: 'recorder', message: 'no fault', hint: ''});
  }

  /** So many tensors, as the other side told. */
  #made(count: number): Recorded[] {
    const [id = 0, number = 0] = this.#words(2 * count);
    const known = count === 1 ? this.#specs[number] : undefined;
    if (known) return [{id, dtype: known.dtype, shape: known.shape}];
    const row = this.#words(2 * count).slice(0, 2 * count);
    return Array.from({length: count}, (_, at) => {
      const {dtype, shape} = this.#spec(row[2 * at + 1] as number);
      return {id: row[2 * at] as number, dtype, shape};
    });
  }

  #spec(number: number): Spec {
    const known = this.#specs[number];
    if (known) return known;
    this.#wasm.gs_spec(number);
    const rank = this.#words(2, true)[1] as number;
    const [code = 0, , ...shape] = this.#words(2 + rank).slice(0, 2 + rank);
    const dtype = DTYPES.get(code);
    if (!dtype) throw new CompileError({where: 'recorder', message: `tensors of ONNX's type ${code}`, hint: ''});
    return (this.#specs[number] = {dtype, shape});
  }

  static #code(dtype: DType): number {
    const code = CODES[dtype];
    if (code === undefined) throw new CompileError({where: 'recorder', message: `tensors of ${dtype}`, hint: ''});
    return code;
  }

  /** A tensor whose elements the caller has, under its id. */
  leaf(dtype: DType, shape: readonly number[]): Recorded {
    const code = Recorder.#code(dtype);
    this.#fill(shape);
    if (this.#wasm.gs_leaf(code, shape.length) < 0) throw this.#fault();
    return this.#made(1)[0] as Recorded;
  }

  /**
   * A small tensor whose elements are part of programs: shapes, axes, numbers. `data` as it lies in memory: f16
   * and bf16 as 16-bit codes. Throws a CompileError where it has more than 64 KiB, or not as many as the shape says.
   */
  constant(dtype: DType, shape: readonly number[], data: TensorData): Recorded {
    const code = Recorder.#code(dtype);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const address = this.#instance.put(bytes);
    this.#fill(shape);
    const failed = this.#wasm.gs_constant(code, shape.length, address, bytes.length) < 0;
    this.#wasm.gs_free(address);
    if (failed) throw this.#fault();
    return this.#made(1)[0] as Recorded;
  }

  #operation(op: string, attributes: RecordedAttributes | undefined): number {
    const key = attributes ? keyOf(op, attributes) : op;
    const known = this.#operations.get(key);
    if (known !== undefined) return known;
    const json = attributes ? jsonOf(attributes) : '{}';
    const [name, size] = this.#instance.putText(op);
    const [text, length] = this.#instance.putText(json);
    const number = this.#wasm.gs_operation(name, size, text, length);
    this.#wasm.gs_free(name);
    this.#wasm.gs_free(text);
    if (number < 0) throw this.#fault();
    this.#operations.set(key, number);
    return number;
  }

  /**
   * A node of an operator of ai.onnx's newest version, or "domain::Name" of the catalog, and its first outputs; null
   * is an optional input left out. Throws a CompileError that names the operator and the shapes, and leaves all as it was.
   */
  record(
    op: string,
    inputs: readonly (Recorded | null)[],
    attributes?: RecordedAttributes,
    outputs = 1,
  ): Recorded[] {
    const operation = this.#operation(op, attributes);
    const row = this.#words(inputs.length);
    for (let at = 0; at < inputs.length; ++at) row[at] = inputs[at]?.id ?? -1;
    if (this.#wasm.gs_record(operation, inputs.length, outputs) < 0) throw this.#fault();
    return this.#made(outputs);
  }

  /** The derivatives of sum(y * seed), of sum(y) without one, by each x. */
  gradient(y: Recorded, xs: readonly Recorded[], seed?: Recorded): Recorded[] {
    this.#fill([...xs, y, ...(seed ? [seed] : [])].map(({id}) => id));
    if (this.#wasm.gs_gradient(xs.length, seed ? 1 : 0) < 0) throw this.#fault();
    return this.#made(xs.length);
  }

  /**
   * A leaf whose elements stay what they are is no feed of programs but their weight, "w" and its token: 1 or more, the caller's, which
   * no other leaf has or had. 0: it is fed again, as is one that a gradient is by.
   */
  freeze(id: number, token: number): void {
    this.#wasm.gs_freeze(id, token);
  }

  /**
   * What must run so that these are computed; the program's outputs are they, in order. `frozen`: whether leaves that are frozen are
   * weights of it.
   */
  plan(wanted: readonly number[], frozen = true): Plan {
    this.#fill(wanted);
    if (this.#wasm.gs_plan(wanted.length, frozen ? 1 : 0) < 0) throw this.#fault();
    const [program = 0, general = -1, count = 0] = this.#words(3, true); // they may be more than there was room for
    return {program, general: general < 0 ? undefined : general, feeds: Array.from(this.#words(3 + count).subarray(3, 3 + count))};
  }

  /** The tokens of a program's weights. */
  weights(program: number): readonly number[] {
    const count = this.#wasm.gs_weights(program);
    return Array.from(this.#words(count, true).subarray(0, count));
  }

  /** A program as an ONNX model, which can be compiled or saved; a weight's data are external, in a file that is called as it. */
  model(program: number, {weights = [], ...ports}: ProgramPorts = {}): Uint8Array<ArrayBuffer> {
    const mine: number[] = [];
    const put = (bytes: Uint8Array): number => {
      mine.push(this.#instance.put(bytes));
      return mine.at(-1) as number;
    };
    const table = weights.flatMap((bytes) => [0, 0, bytes ? put(bytes) : 0, bytes?.length ?? 0]);
    const list = put(new Uint8Array(Uint32Array.from(table).buffer));
    const json = new TextEncoder().encode(JSON.stringify(ports));
    const answer = this.#instance.take(this.#wasm.gs_program(program, put(json), json.length, list, weights.length));
    for (const address of mine) this.#wasm.gs_free(address);
    if ('error' in answer) throw new CompileError(answer.error);
    return answer.files[0]?.[1] as Uint8Array<ArrayBuffer>;
  }

  /** Reads an ONNX model, whose nodes apply() records. Throws a CompileError for what is no model of tensors of numbers. */
  import(onnx: Uint8Array): ImportedModel {
    const address = this.#instance.put(onnx);
    const handle = this.#wasm.gs_import(address, onnx.length);
    this.#wasm.gs_free(address);
    if (handle < 0) throw this.#fault();
    const answer = this.#instance.take(this.#wasm.gs_signature(handle));
    if ('error' in answer) throw new CompileError(answer.error);
    const [signature, ...elements] = answer.files;
    const told = JSON.parse(new TextDecoder().decode(signature?.[1])) as Signature;
    const typed = <T extends {dtype: number}>(port: T): Omit<T, 'dtype'> & {dtype: DType} => {
      const dtype = DTYPES.get(port.dtype);
      if (!dtype) throw new CompileError({where: told.name, message: `tensors of ONNX's type ${port.dtype}`, hint: ''});
      return {...port, dtype};
    };
    return {
      ...told,
      handle,
      inputs: told.inputs.map(typed),
      leaves: told.leaves.map((leaf, at) => ({...typed(leaf), bytes: elements[at]?.[1] ?? new Uint8Array()})),
    };
  }

  /**
   * Records all nodes of a model; gives its outputs. One tensor an input and one a leaf, in order. Throws a
   * CompileError that names the node, and leaves all as it was.
   */
  apply(model: ImportedModel, inputs: readonly Recorded[], leaves: readonly Recorded[]): Recorded[] {
    this.#fill([...inputs, ...leaves].map(({id}) => id));
    if (this.#wasm.gs_apply(model.handle, inputs.length, leaves.length) < 0) throw this.#fault();
    return this.#made(model.outputs.length);
  }

  /**
   * The caller has this tensor's elements: programs are fed it from here on. With `history` gradients still go
   * through how it was made, and what it was made of stays in use until forget().
   */
  settle(id: number, history = false): void {
    this.#wasm.gs_settle(id, history ? 1 : 0);
  }

  /** The shape of a tensor, where a run has decided it. */
  decide(id: number, shape: readonly number[]): Recorded {
    this.#fill(shape);
    this.#wasm.gs_decide(id, shape.length);
    return this.#made(1)[0] as Recorded;
  }

  /** No gradient goes through how a settled tensor was made any more. */
  forget(id: number): void {
    this.#wasm.gs_forget(id);
  }

  /**
   * Nobody holds this tensor any more; what is made of it may still use it. Gives the ids of tensors with elements
   * that nobody holds or uses since the last call, which may be given to others from here on; release(-1) releases none.
   */
  release(id: number): readonly number[] {
    const count = this.#wasm.gs_drop(id);
    return count === 0 ? [] : Array.from(this.#words(count).subarray(0, count));
  }
}
