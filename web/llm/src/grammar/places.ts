/** Places in the rules of a grammar: sets of states of a rule, which are found as they are needed. */
import {type Grammar, GrammarError} from './automaton.ts';
import type {Vocabulary} from './vocabulary.ts';

export interface Place {
  /** Whether the rule may end here. */
  readonly isEnd: boolean;
  /** Whether bytes or rules follow. */
  readonly goesOn: boolean;
  /** Whether tokens lead from here to the end of the rule. */
  readonly isLive: boolean;
  /** Places where a rule begins, with those after it. */
  readonly rules: readonly {readonly begin: number; readonly after: number}[];
  readonly states: readonly number[];
  /** By class of bytes: the next place, -1 for none, -2 for one that is not known yet. */
  readonly next: Int32Array;
  /** Places with the same name allow the same tokens, as far as their own rule goes. */
  readonly name: string;
}

export class Places {
  readonly #grammar: Grammar;
  readonly #vocabulary: Vocabulary;
  readonly #live: Uint8Array;
  readonly #places: Place[] = [];
  readonly #numbers = new Map<string, number>();
  /** By byte: its class. Bytes of one class are on the same edges. */
  readonly classOf = new Uint8Array(256);
  readonly classes: number;
  readonly #byteOfClass: number[] = [];
  readonly #ruleOf: Int32Array;
  readonly #starts: number[];

  /** Throws a GrammarError for a rule that begins with itself, and where no tokens lead to an end. */
  constructor(grammar: Grammar, root: number, vocabulary: Vocabulary) {
    this.#grammar = grammar;
    this.#vocabulary = vocabulary;
    this.classes = this.#classes();
    this.#ruleOf = new Int32Array(grammar.edges.length).fill(-1);
    grammar.rules.forEach(({end}, at) => (this.#ruleOf[end] = at));
    this.#checkLeft();
    this.#live = this.#reached((byte) => vocabulary.single[byte] === 1);
    const isRootLive = (): boolean => this.#live[grammar.rules[root]?.start as number] === 1;
    // Some vocabularies have characters, but not their bytes.
    if (!vocabulary.single.every((has, byte) => has === 1 || vocabulary.used[byte] === 0)) while (this.#extend());
    if (!isRootLive()) {
      const isMeetable = this.#reached(() => true)[grammar.rules[root]?.start as number] === 1;
      throw new GrammarError(isMeetable ? "no text of this model's tokens meets it: the vocabulary lacks characters that it needs" : 'no text meets it: its conditions contradict each other');
    }
    this.#starts = grammar.rules.map(({start}) => (this.#live[start] === 1 ? this.#number([start]) : -1));
  }

  get(at: number): Place {
    return this.#places[at] as Place;
  }

  start(rule: number): number {
    return this.#starts[rule] as number;
  }

  #classes(): number {
    const cuts = new Uint8Array(257);
    for (const {bytes} of this.#grammar.edges) for (const {low, high} of bytes) cuts[low] = cuts[high + 1] = 1;
    let at = 0;
    this.#byteOfClass.push(0);
    for (let byte = 1; byte < 256; ++byte) {
      if (cuts[byte]) at = this.#byteOfClass.push(byte) - 1;
      this.classOf[byte] = at;
    }
    return at + 1;
  }

  /** Rules that begin with themselves never take a byte. */
  #checkLeft(): void {
    const {edges, rules} = this.#grammar;
    const first = rules.map(() => new Set<number>());
    const isEmpty = rules.map(() => false);
    for (let isNew = true; isNew;) {
      isNew = false;
      rules.forEach(({start, end}, at) => {
        const seen = new Set([start]);
        for (const state of seen) {
          const {empty, rules: inner} = edges[state] as (typeof edges)[number];
          for (const to of empty) seen.add(to);
          for (const {rule, to} of inner) {
            if (isEmpty[rule]) seen.add(to);
            const all = first[at] as Set<number>;
            for (const each of [rule, ...(first[rule] as Set<number>)]) {
              isNew ||= !all.has(each);
              all.add(each);
            }
          }
        }
        if (seen.has(end) && !isEmpty[at]) isNew = isEmpty[at] = true;
      });
    }
    const wrong = first.findIndex((all, at) => all.has(at));
    if (wrong >= 0) throw new GrammarError(`the rule "${rules[wrong]?.name}" begins with itself: write repetitions with *, or put the rule last`);
  }

  /** States from which bytes lead to the end of their rule. */
  #reached(isUsed: (byte: number) => boolean): Uint8Array {
    const {edges, rules} = this.#grammar;
    const usable = Array.from({length: 256}, (_, byte) => isUsed(byte));
    const before: number[][] = edges.map(() => []);
    const callers: {from: number; to: number}[][] = rules.map(() => []);
    edges.forEach(({empty, bytes, rules: inner}, from) => {
      for (const to of empty) before[to]?.push(from);
      for (const {low, high, to} of bytes) if (usable.slice(low, high + 1).includes(true)) before[to]?.push(from);
      for (const {rule, to} of inner) callers[rule]?.push({from, to});
    });
    const live = new Uint8Array(edges.length);
    this.#mark(live, rules.map(({end}) => end), before, callers);
    return live;
  }

  /** Marks states, those before them, and callers of rules that have become live. */
  #mark(live: Uint8Array, first: readonly number[], before: readonly (readonly number[])[], callers: readonly (readonly {from: number; to: number}[])[]): void {
    const {rules, edges} = this.#grammar;
    const ruleOfStart = new Map(rules.map(({start}, at) => [start, at]));
    // An edge of a rule counts as soon as the rule and the state after the edge are live.
    const into: {from: number; rule: number}[][] = edges.map(() => []);
    callers.forEach((all, rule) => all.forEach(({from, to}) => into[to]?.push({from, rule})));
    const waiting = [...first];
    while (waiting.length > 0) {
      const state = waiting.pop() as number;
      if (live[state]) continue;
      live[state] = 1;
      waiting.push(...(before[state] as readonly number[]));
      for (const {from, rule} of into[state] as {from: number; rule: number}[]) if (live[rules[rule]?.start as number]) waiting.push(from);
      const rule = ruleOfStart.get(state);
      if (rule !== undefined) for (const {from, to} of callers[rule] as readonly {from: number; to: number}[]) if (live[to]) waiting.push(from);
    }
  }

