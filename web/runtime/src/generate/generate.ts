/** Text from a language model. A file of its own, as few models have it. */
import type {Model} from '../session/model.ts';
import {GossamerError} from '../values/types.ts';
import {batched} from './batched.ts';
import {constrained} from './constrained.ts';
import {logprobsOf} from './logprobs.ts';
import {check, type GenerateOptions} from './options.ts';
import {gpuReader, plainReader, type Reader} from './reader.ts';
import {speculated} from './speculated.ts';
import {COUNTS, MASK, PENALTIES, ROWS, Steps} from './steps.ts';

export {GenerationCache} from './cache.ts';
export type {TokenLogprob, TokenLogprobs} from './logprobs.ts';
export type {GenerateOptions, TokenConstraint} from './options.ts';

const wrong = (message: string): GossamerError => new GossamerError('input', `generate(): ${message}`);

/** Models that generate now. */
const busy = new WeakSet<Model>();

function promptOf(given: Iterable<number | bigint>, words: number): number[] {
  const prompt = Array.from(given, Number);
  if (prompt.length === 0) throw wrong('the prompt has no tokens; give at least the one that texts begin with');
  const bad = prompt.find((id) => !Number.isInteger(id) || id < 0 || id >= words);
  if (bad !== undefined) throw wrong(`the prompt has token ${bad}, the model's vocabulary is 0 to ${words - 1}: use the tokenizer of this model`);
  return prompt;
}

/** The size of the vocabulary. Throws for a model that cannot generate. */
function wordsOf({state, outputs}: Model): number {
  if (!outputs.some(({name}) => name === 'next_ids')) {
    throw new GossamerError('unsupported', 'the package does not choose tokens: compile the model with `generate` and `state`');
  }
  if (!state?.names.includes(COUNTS)) throw wrong('it continues the state of a model: load() it with {state: true}');
  return outputs.find(({name}) => name === 'logits')?.shape.at(-1) as number;
}

/** Whether tokens are to be guessed. Throws for a package that cannot check several. */
function guessesOf({inputs}: Model, options: GenerateOptions): boolean {
  const {promptLookupNumTokens = 0, temperature = 0, repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0, constraint, onLogprobs} = options;
  if (promptLookupNumTokens < 1) return false;
  if (!inputs.some(({name}) => name === ROWS)) {
    throw new GossamerError('unsupported', 'the package checks one token at a time: compile the model with `speculate`, or leave out `promptLookupNumTokens`');
  }
  return temperature === 0 && repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0 && !constraint && !onLogprobs;
}

/** Rejects when the signal is aborted. */
function abortOf(signal: AbortSignal | undefined): Promise<never> | undefined {
  const aborted = signal && new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), {once: true});
  });
  aborted?.catch(() => undefined);
  return aborted;
}

type Prompt = Iterable<number | bigint>;
type Step = number | (number | undefined)[];
type Ended = 'stop' | 'length';

/** Prompts of a batch; undefined: it is a single one. */
const promptsOf = (given: Prompt | readonly Prompt[]): readonly Prompt[] | undefined =>
  Array.isArray(given) && typeof given[0] === 'object' ? (given as readonly Prompt[]) : undefined;

/** As Model.generate(). */
export async function* generate(model: Model, given: Prompt | readonly Prompt[], options: GenerateOptions = {}): AsyncGenerator<Step, Ended | Ended[], void> {
  const words = wordsOf(model);
  check(options, words);
  const many = promptsOf(given);
  const prompts = (many ?? [given as Prompt]).map((each) => promptOf(each, words));
  const single = many && (['cache', 'constraint', 'onLogprobs'] as const).find((name) => options[name] !== undefined);
  if (single) throw wrong(`\`${single}\` is for one prompt at a time: leave it out, or call generate() for each prompt`);
  const prompt = prompts[0] as number[];
  const {maxTokens = Infinity, signal, constraint} = options;
  if (constraint && !model.inputs.some(({name}) => name === MASK)) {
    throw new GossamerError('unsupported', 'the package cannot restrict tokens: compile the model again with `generate`');
  }
  const isBiased = Object.keys(options.logitBias ?? {}).length > 0;
  if (isBiased && model.inputs.some(({name, shape}) => name === PENALTIES && typeof shape[0] === 'number')) {
    throw new GossamerError('unsupported', 'the package has no biases of tokens: compile the model again with `generate`');
  }
  if (options.cache && typeof options.cache.take !== 'function') throw wrong('`cache` is not a GenerationCache');
  const guesses = guessesOf(model, options);
  const stops = new Set(options.stopTokens);
  signal?.throwIfAborted();
  const aborted = abortOf(signal);
  if (busy.has(model)) throw wrong('another one is under way on this model: wait until it ends, abort it by its signal, or load the model twice');
  busy.add(model);
  let steps: Steps | undefined;
  let open: Reader | undefined;
  const text: number[] = [];
  try {
    steps = new Steps(model, prompts, words, options, await import('../tensors/tensors.ts'));
    if (many) return yield* batched({prompts, steps, stops, aborted}, options);
    const {gpuDevice} = steps.device;
    const reader = (open = gpuDevice ? gpuReader(gpuDevice) : plainReader());
    if (constraint) return yield* constrained({constraint, steps, reader, words, stops, aborted, onTaken: (id) => text.push(id)}, options);
    let failed: {readonly problem: unknown} | undefined;
    const send = async (): Promise<void> => {
      try {
        reader.add(await (steps as Steps).send());
      } catch (problem) {
        failed = {problem}; // after the tokens that are on their way
      }
    };
    if (maxTokens >= 1) await send();
    if (guesses && steps.sent > 0 && steps.canGoBack) {
      const [first = 0] = Array.from(await (aborted ? Promise.race([reader.take(), aborted]) : reader.take()));
      return yield* speculated({prompt, steps, first, stops, aborted, onTaken: (id) => text.push(id)}, options);
    }
    const {chains} = steps;
    let [arrived, next]: [ArrayLike<number>, number] = [[], 0];
    for (;;) {
      const ahead = chains ? (options.ahead ?? 2 * reader.size) : 0;
      const mayEnd = next === arrived.length && steps.sent === text.length;
      while (!failed && steps.sent < maxTokens && steps.sent - text.length < Math.max(ahead, mayEnd ? 1 : 0)) await send();
      if (next === arrived.length) {
        if (failed && steps.sent === text.length) throw failed.problem;
        if (steps.sent === text.length) return 'length';
        arrived = await (aborted ? Promise.race([reader.take(), aborted]) : reader.take());
        next = 0;
      }
      const id = arrived[next++] as number;
      if (stops.has(id)) return 'stop';
      text.push(id);
      const logits = await steps.logits();
      if (logits) options.onLogprobs?.(logprobsOf(logits, id, Math.floor(options.topLogprobs ?? 0)));
      yield id;
      signal?.throwIfAborted();
    }
  } finally {
    busy.delete(model);
    steps?.end(text);
    open?.dispose();
  }
}
