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
  /** Ids of the leaves that it is fed, in the order of its inputs. */
  readonly feeds: readonly number[];
}

interface RecorderExports extends Exports {
  gs_row(words: number): number;
  gs_leaf(dtype: number, rank: number): number;
  gs_constant(dtype: number, rank: number, bytes: number, size: number): number;
  gs_operation(op: number, opSize: number, attributes: number, size: number): number;
  gs_record(operation: number, inputs: number, outputs: number): number;
  gs_gradient(xs: number, seeded: number): number;
  gs_spec(number: number): void;
  gs_plan(wanted: number): number;
  gs_program(number: number): number;
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

type Spec = Pick<Recorded, 'dtype' | 'shape'>;

const jsonOf = (attributes: RecordedAttributes): string =>
  JSON.stringify(attributes, (_, value: unknown) =>
    value instanceof Floats ? (typeof value.values === 'number' ? {f: value.values} : {fs: value.values}) : value,
  );

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
  #words(count: number): Int32Array {
    const address = this.#wasm.gs_row(count);
    const {buffer} = this.#wasm.memory;
    if (this.#row.buffer !== buffer || this.#row.byteOffset !== address || this.#row.length < count) {
      this.#row = new Int32Array(buffer, address, Math.max(count, 256));
    }
    return this.#row;
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
    const rank = this.#words(2)[1] as number;
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
    const json = attributes ? jsonOf(attributes) : '{}';
    const key = `${op} ${json}`;
    const known = this.#operations.get(key);
    if (known !== undefined) return known;
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

  /** What must run so that these are computed; the program's outputs are they, in order. */
  plan(wanted: readonly number[]): Plan {
    this.#fill(wanted);
    if (this.#wasm.gs_plan(wanted.length) < 0) throw this.#fault();
    const [program = 0, count = 0] = this.#words(2);
    return {program, feeds: Array.from(this.#words(2 + count).subarray(2, 2 + count))};
  }

  /** A program as an ONNX model, with inputs i0, i1, ... and outputs o0, o1, ... */
  model(program: number): Uint8Array {
    const answer = this.#instance.take(this.#wasm.gs_program(program));
    if ('error' in answer) throw new CompileError(answer.error);
    return answer.files[0]?.[1] as Uint8Array;
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
