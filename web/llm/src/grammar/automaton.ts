/** Grammars as automata over bytes, whose edges may be other rules, and the parts that they are made of. */

/** A grammar, schema or pattern that is wrong, or that no text meets. */
export class GrammarError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GrammarError';
  }
}

/** More states than this take too long and too much memory. */
const MOST_STATES = 1_000_000;

export interface Edges {
  /** States that are reached without a byte. */
  readonly empty: number[];
  /** By one byte of a range. */
  readonly bytes: {readonly low: number; readonly high: number; readonly to: number}[];
  /** By a text of a rule. */
  readonly rules: {readonly rule: number; readonly to: number}[];
}

/** The place of a state in a counted repetition: repetitions of one kind are alike far from their ends. */
export interface Counted {
  readonly loop: number;
  /** Of the states of one repetition. */
  readonly offset: number;
  /** Repetitions up to and with this one. */
  readonly done: number;
  readonly least: number;
  readonly most: number;
}

export interface Rule {
  readonly name: string;
  readonly start: number;
  end: number;
}

export class Grammar {
  readonly edges: Edges[] = [];
  readonly counted: (Counted | undefined)[] = [];
  readonly rules: Rule[] = [];
  #loops = 0;

  state(): number {
    if (this.edges.length >= MOST_STATES) throw new GrammarError('the grammar is too large: repetitions such as maxLength, maxItems and {m,n} take a place for each time');
    this.counted.push(undefined);
    return this.edges.push({empty: [], bytes: [], rules: []}) - 1;
  }

  empty(from: number, to: number): void {
    this.edges[from]?.empty.push(to);
  }

  bytes(from: number, low: number, high: number, to: number): void {
    this.edges[from]?.bytes.push({low, high, to});
  }

  /** Declares a rule, whose body may refer to it. */
  declare(name: string): number {
    const start = this.state();
    return this.rules.push({name, start, end: start}) - 1;
  }

  define(rule: number, body: Part): void {
    const {start} = this.rules[rule] as Rule;
    const end = this.state();
    this.empty(body(this, start), end);
    (this.rules[rule] as Rule).end = end;
  }

  /** A number for a counted repetition. */
  loop(): number {
    return this.#loops++;
  }
}

/** Adds a part of a grammar after a state and returns the state after it. No edge returns to `from`. */
export type Part = (grammar: Grammar, from: number) => number;

export const nothing: Part = (_, from) => from;
/** What no text meets. */
export const never: Part = (grammar) => grammar.state();

export const bytes = (all: Iterable<number>): Part => (grammar, from) => {
  let at = from;
  for (const byte of all) {
    const next = grammar.state();
    grammar.bytes(at, byte, byte, next);
    at = next;
  }
  return at;
};

const encoder = new TextEncoder();
export const bytesOfText = (content: string): Uint8Array => encoder.encode(content);

export const text = (content: string): Part => bytes(bytesOfText(content));

export const sequence = (...parts: readonly Part[]): Part => (grammar, from) => parts.reduce((at, part) => part(grammar, at), from);

export const choice = (...parts: readonly Part[]): Part => (grammar, from) => {
  const end = grammar.state();
  for (const part of parts) grammar.empty(part(grammar, from), end);
  return end;
};

export const optional = (part: Part): Part => choice(part, nothing);

export const rule = (of: number): Part => (grammar, from) => {
  const to = grammar.state();
  grammar.edges[from]?.rules.push({rule: of, to});
  return to;
};

const forever = (part: Part): Part => (grammar, from) => {
  const loop = grammar.state();
  grammar.empty(from, loop);
  grammar.empty(part(grammar, loop), loop);
  const end = grammar.state();
  grammar.empty(loop, end);
  return end;
};

export const repeat = (part: Part, least: number, most = Infinity): Part => (grammar, from) => {
  const loop = grammar.loop();
  const isBounded = most < Infinity;
  const times = isBounded ? most : least;
  const end = grammar.state();
  let at = from;
  for (let done = 1; done <= times; ++done) {
    const first = grammar.edges.length;
    // A state of its own, so that all states of a repetition are alike.
    const begin = grammar.state();
    grammar.empty(at, begin);
    if (isBounded && done > least) grammar.empty(begin, end);
    at = part(grammar, begin);
    for (let state = first; state < grammar.edges.length; ++state) grammar.counted[state] = {loop, offset: state - first, done, least, most};
  }
  grammar.empty(isBounded ? at : forever(part)(grammar, at), end);
  return end;
};
