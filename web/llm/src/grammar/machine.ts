/** Which tokens may follow: a grammar's places with their callers, and masks of tokens that are kept. */
import type {Grammar} from './automaton.ts';
import {Places} from './places.ts';
import {bitsOf, setBit, type Vocabulary} from './vocabulary.ts';

/** A place with the places after the rules that are open, innermost first. Frame 0 is below the root. */
interface Frame {
  readonly place: number;
  readonly parent: number;
}

/** Everywhere that a text may be: frames whose places go on. */
interface State {
  readonly frames: readonly number[];
  /** Whether the root rule may end here. */
  readonly mayEnd: boolean;
  mask: Int32Array | undefined;
}

/** Tokens that a place allows whatever its callers are, and nodes of the vocabulary where its rule may end within a token. */
interface Local {
  readonly bits: Int32Array;
  readonly ends: readonly number[];
}

/** When there are more states or masks than this, they are forgotten, as texts may nest forever. */
const MOST_STATES = 20_000;
const MOST_MASKS = 64 << 20;

const [MAY_STOP, MAY_END] = [1, 2];

export class Machine {
  readonly places: Places;
  readonly #vocabulary: Vocabulary;
  readonly #stops: readonly number[];
  readonly #frames: Frame[] = [{place: -1, parent: -1}];
  readonly #frameOf = new Map<number, number>();
  #states: State[] = [];
  #stateOf = new Map<string, number>();
  /** By state and class of bytes: the next state, -1 for none, -2 for one that is not known yet. */
  #next = new Int32Array(0);
  #flags = new Uint8Array(0);
  #locals = new Map<string, Local>();
  /** Bytes of masks that are kept. */
  #kept = 0;
  #root: number;

  /** `stops`: tokens that end a text. Throws a GrammarError. */
  constructor(grammar: Grammar, root: number, vocabulary: Vocabulary, stops: readonly number[]) {
    this.#vocabulary = vocabulary;
    this.#stops = stops.filter((id) => id < vocabulary.words);
    this.places = new Places(grammar, root, vocabulary);
    this.#root = this.#frame(this.places.start(root), 0);
  }

