/**
 * What is recorded: tensors, the nodes that make them, and for how long either is wanted. compiler.wasm is asked what a new operation
 * makes and what a new structure's program is (recorder.ts); what has been seen before is known here.
 */
import type {DType} from '../../runtime/src/values/types.ts';

/** What a node makes: a tensor of this type and shape, by their number, or a constant, by the number of its elements (else -1). */
export interface Made {
  readonly spec: number;
  readonly constant: number;
}

/** What was found for a row of words before: it is found again without one text being made of them. */
export class Known<T> {
  value: T | undefined;
  readonly #next = new Map<unknown, Known<T>>();

  at(word: unknown): Known<T> {
    let next = this.#next.get(word);
    if (!next) this.#next.set(word, (next = new Known()));
    return next;
  }
}

/** An operator with its attributes, a model, or the gradient by so many tensors. */
export interface Operation {
  readonly number: number;
  readonly gradient: boolean;
  /** Records it in compiler.wasm, of ids in the row; less than 0 where they don't fit. */
  readonly record: (inputs: number, outputs: number) => number;
  /** What it makes, by its inputs. */
  readonly known: Known<readonly Made[]>;
}

interface Node {
  readonly operation: Operation;
  readonly inputs: readonly (Slot | null)[];
  /** Null: it is gone. */
  outputs: (Slot | null)[];
  /** Outputs that are not. */
  live: number;
}

/** A tensor. */
export class Slot {
  readonly id: number;
  readonly dtype: DType;
  shape: readonly number[];
  spec: number;
  readonly constant: number;
  maker: Node | undefined;
  /** Of the maker. */
  readonly output: number;
  /** By nodes. */
  uses = 0;
  held = true;
  /** The caller has its elements. */
  settled: boolean;
  /** Token of a weight. */
  frozen = 0;
  /** The structure that named it last, and its number there. */
  round = 0;
  name = 0;

  constructor(id: number, dtype: DType, shape: readonly number[], spec: number, maker: Node | undefined, output: number, constant: number, settled: boolean) {
    this.id = id;
    this.dtype = dtype;
    this.shape = shape;
    this.spec = spec;
    this.constant = constant;
    this.maker = maker;
    this.output = output;
    this.settled = settled;
  }
}

/** What computes tensors, until the next is asked for: words that tell structures apart, and what they number. */
export interface Structure {
  readonly words: number[];
  /** Leaves, and nodes behind what they are made of. */
  readonly order: (Slot | Node)[];
  /** Tensors by their numbers. */
  readonly named: (Slot | undefined)[];
}

const FEED = -1;
const CONSTANT = -2;
const WANTED = -3;
const WEIGHT = -4;

const NONE: readonly number[] = [];

export class RecordedGraph {
  readonly #slots: (Slot | undefined)[] = [];
  /** Ids to give again, and those of elements that the caller is still to be told of. */
  readonly #free: number[] = [];
  #unused: number[] = [];
  #round = 0;
  readonly #structure: Structure = {words: [], order: [], named: []};
  readonly #rest: Slot[] = [];

  /** The tensor with this id, while somebody holds it. */
  held(id: number): Slot | undefined {
    const slot = this.#slots[id];
    return slot?.held ? slot : undefined;
  }