  /** Marks states from which one token, of several bytes, leads to a live state. */
  #extend(): boolean {
    const {edges, rules} = this.#grammar;
    const {byte, end, token} = this.#vocabulary;
    const live = this.#live;
    const step = (states: readonly number[], value: number): number[] =>
      this.#closed(states.flatMap((state) => edges[state]?.bytes.filter(({low, high}) => value >= low && value <= high).map(({to}) => to) ?? []));
    const leads = (node: number, states: readonly number[]): boolean => {
      for (let child = node + 1; child < (end[node] as number); child = end[child] as number) {
        const next = step(states, byte[child] as number);
        if (next.length === 0) continue;
        if ((token[child] as number) >= 0 && next.some((state) => live[state])) return true;
        if (leads(child, next)) return true;
      }
      return false;
    };
    const found = edges.flatMap(({bytes}, state) => (bytes.length > 0 && !live[state] && leads(0, [state]) ? [state] : []));
    // What these make live: states before them, as bytes that are tokens lead to them.
    for (const state of found) live[state] = 1;
    for (let isNew = found.length > 0; isNew;) {
      isNew = false;
      edges.forEach(({empty, bytes, rules: inner}, state) => {
        if (live[state]) return;
        const isLive = empty.some((to) => live[to])
          || bytes.some(({low, high, to}) => live[to] && this.#vocabulary.single.subarray(low, high + 1).includes(1))
          || inner.some(({rule, to}) => live[to] && live[rules[rule]?.start as number]);
        if (isLive) isNew = (live[state] = 1) === 1;
      });
    }
    return found.length > 0;
  }

  #closed(states: readonly number[]): number[] {
    const found = new Set(states);
    for (const state of found) for (const to of this.#grammar.edges[state]?.empty ?? []) found.add(to);
    return [...found].sort((a, b) => a - b);
  }

  /** The place of some states and of what is reached from them without a byte. */
  #number(from: readonly number[]): number {
    const {edges, counted} = this.#grammar;
    // States that only pass on say nothing of their own.
    const states = this.#closed(from).filter((state) => this.#says(state));
    const key = states.join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const far = this.#vocabulary.longest + 1;
    const nameOf = (state: number): string => {
      const place = counted[state];
      if (!place) return String(state);
      const {loop, offset, done, least, most} = place;
      return [loop, offset, Math.min(far, most - done), Math.min(far, Math.max(0, least - done))].join(':');
    };
    const at = this.#places.length;
    this.#numbers.set(key, at);
    const byRule = new Map<number, number[]>();
    for (const state of states) for (const {rule, to} of edges[state]?.rules ?? []) byRule.set(rule, [...(byRule.get(rule) ?? []), to]);
    const rules: {begin: number; after: number}[] = [];
    const made = {
      isEnd: states.some((state) => (this.#ruleOf[state] as number) >= 0),
      goesOn: states.some((state) => edges[state]?.bytes.length || edges[state]?.rules.length),
      isLive: states.some((state) => this.#live[state]),
      rules,
      states,
      next: new Int32Array(this.classes).fill(-2),
      name: [...new Set(states.map(nameOf))].sort().join(),
    };
    this.#places.push(made);
    for (const [rule, to] of byRule) {
      const after = this.#number(to);
      const begin = this.#begin(rule);
      // What has no end is left out.
      if (begin >= 0 && this.get(after).isLive) rules.push({begin, after});
    }
    return at;
  }

  #begin(rule: number): number {
    const start = this.#grammar.rules[rule]?.start as number;
    return this.#live[start] ? this.#number([start]) : -1;
  }

  #says(state: number): boolean {
    const {bytes, rules} = this.#grammar.edges[state] as {bytes: readonly unknown[]; rules: readonly unknown[]};
    return bytes.length > 0 || rules.length > 0 || (this.#ruleOf[state] as number) >= 0;
  }

  /** The place after a byte of a class, or -1. */
  after(at: number, byteClass: number): number {
    const place = this.get(at);
    const known = place.next[byteClass] as number;
    if (known !== -2) return known;
    const byte = this.#byteOfClass[byteClass] as number;
    const to: number[] = [];
    for (const state of place.states) for (const edge of this.#grammar.edges[state]?.bytes ?? []) if (byte >= edge.low && byte <= edge.high) to.push(edge.to);
    const next = to.length === 0 ? -1 : this.#number(to);
    place.next[byteClass] = next;
    return next;
  }
}
