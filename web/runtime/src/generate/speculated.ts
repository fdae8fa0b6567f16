/**
 * Text whose next tokens are guessed by what followed the same tokens before; one run checks several guesses (prompt lookup decoding,
 * https://github.com/apoorvumang/prompt-lookup-decoding). The text is that of greedy choice.
 */
import {GossamerError} from '../values/types.ts';
import type {GenerateOptions} from './options.ts';
import type {Steps} from './steps.ts';

/** How many tokens have to be the same, the most first. */
const LENGTHS = [3, 2];

/** What followed the same tokens before. */
class Lookup {
  readonly #tokens: number[] = [];
  /** By tokens, the place after them where they were last. */
  readonly #places = new Map<string, number>();

  constructor(tokens: Iterable<number>) {
    for (const id of tokens) this.push(id);
  }

  push(id: number): void {
    for (const length of LENGTHS) if (this.#tokens.length >= length) this.#places.set(this.#tokens.slice(-length).join(), this.#tokens.length);
    this.#tokens.push(id);
  }

  /** At most so many tokens that may follow. */
  next(count: number): number[] {
    const tokens = this.#tokens;
    const place = LENGTHS.map((length) => (tokens.length > length ? this.#places.get(tokens.slice(-length).join()) : undefined)).find((each) => each !== undefined);
    if (place === undefined) return [];
    const drafts: number[] = [];
    // Beyond the end, what repeats goes on.
    for (let at = place; drafts.length < count; ++at) drafts.push((tokens[at] ?? drafts[at - tokens.length]) as number);
    return drafts;
  }
}

export interface Speculated {
  readonly prompt: readonly number[];
  readonly steps: Steps;
  /** The token after the prompt. */
  readonly first: number;
  readonly stops: ReadonlySet<number>;
  readonly aborted: Promise<never> | undefined;
  /** Called with each token, before it is given. */
  readonly onTaken: (id: number) => void;
}

export async function* speculated({prompt, steps, first, stops, aborted, onTaken}: Speculated, options: GenerateOptions): AsyncGenerator<number, 'stop' | 'length', void> {
  const {maxTokens = Infinity, promptLookupNumTokens: most = 0, signal} = options;
  const lookup = new Lookup(prompt);
  const soon = <T>(value: Promise<T>): Promise<T> => (aborted ? Promise.race([value, aborted]) : value);
  let chosen: ArrayLike<number> = [first];
  let count = most;
  for (let taken = 0; ;) {
    for (const id of Array.from(chosen)) {
      if (stops.has(id)) return 'stop';
      onTaken(id);
      lookup.push(id);
      yield id;
      signal?.throwIfAborted();
      if (++taken >= maxTokens) return 'length';
    }
    const before = chosen[chosen.length - 1] as number;
    const drafts = lookup.next(Math.min(count, maxTokens - taken - 1));
    try {
      chosen = await soon(steps.check(before, drafts));
    } catch (problem) {
      // The context may have room for the token alone.
      if (drafts.length === 0 || !(problem instanceof GossamerError && problem.code === 'input')) throw problem;
      chosen = await soon(steps.check(before, []));
    }
    // Guesses that fail become shorter.
    const right = chosen.length - 1;
    count = right === drafts.length ? Math.min(most, Math.max(1, 2 * count)) : right + 1;
  }
}