  slot(dtype: DType, shape: readonly number[], spec: number, maker: Node | undefined, output: number, constant = -1, settled = false): Slot {
    const id = this.#free.pop() ?? this.#slots.length;
    return (this.#slots[id] = new Slot(id, dtype, shape, spec, maker, output, constant, settled));
  }

  /** A node, whose outputs are added. */
  node(operation: Operation, inputs: readonly (Slot | null)[], count: number): Node {
    for (const input of inputs) if (input) input.uses += 1;
    return {operation, inputs, outputs: [], live: count};
  }

  settle(slot: Slot, history: boolean): void {
    slot.settled = true;
    if (!history) this.forget(slot);
  }

  /** The node goes with the last of its outputs, and with it the use of its inputs, and so on. */
  forget(first: Slot): void {
    let rest: Slot[] | undefined;
    for (let slot: Slot | undefined = first; slot; slot = rest?.pop()) {
      const node = slot.maker;
      slot.maker = undefined;
      if (!node) continue;
      node.outputs[slot.output] = null;
      if (--node.live > 0) continue;
      for (const input of node.inputs) {
        if (!input || --input.uses > 0 || input.held) continue;
        this.#leave(input);
        (rest ??= []).push(input);
      }
    }
  }

  /** Its id is given again: at once, or when the caller has let go of its elements. */
  #leave({id, settled}: Slot): void {
    this.#slots[id] = undefined;
    (settled ? this.#unused : this.#free).push(id);
  }

  release(slot: Slot): void {
    slot.held = false;
    if (slot.uses > 0) return;
    this.#leave(slot);
    this.forget(slot);
  }

  /** Ids of elements that nobody wants since the last call. */
  takeUnused(): readonly number[] {
    if (this.#unused.length === 0) return NONE;
    const unused = this.#unused;
    this.#free.push(...unused);
    this.#unused = [];
    return unused;
  }

  /** What computes these. `frozen`: whether leaves that are frozen are weights. */
  structure(wanted: readonly Slot[], frozen: boolean): Structure {
    if (this.#walk(wanted, frozen, false)) this.#walk(wanted, frozen, true);
    return this.#structure;
  }

  /**
   * Without recursion, as programs may be as deep as they are long. `deep`: also through tensors that the caller has, which is
   * wanted where a gradient may go through how they were made: whether that may be is the result.
   */
  #walk(wanted: readonly Slot[], frozen: boolean, deep: boolean): boolean {
    const round = ++this.#round;
    // Written over from the begin, as a step is mostly as long as the one before.
    const {words, order, named} = this.#structure;
    let [count, places, next, gradient, history] = [0, 0, 0, false, false];
    words[count++] = Number(frozen) + 2 * Number(deep);
    const name = (slot: Slot): void => {
      slot.round = round;
      named[(slot.name = next++)] = slot;
    };
    const rest = this.#rest;
    for (const want of wanted) {
      rest.push(want);
      for (let slot = rest.at(-1); slot; slot = rest.at(-1)) {
        if (slot.round === round) {
          rest.pop();
          continue;
        }
        const {maker} = slot;
        if (!maker || (slot.settled && !deep)) {
          if (maker) history = true;
          if (slot.constant >= 0) {
            words[count++] = CONSTANT;
            words[count++] = slot.constant;
          } else {
            const weight = frozen && slot.frozen > 0;
            words[count++] = weight ? WEIGHT : FEED;
            if (weight) words[count++] = slot.frozen;
            words[count++] = slot.spec;
          }
          order[places++] = slot;
          name(slot);
          continue;
        }
        const {operation, inputs, outputs} = maker;
        const before = rest.length;
        // The first input on top, so that feeds come in the order in which they are used.
        for (let at = inputs.length; at-- > 0;) {
          const input = inputs[at];
          if (input && input.round !== round) rest.push(input);
        }
        if (rest.length > before) continue;
        if (operation.gradient) gradient = true;
        words[count++] = operation.number;
        words[count++] = inputs.length;
        words[count++] = outputs.length;
        for (const input of inputs) words[count++] = input ? input.name : -1;
        for (const output of outputs) {
          if (deep) words[count++] = output?.settled ? 1 : 0;
          if (output) name(output);
          else named[next++] = undefined;
        }
        order[places++] = maker;
      }
    }
    words[count++] = WANTED;
    for (const slot of wanted) words[count++] = slot.name;
    words.length = count;
    order.length = places;
    named.length = next;
    return gradient && history;
  }
}

/** Programs by the structures that they are of. */
export class Structures<T> {
  readonly #known = new Map<number, {readonly words: readonly number[]; readonly value: T}[]>();
  #count = 0;

  /** The value for these words, made where there is none. */
  get(words: readonly number[], make: () => T): T {
    let hash = 0;
    for (const word of words) hash = Math.imul(hash ^ word, 0x9e3779b1) ^ (hash >>> 15);
    const alike = this.#known.get(hash) ?? [];
    const found = alike.find((each) => each.words.length === words.length && each.words.every((word, at) => word === words[at]));
    if (found) return found.value;
    const value = make();
    if (++this.#count > MOST) {
      this.#known.clear();
      this.#count = 1;
      alike.length = 0;
    }
    alike.push({words: words.slice(), value});
    this.#known.set(hash, alike);
    return value;
  }
}

/** compiler.wasm knows those of which this is not told any more. */
const MOST = 1024;
