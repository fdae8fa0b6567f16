/**
 * Programs of lazy tensors, as src/tensor/recorder.h records them: what a node makes is known at once, nothing is
 * computed. An instance of compiler.wasm beside the caller, called without waiting, says what is new: what has been recorded before, and
 * structures that have been planned, are known on this side (recorded.ts).
 */
import type {DType, TensorData} from '../../runtime/src/values/types.ts';
import {CompileError, type Exports, Instance} from './call.ts';
import {getModule, type WasmSource} from './module.ts';
import {Known, type Made, type Operation, RecordedGraph, Slot, type Structure, Structures} from './recorded.ts';

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

/** A function of tensors whose program was planned once, or several times with other extents of its inputs. */
export interface Traced {
  readonly name: string;
  /** One a trace, of the same structure. */
  readonly programs: readonly number[];
  /** What it takes. `feed`: its place among the programs' feeds; -1: it is not used. */
  readonly ports: readonly {readonly name: string; readonly dtype: DType; readonly shape: readonly number[]; readonly feed: number}[];
  /** One a feed. A weight has elements as they lie in memory, of each trace or of the first if all have the same; a port has none. */
  readonly feeds: readonly {readonly name: string; readonly learnt: boolean; readonly elements: readonly Uint8Array[]}[];
  readonly outputs: readonly string[];
  /** Whether parameters are inputs, too, whose defaults they are: for runs that learn. */
  readonly opensParameters: boolean;
  /** Extents that are dimensions of the model: where they are read, and what they are in each trace. */
  readonly dims: readonly {readonly name: string; readonly places: readonly (readonly [port: number, axis: number])[]; readonly extents: readonly number[]}[];
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
  gs_program(number: number, parts: number): number;
  gs_traced(json: number, size: number, elements: number, count: number): number;
  gs_import(bytes: number, size: number): number;
  gs_signature(model: number): number;
  gs_apply(model: number, inputs: number, leaves: number): number;
  gs_settle(id: number, history: number): void;
  gs_elements(id: number): number;
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

const isConstant = ({constant}: Made): boolean => constant >= 0;

/** A program as plan() has it; its feeds by their numbers in the structure. */
interface Planned extends Omit<Plan, 'feeds'> {
  readonly feeds: readonly number[];
}

export class Recorder {
  readonly #instance: Instance;
  readonly #wasm: RecorderExports;
  readonly #graph = new RecordedGraph();
  /** The row of words that both sides fill and read; remade when the memory grows. */
  #row = new Int32Array(0);
  readonly #specs: Spec[] = [];
  /** By type and shape. */
  readonly #numbers = new Map<string, number>();
  /** In compiler.wasm: a leaf of each type and shape, and the constants by the numbers of their elements. */
  readonly #likes: number[] = [];
  readonly #constants: number[] = [];
  readonly #operations = new Known<Operation>();
  #operationCount = 0;
  readonly #structures = new Structures<Planned>();
  /** How often compiler.wasm was asked, for what an operation makes or for a program: not at all for a step like one before. */
  asked = 0;

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
    // A memory that grew has taken the array's buffer, and with it its length: not even no words can be written there.
    if (Math.max(count, 1) <= this.#row.length && !moved) return this.#row;
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

  /** So many tensors, as the other side told: the id of each there, and the number of its type and shape. */
  #told(count: number): [id: number, spec: number][] {
    const row = this.#words(2 * count);
    return Array.from({length: count}, (_, at) => [row[2 * at] as number, row[2 * at + 1] as number]);
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

  /** A leaf in compiler.wasm. */
  #leaf({dtype, shape}: Spec): [id: number, spec: number] {
    const code = Recorder.#code(dtype);
    this.#fill(shape);
    if (this.#wasm.gs_leaf(code, shape.length) < 0) throw this.#fault();
    return this.#told(1)[0] as [number, number];
  }

  /** The number of a type and shape. */
  #numberOf(dtype: DType, shape: readonly number[]): number {
    const key = `${dtype} ${shape.join()}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      const [id, spec] = this.#leaf({dtype, shape});
      this.#numbers.set(key, (number = spec));
      this.#likes[number] ??= id;
    }
    return number;
  }

  #slot({spec, constant}: Made, settled = false): Slot {
    const {dtype, shape} = this.#spec(spec);
    return this.#graph.slot(dtype, shape, spec, undefined, 0, constant, settled);
  }

  /** A tensor whose elements the caller has, under its id. */
  leaf(dtype: DType, shape: readonly number[]): Recorded {
    return this.#slot({spec: this.#numberOf(dtype, shape), constant: -1}, true);
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
    return this.#slot(this.#taken(this.#told(1)[0] as [number, number]));
  }

  /** What this is, whose id in compiler.wasm is kept for the first constant of its elements alone. */
  #taken([id, spec]: readonly [id: number, spec: number]): Made {
    const constant = this.#wasm.gs_elements(id);
    if (constant >= 0 && this.#constants[constant] === undefined) this.#constants[constant] = id;
    else this.#wasm.gs_drop(id);
    return {spec, constant};
  }

  #add(known: Known<Operation>, gradient: boolean, record: Operation['record']): Operation {
    return (known.value = {number: this.#operationCount++, gradient, record, known: new Known()});
  }

  #operation(op: string, attributes: RecordedAttributes | undefined): Operation {
    let known = this.#operations.at(op);
    for (const name in attributes) {
      let value: unknown = attributes[name];
      known = known.at(name);
      // Of what kind it is comes before, where another one could be the same word.
      if (value instanceof Floats) {
        known = known.at(Floats);
        value = value.values;
      }
      known = typeof value === 'object' ? known.at(JSON).at(JSON.stringify(value)) : known.at(value);
    }
    if (known.value) return known.value;
    const json = attributes ? jsonOf(attributes) : '{}';
    const [name, size] = this.#instance.putText(op);
    const [text, length] = this.#instance.putText(json);
    const number = this.#wasm.gs_operation(name, size, text, length);
    this.#wasm.gs_free(name);
    this.#wasm.gs_free(text);
    if (number < 0) throw this.#fault();
    return this.#add(known, false, (inputs, outputs) => this.#wasm.gs_record(number, inputs, outputs));
  }

  /** Records in compiler.wasm. */
  #record({record}: Operation, ids: readonly number[], outputs: number): [id: number, spec: number][] {
    this.#fill(ids);
    if (record(ids.length, outputs) < 0) throw this.#fault();
    return this.#told(outputs);
  }

  #ask(operation: Operation, inputs: readonly (Slot | null)[], outputs: number): Made[] {
    this.asked += 1;
    const ids = inputs.map((input) => {
      if (!input) return -1;
      return input.constant < 0 ? (this.#likes[input.spec] ??= this.#leaf(input)[0]) : (this.#constants[input.constant] as number);
    });
    return this.#record(operation, ids, outputs).map((told) => this.#taken(told));
  }

  /** A node, and what it makes; constants where all of that is. */
  #node(operation: Operation, given: readonly (Recorded | null)[], outputs: number, what: string): Recorded[] {
    const inputs = given as readonly (Slot | null)[];
    let known = operation.known.at(outputs);
    for (const input of inputs) {
      if (input && !input.held) throw new CompileError({where: 'recorder', message: `${what} was disposed`, hint: ''});
      known = known.at(!input ? -1 : input.constant < 0 ? input.spec : -2 - input.constant);
    }
    const made = (known.value ??= this.#ask(operation, inputs, outputs));
    if (made.every(isConstant)) return made.map((each) => this.#slot(each));
    const node = this.#graph.node(operation, inputs, made.length);
    const slots = made.map(({spec}, at) => {
      const {dtype, shape} = this.#spec(spec);
      return this.#graph.slot(dtype, shape, spec, node, at);
    });
    node.outputs = slots.slice();
    return slots;
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
    return this.#node(this.#operation(op, attributes), inputs, outputs, 'an input');
  }

  /** The derivatives of sum(y * seed), of sum(y) without one, by each x. */
  gradient(y: Recorded, xs: readonly Recorded[], seed?: Recorded): Recorded[] {
    const seeded = seed ? 1 : 0;
    const known = this.#operations.at(seeded).at(xs.length);
    const operation = known.value ?? this.#add(known, true, () => this.#wasm.gs_gradient(xs.length, seeded));
    const made = this.#node(operation, seed ? [...xs, y, seed] : [...xs, y], xs.length, 'a tensor');
    for (const x of xs as readonly Slot[]) x.frozen = 0; // it is about to change
    return made;
  }

  /**
   * A leaf whose elements stay what they are is no feed of programs but their weight, "w" and its token: 1 or more, the caller's, which
   * no other leaf has or had. 0: it is fed again, as is one that a gradient is by.
   */
  freeze(id: number, token: number): void {
    const slot = this.#graph.held(id);
    if (slot) slot.frozen = token;
  }

  /**
   * What must run so that these are computed; the program's outputs are they, in order. `frozen`: whether leaves that are frozen are
   * weights of it.
   */
  plan(wanted: readonly number[], frozen = true): Plan {
    const slots = wanted.map((id) => {
      const slot = this.#graph.held(id);
      if (!slot) throw new CompileError({where: 'recorder', message: 'a tensor was disposed', hint: ''});
      return slot;
    });
    const structure = this.#graph.structure(slots, frozen);
    const {program, general, feeds} = this.#structures.get(structure.words, () => this.#plan(structure, slots, frozen));
    return {program, general, feeds: feeds.map((name) => (structure.named[name] as Slot).id)};
  }

  /** The program of a structure, which compiler.wasm is told from its leaves on and then forgets. */
  #plan({order, named}: Structure, wanted: readonly Slot[], frozen: boolean): Planned {
    this.asked += 1;
    const ids: number[] = [];
    const mine: number[] = [];
    for (const each of order) {
      if (each instanceof Slot) {
        ids[each.name] = this.#constants[each.constant] ?? this.#leaf(each)[0];
        if (each.constant >= 0) continue;
        mine.push(ids[each.name] as number);
        if (each.frozen > 0) this.#wasm.gs_freeze(ids[each.name] as number, each.frozen);
        continue;
      }
      const inputs = each.inputs.map((input) => (input ? (ids[input.name] as number) : -1));
      this.#record(each.operation, inputs, each.outputs.length).forEach(([id], at) => {
        mine.push(id);
        const slot = each.outputs[at];
        if (!slot) return;
        ids[slot.name] = id;
        if (slot.settled) this.#wasm.gs_settle(id, 1);
      });
    }
    this.#fill(wanted.map(({name}) => ids[name] as number));
    if (this.#wasm.gs_plan(wanted.length, frozen ? 1 : 0) < 0) throw this.#fault();
    const [program = 0, general = -1, count = 0] = this.#words(3, true); // they may be more than there was room for
    const feeds = Array.from(this.#words(3 + count).subarray(3, 3 + count), (id) => named.findIndex((_, name) => ids[name] === id));
    for (const id of mine) this.#wasm.gs_drop(id);
    return {program, general: general < 0 ? undefined : general, feeds};
  }

  /** The tokens of a program's weights. */
  weights(program: number): readonly number[] {
    const count = this.#wasm.gs_weights(program);
    return Array.from(this.#words(count, true).subarray(0, count));
  }

  #model(answer: number): Uint8Array<ArrayBuffer> {
    const made = this.#instance.take(answer);
    if ('error' in made) throw new CompileError(made.error);
    return made.files[0]?.[1] as Uint8Array<ArrayBuffer>;
  }

  /**
   * A program as an ONNX model, which can be compiled; a weight's data are external, in a file that is called as it. `parts`: it says
   * what import() is to take for parameters, which are none.
   */
  model(program: number, parts = false): Uint8Array<ArrayBuffer> {
    return this.#model(this.#wasm.gs_program(program, parts ? 1 : 0));
  }

  /**
   * A function as an ONNX model. What differs between its traces is computed from its dimensions. Throws a CompileError where that
   * cannot be, with the operator or the shape.
   */
  traced({ports, feeds, ...rest}: Traced): Uint8Array<ArrayBuffer> {
    const mine: number[] = [];
    const put = (bytes: Uint8Array): number => {
      mine.push(this.#instance.put(bytes));
      return mine.at(-1) as number;
    };
    const table = feeds.flatMap(({elements}) => elements.flatMap((bytes) => [0, 0, put(bytes), bytes.length]));
    const list = put(new Uint8Array(Uint32Array.from(table).buffer));
    const json = new TextEncoder().encode(JSON.stringify({
      ...rest,
      ports: ports.map(({dtype, ...port}) => ({...port, dtype: CODES[dtype]})),
      feeds: feeds.map(({elements, ...feed}) => ({...feed, traces: elements.length})),
    }));
    const made = this.#wasm.gs_traced(put(json), json.length, list, table.length / 4);
    for (const address of mine) this.#wasm.gs_free(address);
    return this.#model(made);
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
    const {handle} = model;
    const known = this.#operations.at(JSON).at(handle).at(inputs.length);
    const operation = known.value ?? this.#add(known, false, (all) => this.#wasm.gs_apply(handle, inputs.length, all - inputs.length));
    return this.#node(operation, [...inputs, ...leaves], model.outputs.length, 'a tensor');
  }

  /**
   * The caller has this tensor's elements: programs are fed it from here on. With `history` gradients still go
   * through how it was made, and what it was made of stays in use until forget().
   */
  settle(id: number, history = false): void {
    const slot = this.#graph.held(id);
    if (slot && !slot.settled) this.#graph.settle(slot, history);
  }

  /** The shape of a tensor, where a run has decided it. */
  decide(id: number, shape: readonly number[]): Recorded {
    const slot = this.#graph.held(id) as Slot;
    slot.spec = this.#numberOf(slot.dtype, shape);
    slot.shape = this.#spec(slot.spec).shape;
    return slot;
  }

  /** No gradient goes through how a settled tensor was made any more. */
  forget(id: number): void {
    const slot = this.#graph.held(id);
    if (slot?.settled) this.#graph.forget(slot);
  }

  /**
   * Nobody holds this tensor any more; what is made of it may still use it. Gives the ids of tensors with elements
   * that nobody holds or uses since the last call, which may be given to others from here on; release(-1) releases none.
   */
  release(id: number): readonly number[] {
    const slot = this.#graph.held(id);
    if (slot) this.#graph.release(slot);
    return this.#graph.takeUnused();
  }
}