  #frame(place: number, parent: number): number {
    const key = place + parent * 2 ** 26;
    let at = this.#frameOf.get(key);
    if (at === undefined) {
      at = this.#frames.push({place, parent}) - 1;
      this.#frameOf.set(key, at);
    }
    return at;
  }

  /** The state of some frames, those of rules that begin there, and those after rules that may end there. */
  #closed(from: readonly number[]): number {
    const found = new Set(from);
    let mayEnd = false;
    for (const at of found) {
      if (at === 0) {
        mayEnd = true;
        continue;
      }
      const {place, parent} = this.#frames[at] as Frame;
      const {isEnd, rules} = this.places.get(place);
      if (isEnd) found.add(parent);
      for (const {begin, after} of rules) {
        const {isEnd: endsAfter, goesOn} = this.places.get(after);
        // The last rule of a rule returns to the caller, so that lists do not nest.
        found.add(this.#frame(begin, endsAfter && !goesOn ? parent : this.#frame(after, parent)));
      }
    }
    found.delete(0);
    return this.#state([...found], mayEnd);
  }

  #state(frames: readonly number[], mayEnd: boolean): number {
    const sorted = [...frames].sort((a, b) => a - b);
    const key = `${sorted.join()}${mayEnd ? '!' : ''}`;
    const known = this.#stateOf.get(key);
    if (known !== undefined) return known;
    const at = this.#states.push({frames: sorted, mayEnd, mask: undefined}) - 1;
    this.#stateOf.set(key, at);
    const {classes} = this.places;
    if ((at + 1) * classes > this.#next.length) {
      const grown = new Int32Array(Math.max(64, 2 * (at + 1)) * classes).fill(-2);
      grown.set(this.#next);
      const flags = new Uint8Array(grown.length / classes);
      flags.set(this.#flags);
      [this.#next, this.#flags] = [grown, flags];
    }
    const isLive = sorted.some((frame) => this.places.get((this.#frames[frame] as Frame).place).isLive);
    this.#flags[at] = (isLive || mayEnd ? MAY_STOP : 0) | (mayEnd ? MAY_END : 0);
    return at;
  }

  #step(state: number, byteClass: number): number {
    const slot = state * this.places.classes + byteClass;
    const known = this.#next[slot] as number;
    if (known !== -2) return known;
    const to: number[] = [];
    for (const at of (this.#states[state] as State).frames) {
      const {place, parent} = this.#frames[at] as Frame;
      const next = this.places.after(place, byteClass);
      if (next >= 0) to.push(this.#frame(next, parent));
    }
    const next = to.length === 0 ? -1 : this.#closed(to);
    this.#next[slot] = next;
    return next;
  }

  /** Sets the bits of tokens below a node that are allowed from a state. `ends`: gets nodes where the root rule may end. */
  #walk(state: number, node: number, bits: Int32Array, ends?: number[], vocabulary = this.#vocabulary): void {
    const {byte, depth, end, token, twin, longest} = vocabulary;
    const {classOf, classes} = this.places;
    const states = new Int32Array(longest + 1);
    states[depth[node] as number] = state;
    const last = end[node] as number;
    for (let at = node + 1; at < last;) {
      const from = states[(depth[at] as number) - 1] as number;
      const byteClass = classOf[byte[at] as number] as number;
      const known = this.#next[from * classes + byteClass] as number;
      const next = known === -2 ? this.#step(from, byteClass) : known;
      const after = end[at] as number;
      if (next < 0) {
        at = after;
        continue;
      }
      states[depth[at] as number] = next;
      const flags = this.#flags[next] as number;
      if (flags & MAY_STOP) for (let id = token[at] as number; id >= 0; id = twin[id] as number) setBit(bits, id);
      if (ends && flags & MAY_END && after > at + 1) ends.push(at);
      ++at;
    }
  }

  #local(place: number): Local {
    const {name} = this.places.get(place);
    const known = this.#locals.get(name);
    if (known) return known;
    const bits = bitsOf(this.#vocabulary.words);
    const ends: number[] = [];
    this.#walk(this.#state([this.#frame(place, 0)], false), 0, bits, ends);
    const made = {bits, ends};
    this.#keep(bits.byteLength);
    this.#locals.set(name, made);
    return made;
  }

  /** Counts bytes of masks, and forgets all if they are too many. */
  #keep(size: number): void {
    this.#kept += size;
    if (this.#kept < MOST_MASKS) return;
    this.#kept = size;
    this.#locals = new Map();
    for (const state of this.#states) state.mask = undefined;
  }

  /** The state at the beginning of a text. */
  start(): number {
    return this.#closed([this.#root]);
  }

  /** The state after a token, or -1. */
  after(state: number, bytes: Uint8Array): number {
    let at = state;
    for (const byte of bytes) {
      if (at < 0) return at;
      at = this.#step(at, this.places.classOf[byte] as number);
    }
    return at;
  }

  mayEnd(state: number): boolean {
    return (this.#states[state] as State).mayEnd;
  }

  /** The bits of tokens that are allowed next, with those that end the text where it may end. Kept by state. */
  mask(state: number): Int32Array {
    const of = this.#states[state] as State;
    if (of.mask) return of.mask;
    const bits = bitsOf(this.#vocabulary.words);
    for (const frame of of.frames) {
      const {place, parent} = this.#frames[frame] as Frame;
      const {bits: own, ends} = this.#local(place);
      for (let at = 0; at < bits.length; ++at) (bits[at] as number) |= own[at] as number;
      if (parent === 0 || ends.length === 0) continue;
      const caller = this.#closed([parent]);
      for (const node of ends) this.#walk(caller, node, bits);
    }
    this.#keep(bits.byteLength);
    return (of.mask = this.#withStops(state, bits));
  }

  /** Where nothing else is allowed, a text ends without a token. */
  #withStops(state: number, bits: Int32Array): Int32Array {
    if (this.mayEnd(state) && bits.some((word) => word !== 0)) for (const id of this.#stops) setBit(bits, id);
    return bits;
  }

  /** The same for tokens whose bytes are different in this place. */
  maskOf(vocabulary: Vocabulary, state: number): Int32Array {
    const bits = bitsOf(vocabulary.words);
    this.#walk(state, 0, bits, undefined, vocabulary);
    return this.#withStops(state, bits);
  }

  /** A state that stays valid when others were forgotten. Call it between tokens only. */
  trimmed(state: number): number {
    if (this.#states.length < MOST_STATES) return state;
    const {frames, mayEnd} = this.#states[state] as State;
    this.#states = [];
    this.#stateOf = new Map();
    this.#next = new Int32Array(0);
    this.#flags = new Uint8Array(0);
    return this.#state(frames, mayEnd);
  }
}
