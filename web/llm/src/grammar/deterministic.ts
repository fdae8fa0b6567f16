/** Deterministic automata of parts without rules, and what both of two of them accept. */
import {Grammar, GrammarError, type Part} from './automaton.ts';

interface Edge {
  readonly low: number;
  readonly high: number;
  readonly to: number;
}

/** State 0 is the first. */
interface Deterministic {
  readonly accepts: boolean[];
  readonly edges: Edge[][];
}

const MOST_STATES = 20_000;

/** Divides the bytes where edges begin or end. `of`: the next state's key for a byte, undefined for none. */
function* segments<T>(lists: readonly (readonly Edge[])[], of: (byte: number) => T | undefined): Generator<{low: number; high: number; next: T}> {
  const cuts = new Set<number>([0]);
  for (const {low, high} of lists.flat()) cuts.add(low).add(high + 1);
  const sorted = [...cuts].filter((cut) => cut < 256).sort((a, b) => a - b);
  for (const [at, low] of sorted.entries()) {
    const next = of(low);
    if (next !== undefined) yield {low, high: (sorted[at + 1] ?? 256) - 1, next};
  }
}

/** Explores states from the first one on. */
function explored<T>(first: T, keyOf: (state: T) => string, accepts: (state: T) => boolean, nextOf: (state: T) => Iterable<{low: number; high: number; next: T}>): Deterministic {
  const numbers = new Map<string, number>([[keyOf(first), 0]]);
  const states = [first];
  const made: Deterministic = {accepts: [], edges: []};
  for (let at = 0; at < states.length; ++at) {
    const state = states[at] as T;
    made.accepts.push(accepts(state));
    made.edges.push(Array.from(nextOf(state), ({low, high, next}) => {
      const key = keyOf(next);
      let to = numbers.get(key);
      if (to === undefined) {
        if (states.length >= MOST_STATES) throw new GrammarError('a pattern with its length is too large: make it shorter, or leave out one of the two');
        to = states.push(next) - 1;
        numbers.set(key, to);
      }
      return {low, high, to};
    }));
  }
  return made;
}

function deterministic(part: Part): Deterministic {
  const grammar = new Grammar();
  const start = grammar.state();
  const end = part(grammar, start);
  const closed = (states: Iterable<number>): number[] => {
    const found = new Set(states);
    for (const state of found) for (const to of grammar.edges[state]?.empty ?? []) found.add(to);
    return [...found].sort((a, b) => a - b);
  };
  const byteEdges = (states: readonly number[]): Edge[] => states.flatMap((state) => grammar.edges[state]?.bytes ?? []);
  return explored(closed([start]), String, (states) => states.includes(end), (states) => {
    const edges = byteEdges(states);
    return segments([edges], (byte) => {
      const to = edges.filter(({low, high}) => byte >= low && byte <= high).map((edge) => edge.to);
      return to.length > 0 ? closed(to) : undefined;
    });
  });
}

/** `wants`: whether a text is accepted that the first and the second accept, or do not. */
function product(first: Part, second: Part, wants: (second: boolean) => boolean): Part {
  const [a, b] = [deterministic(first), deterministic(second)];
  const step = (of: Deterministic, state: number, byte: number): number => of.edges[state]?.find(({low, high}) => byte >= low && byte <= high)?.to ?? -1;
  type Pair = readonly [number, number];
  const made = explored<Pair>([0, 0], String, ([x, y]) => a.accepts[x] === true && wants(b.accepts[y] === true), ([x, y]) =>
    segments([a.edges[x] ?? [], b.edges[y] ?? []], (byte) => {
      const next = [step(a, x, byte), step(b, y, byte)] as const;
      return next[0] < 0 || (next[1] < 0 && !wants(false)) ? undefined : next;
    }));
  return written(made);
}

const written = ({accepts, edges}: Deterministic): Part => (grammar, from) => {
  const states = accepts.map(() => grammar.state());
  const end = grammar.state();
  grammar.empty(from, states[0] as number);
  accepts.forEach((isEnd, at) => {
    if (isEnd) grammar.empty(states[at] as number, end);
    for (const {low, high, to} of edges[at] ?? []) grammar.bytes(states[at] as number, low, high, states[to] as number);
  });
  return end;
};

/** The same texts with the fewest states. For small parts that are repeated often. */
export function compact(part: Part): Part {
  const {accepts, edges} = deterministic(part);
  // States are told apart by what follows them, until no more are.
  let group = accepts.map(Number);
  let found = new Map<string, number>();
  const joined = (all: readonly Edge[]): Edge[] => {
    const made: Edge[] = [];
    for (const {low, high, to} of all) {
      const last = made.at(-1);
      if (last?.high === low - 1 && last.to === group[to]) made[made.length - 1] = {...last, high};
      else made.push({low, high, to: group[to] as number});
    }
    return made;
  };
  for (let isNew = true; isNew;) {
    const count = found.size;
    found = new Map();
    const keys = edges.map((all, at) => JSON.stringify([group[at], joined(all)]));
    group = keys.map((key) => {
      if (!found.has(key)) found.set(key, found.size);
      return found.get(key) as number;
    });
    isNew = found.size > count;
  }
  const first = [...found.values()].map((each) => group.indexOf(each));
  return written({accepts: first.map((at) => accepts[at] === true), edges: first.map((at) => joined(edges[at] ?? []))});
}

/** What both accept. */
export const both = (first: Part, second: Part): Part => product(first, second, (accepts) => accepts);
/** What the first accepts and the second does not. */
export const without = (first: Part, second: Part): Part => product(first, second, (accepts) => !accepts);
