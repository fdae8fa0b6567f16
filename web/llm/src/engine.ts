/** Generations of a loaded model, one after the other. */
import {GenerationCache} from '../../runtime/src/generate/cache.ts';
import type {GenerateOptions, Model, TokenConstraint} from '../../runtime/src/index.ts';
import type {Structures, Wanted} from './grammar/structure.ts';
import {APIError, badRequest} from './errors.ts';
import type {Logprobs} from './logprobs.ts';
import {StopStrings} from './stop.ts';
import type {Tokenizer} from './tokenizer.ts';

/** What a text model's files say of its texts. */
export interface Texts {
  readonly tokenizer: Tokenizer;
  /** Tokens that end a text. */
  readonly stopTokens: readonly number[];
  /** Prompt and answer together, in tokens. */
  readonly contextLength: number;
  /** How many tokens the network knows. */
  readonly words: number;
  /** What the model's makers suggest (generation_config.json), by the names of the API. */
  readonly defaults: Readonly<Record<string, number>>;
}

export interface Ended {
  readonly reason: 'stop' | 'length';
  readonly tokens: number;
  /** Tokens of the prompt whose state was there. */
  readonly cached: number;
}

/** Ways of choosing tokens: by the API's name, run time's name, and what does nothing. */
const CHOICES: readonly (readonly [name: string, option: keyof GenerateOptions, none: number])[] = [
  ['temperature', 'temperature', 1],
  ['top_p', 'topP', 1],
  ['min_p', 'minP', 0],
  ['presence_penalty', 'presencePenalty', 0],
  ['frequency_penalty', 'frequencyPenalty', 0],
  ['repetition_penalty', 'repetitionPenalty', 1],
];

/** Milliseconds of work after which messages and timers get their turn: a frame. */
const TURN_MS = 16;

/** Resolves in a later turn of the event loop. Timers would wait for 4 ms. */
const turn = (): Promise<void> => new Promise((resolve) => {
  const {port1, port2} = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    resolve();
  };
  port2.postMessage(0);
});

export class Engine {
  readonly texts: Texts;
  readonly #model: Model;
  /** Of the latest text: the next prompt of a conversation begins with it. */
  readonly #cache = new GenerationCache();
  #structures: Structures | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(model: Model, texts: Texts) {
    this.#model = model;
    this.texts = texts;
  }

  /** Tokens of a prompt that leaves room for an answer. Throws a 400 for one that does not. */
  fit(ids: readonly number[], param: 'messages' | 'prompt'): readonly number[] {
    const {contextLength, words} = this.texts;
    const unknown = ids.find((id) => id < 0 || id >= words);
    if (unknown !== undefined) throw badRequest(`Invalid token ${unknown} in '${param}': this model has the tokens 0 to ${words - 1}.`, param, 'invalid_value');
    if (ids.length === 0) throw badRequest(`The '${param}' has no tokens, and this model has no token that texts begin with.`, param, 'empty_prompt');
    if (ids.length < contextLength) return ids;
    throw badRequest(`This model's maximum context length is ${contextLength} tokens. However, your ${param} resulted in ${ids.length} tokens. Please reduce the length of the ${param}.`, param, 'context_length_exceeded');
  }

  /** What restricts the tokens of each answer of a form. Rejects with a 400 for a form that is wrong or that no answer meets. */
  async constraints(wanted: Wanted, param: string): Promise<() => TokenConstraint> {
    const {Structures: Loaded} = await import('./grammar/structure.ts');
    const {tokenizer, words, stopTokens} = this.texts;
    if (words === Infinity) throw badRequest(`'${param}' is not supported with this model: its file does not say how many tokens it has.`, param, 'unsupported_parameter');
    const structures = (this.#structures ??= new Loaded(tokenizer, words, stopTokens));
    structures.constraint(wanted, param);
    return () => structures.constraint(wanted, param);
  }

  /** The run time's options of a request; `index` of its choices draw otherwise. `logprobs`: told of each token. */
  optionsOf(request: Readonly<Record<string, unknown>>, prompt: readonly number[], index: number, logprobs: Logprobs | undefined): GenerateOptions {
    const {stopTokens, contextLength, defaults, words} = this.texts;
    const logitBias = request['logit_bias'] as Readonly<Record<string, number>> | undefined;
    const unknown = Object.keys(logitBias ?? {}).find((id) => Number(id) >= words);
    if (unknown !== undefined) throw badRequest(`Invalid token ${unknown} in 'logit_bias': this model has the tokens 0 to ${words - 1}.`, 'logit_bias', 'invalid_value');
    const of = (name: string, none: number): number => (request[name] as number | undefined) ?? defaults[name] ?? none;
    const most = (request['max_completion_tokens'] ?? request['max_tokens'] ?? Infinity) as number;
    const topK = of('top_k', 0);
    const seed = request['seed'] as number | undefined;
    return {
      maxTokens: Math.min(most, contextLength - prompt.length),
      stopTokens,
      ...Object.fromEntries(CHOICES.map(([name, option, none]) => [option, of(name, none)])),
      ...(topK > 0 && {topK}),
      ...(logitBias && {logitBias}),
      ...(seed !== undefined && {seed: seed + index}),
      ...(logprobs && {onLogprobs: logprobs.add, topLogprobs: Number(request['top_logprobs'] ?? request['logprobs'] ?? 0)}),
    };
  }

  /** Gives back the memory of the latest text. */
  dispose(): void {
    this.#cache.dispose();
  }

  /** Calls `said` with each piece of text, when no other generation is under way. Rejects with a 500 for a model that fails. */
  generate(prompt: readonly number[], options: GenerateOptions, stops: readonly string[], said: (text: string) => void): Promise<Ended> {
    const {signal} = options;
    const mine = this.#last.then(() => this.#generate(prompt, options, stops, said));
    this.#last = mine.catch(() => undefined);
    // An aborted call does not wait for its turn.
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), {once: true});
      mine.then(resolve, reject);
    });
  }

  async #generate(prompt: readonly number[], options: GenerateOptions, stops: readonly string[], said: (text: string) => void): Promise<Ended> {
    options.signal?.throwIfAborted();
    const pieces = this.texts.tokenizer.stream();
    const filter = new StopStrings(stops);
    let tokens = 0;
    const say = (text: string): void => {
      if (text !== '') said(text);
    };
    const steps = this.#model.generate(prompt, {...options, cache: this.#cache});
    let rested = performance.now();
    try {
      for (;;) {
        // Runs on wasm may be mere calls of functions, and an abort arrives as a message or by a timer.
        if (performance.now() - rested > TURN_MS) {
          await turn();
          rested = performance.now();
        }
        const step = await steps.next();
        const {text, stopped} = filter.push(step.done ? pieces.end() : pieces.push(step.value));
        if (!step.done) ++tokens;
        say(text);
        if (stopped) {
          await steps.return('stop');
          return {reason: 'stop', tokens, cached: this.#cache.reused};
        }
        if (step.done) {
          say(filter.end());
          return {reason: step.value, tokens, cached: this.#cache.reused};
        }
      }
    } catch (problem) {
      if (options.signal?.aborted) throw problem;
      throw new APIError(500, `The model failed: ${(problem as Error).message}`, {type: 'server_error', cause: problem});
    }
  }
}
