/**
 * Several texts at once: prompts of different lengths begin together. While some texts have begun, the rest of longer prompts is fed token by token,
 * so that all have the same length, and no token is padding.
 */
import type {GenerateOptions} from './options.ts';
import type {Steps} from './steps.ts';

export interface Batched {
  readonly prompts: readonly (readonly number[])[];
  readonly steps: Steps;
  readonly stops: ReadonlySet<number>;
  readonly aborted: Promise<never> | undefined;
}

type Ended = 'stop' | 'length';

export async function* batched({prompts, steps, stops, aborted}: Batched, {maxTokens = Infinity, signal}: GenerateOptions): AsyncGenerator<(number | undefined)[], Ended[], void> {
  const soon = <T>(value: Promise<T>): Promise<T> => (aborted ? Promise.race([value, aborted]) : value);
  const counts = prompts.map(() => 0);
  const ended: (Ended | undefined)[] = prompts.map(() => (maxTokens < 1 ? 'length' : undefined));
  let fed = Math.min(...prompts.map(({length}) => length));
  let next = prompts.map((prompt) => prompt.slice(0, fed));
  while (ended.includes(undefined)) {
    const chosen = await soon(steps.feed(next));
    const given = prompts.map(({length}, at): number | undefined => {
      const id = chosen[at] as number;
      if (fed < length || ended[at]) return undefined;
      if (stops.has(id)) ended[at] = 'stop';
      else if (++(counts[at] as number) >= maxTokens) ended[at] = 'length';
      return ended[at] === 'stop' ? undefined : id;
    });
    if (given.some((id) => id !== undefined)) {
      yield given;
      signal?.throwIfAborted();
    }
    next = prompts.map((prompt, at) => [prompt[fed] ?? (chosen[at] as number)]);
    ++fed;
  }
  return ended as Ended[];
}
