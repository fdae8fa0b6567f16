/** Text whose tokens are restricted: which may follow depends on the token before, which is read each time. */
import {GossamerError} from '../values/types.ts';
import {logprobsOf} from './logprobs.ts';
import type {GenerateOptions, TokenConstraint} from './options.ts';
import type {Reader} from './reader.ts';
import type {Steps} from './steps.ts';

/** The only token of a mask, -1 if there are several. Throws for a mask without tokens. */
function onlyOne(mask: Int32Array): number {
  const word = mask.findIndex((bits) => bits !== 0);
  if (word < 0) throw new GossamerError('input', 'generate(): the constraint allows no token; allowed() gives undefined where a text ends');
  const bits = mask[word] as number;
  const isOne = (bits & (bits - 1)) === 0 && mask.subarray(word + 1).every((rest) => rest === 0);
  return isOne ? 32 * word + 31 - Math.clz32(bits) : -1;
}

export interface Constrained {
  readonly constraint: TokenConstraint;
  readonly steps: Steps;
  readonly reader: Reader;
  readonly words: number;
  readonly stops: ReadonlySet<number>;
  readonly aborted: Promise<never> | undefined;
  /** Called with each token, before it is given. */
  readonly onTaken: (id: number) => void;
}

export async function* constrained({constraint, steps, reader, words, stops, aborted, onTaken}: Constrained, options: GenerateOptions): AsyncGenerator<number, 'stop' | 'length', void> {
  const {maxTokens = Infinity, signal, onLogprobs} = options;
  const width = Math.ceil(words / 32);
  /** The token that the latest run chose. */
  let chosen: number | undefined;
  for (let taken = 0; taken < maxTokens; ++taken) {
    const mask = constraint.allowed();
    if (!mask) return 'stop';
    if (mask.length !== width) throw new GossamerError('input', `generate(): the mask of the constraint has ${mask.length} elements; ${width} are expected, a bit for each of the ${words} tokens`);
    let id = onlyOne(mask);
    if (id >= 0 && !onLogprobs) {
      if (!stops.has(id)) steps.take(id, chosen);
    } else {
      reader.add(await steps.send(mask));
      const read = await (aborted ? Promise.race([reader.take(), aborted]) : reader.take());
      id = chosen = read[0] as number;
    }
    if (stops.has(id)) return 'stop';
    constraint.accept(id);
    onTaken(id);
    const logits = onLogprobs && (await steps.logits());
    if (logits) onLogprobs(logprobsOf(logits, id, Math.floor(options.topLogprobs ?? 0)));
    yield id;
    signal?.throwIfAborted();
  }
  return 'length';
}
