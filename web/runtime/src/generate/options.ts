import type {Feed} from '../session/feeds.ts';
import type {Tensor} from '../values/tensor.ts';
import {GossamerError} from '../values/types.ts';
import type {GenerationCache} from './cache.ts';
import type {TokenLogprobs} from './logprobs.ts';

/** Decides which tokens may follow, such as those of a grammar. */
export interface TokenConstraint {
  /**
   * The tokens that may be next: bit id % 32 of element id / 32, for each token of the vocabulary. A single one is taken without a draw.
   * Undefined: the text ends here. It is asked once for each token.
   */
  allowed(): Int32Array | undefined;
  /** The token that was taken. Not called for one of stopTokens. */
  accept(id: number): void;
}

/** How generate() chooses tokens, and when it ends. Filters apply in the order of their fields. */
export interface GenerateOptions {
  /** How many tokens at most (default: until a stop token, or the end of the model's context). */
  readonly maxTokens?: number | undefined;
  /** Tokens that end it; they are not given. */
  readonly stopTokens?: readonly number[] | undefined;
  /** 0, the default: always the likeliest token. Else logits are divided by it. */
  readonly temperature?: number | undefined;
  /** Only the k likeliest tokens. */
  readonly topK?: number | undefined;
  /** Only the likeliest tokens, until their probabilities add up to this. */
  readonly topP?: number | undefined;
  /** Only tokens of at least this share of the likeliest one's probability. */
  readonly minP?: number | undefined;
  /** Divides positive logits, and multiplies negative ones, of tokens of the prompt and of generated ones (default 1). */
  readonly repetitionPenalty?: number | undefined;
  /** Subtracted from logits of generated tokens (default 0). */
  readonly presencePenalty?: number | undefined;
  /** The same for each time that the token was generated (default 0). */
  readonly frequencyPenalty?: number | undefined;
  /** By token: what is added to its logit, after penalties. -100 excludes a token of most models, 100 leaves no other. */
  readonly logitBias?: Readonly<Record<number, number>> | undefined;
  /** One seed gives one text on a device; default: another one in each call. */
  readonly seed?: number | undefined;
  /** Steps that are sent before the first of them is read, at most; 0: each token is read first. Default: by how long a step takes. */
  readonly ahead?: number | undefined;
  /** A longer prompt is fed in runs of this many tokens, which bounds the memory that it takes. Default: 1024. */
  readonly promptChunk?: number | undefined;
  /** Told how likely each token was, before it is given. The logits of each step are read, which takes time: no step is sent ahead. */
  readonly onLogprobs?: ((of: TokenLogprobs) => void) | undefined;
  /** How many of the likeliest tokens onLogprobs is told (default 0). */
  readonly topLogprobs?: number | undefined;
  /** Which tokens may follow. Each token is read before the next run is sent. */
  readonly constraint?: TokenConstraint | undefined;
  /** Ends it: the iterator throws the signal's reason, and tokens that were given stay valid. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Goes on from the state of an earlier text: what the prompt shares with the cache's tokens is not computed again. The cache then has the state
   * of this prompt and its text. `feeds` are to be the same as before.
   */
  readonly cache?: GenerationCache | undefined;
  /**
   * Guesses up to so many tokens by what followed the same tokens before in the prompt and the text, and checks them in one run: faster where
   * text repeats. The text stays that of greedy choice. For packages that were compiled with `speculate`. No effect on draws, penalties,
   * constraints and log-probabilities, and on models whose state cannot be set back.
   */
  readonly promptLookupNumTokens?: number | undefined;
  /** Inputs that generate() does not know, the same in each run. */
  readonly feeds?: Readonly<Record<string, Feed>> | undefined;
}

/** By option: the least and the greatest that it may be. */
const RANGES: readonly (readonly [keyof GenerateOptions, number, number])[] = [
  ['maxTokens', 0, Infinity],
  ['temperature', 0, 1e6],
  ['topK', 1, Infinity],
  ['topP', 0, 1],
  ['minP', 0, 1],
  ['repetitionPenalty', 1e-6, 1e6],
  ['presencePenalty', -1e6, 1e6],
  ['frequencyPenalty', -1e6, 1e6],
  ['ahead', 0, 1024],
  ['promptChunk', 1, Infinity],
  ['topLogprobs', 0, Infinity],
  ['promptLookupNumTokens', 0, 1024],
];

const MOST_BIAS = 1e6;

/** `words`: the size of the vocabulary. Throws 'input'. */
export function check(options: GenerateOptions, words: number): void {
  for (const [name, least, most] of RANGES) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === 'number' && value >= least && value <= most)) continue;
    throw new GossamerError('input', `generate(): ${name} is ${value as number}, not a number of ${least} to ${most}`);
  }
  for (const [id, bias] of Object.entries(options.logitBias ?? {})) {
    if (Number.isInteger(+id) && +id >= 0 && +id < words && Math.abs(bias) <= MOST_BIAS) continue;
    throw new GossamerError('input', `generate(): logitBias of token ${id} is ${bias}; numbers of ${-MOST_BIAS} to ${MOST_BIAS} for the tokens 0 to ${words - 1} are expected`);
  }
}

/** No filter: more than any sum of weights. */
const NONE = 3e38;

/** How often tokens of the prompt are counted before the first run, which counts those that it is `fed`; undefined: no penalty asks for it. */
export function countsOf({repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0}: GenerateOptions, prompt: readonly number[], fed: readonly number[], words: number): Int32Array | undefined {
  if (repetitionPenalty === 1 && presencePenalty === 0 && frequencyPenalty === 0) return undefined;
  const counts = new Int32Array(words);
  // Runs count what they are fed as if it was generated (SampleToken).
  for (const id of fed) (counts[id] as number) -= 2;
  for (const id of new Set(prompt)) (counts[id] as number) += 1;
  return counts;
}

/** What the stages that sample take (docs/specs/package.md). */
export function samplingOf(options: GenerateOptions, words: number, hasMask: boolean): Record<string, Tensor> {
  const {temperature = 0, topK = Infinity, topP = 1, minP = 0, seed = Math.random() * 2 ** 53} = options;
  const {repetitionPenalty = 1, presencePenalty = 0, frequencyPenalty = 0} = options;
  const biases = Object.entries(options.logitBias ?? {});
  const penalties = new Float32Array(3 + (biases.length > 0 ? words : 0));
  penalties.set([repetitionPenalty, presencePenalty, frequencyPenalty]);
  for (const [id, bias] of biases) penalties[3 + Number(id)] = bias;
  const sampled = temperature > 0;
  const filtered = sampled && (topK < words || topP < 1 || minP > 0);
  const limits = [topK < words ? Math.floor(topK) : NONE, topP < 1 ? topP : NONE, minP > 0 ? Math.log(minP) : -NONE];
  const f32 = (data: Iterable<number>, shape: readonly number[]) => ({dtype: 'f32' as const, shape, data: Float32Array.from(data)});
  return {
    'sampling.temperature': f32(sampled ? [temperature] : [], [sampled ? 1 : 0]),
    'sampling.filters': f32(filtered ? limits : [], [filtered ? 1 : 0, 3]),
    'sampling.penalties': f32(penalties, [penalties.length]),
    ...(hasMask && {'sampling.mask': {dtype: 'i32' as const, shape: [0, 0], data: new Int32Array()}}),
    'sampling.seed': {dtype: 'i32' as const, shape: [2], data: Int32Array.of(seed | 0, Math.floor(seed / 2 ** 32) | 0)},
  };
}
