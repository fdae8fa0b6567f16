/** completions.create() of OpenAI's API. */
import type {Completion, CompletionLogprobs, CompletionRequest, RequestOptions, Usage} from './api_types.ts';
import {checkCompletion} from './arguments.ts';
import type {Engine} from './engine.ts';
import type {Completions} from './language_model.ts';
import {Logprobs} from './logprobs.ts';
import {controllerOf, Stream} from './stream.ts';
import {identifier} from './tool_calls.ts';

export const usageOf = (prompt: number, completion: number, cached: number): Usage => ({
  prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, prompt_tokens_details: {cached_tokens: cached},
});

export const stopsOf = ({stop}: Readonly<Record<string, unknown>>): readonly string[] => (typeof stop === 'string' ? [stop] : ((stop as string[] | undefined) ?? []));

/** Numbers of a prompt's tokens, or its text. */
type Prompt = string | readonly number[];

const promptsOf = (given: CompletionRequest['prompt']): readonly Prompt[] =>
  typeof given === 'string' || typeof given[0] === 'number' ? [given as Prompt] : (given as readonly Prompt[]);

export class TextAnswers implements Completions {
  readonly #engine: Engine;
  readonly #model: string;

  /** @internal */
  constructor(engine: Engine, model: string) {
    this.#engine = engine;
    this.#model = model;
  }

  create(request: CompletionRequest & {readonly stream: true}, options?: RequestOptions): Promise<Stream<Completion>>;
  create(request: CompletionRequest & {readonly stream?: false | null}, options?: RequestOptions): Promise<Completion>;
  create(request: CompletionRequest, options?: RequestOptions): Promise<Completion | Stream<Completion>>;
  async create(request: CompletionRequest, options: RequestOptions = {}): Promise<Completion | Stream<Completion>> {
    const given = checkCompletion(request);
    options.signal?.throwIfAborted();
    const {tokenizer} = this.#engine.texts;
    const prompts = promptsOf(request.prompt).map((prompt) => this.#engine.fit(typeof prompt === 'string' ? tokenizer.encode(prompt) : prompt, 'prompt'));
    const {response_format: format} = request;
    const constraints = format && format.type !== 'text' ? await this.#engine.constraints({format}, 'response_format') : undefined;
    const {n = 1, echo = false} = given as {n?: number; echo?: boolean};
    const {best_of: made = n} = given as {best_of?: number};
    const head = {id: identifier('cmpl-'), object: 'text_completion', created: Math.floor(Date.now() / 1000), model: this.#model} as const;
    const controller = controllerOf(options);
    const choices = prompts.flatMap((prompt, at) => Array.from({length: made}, (_, choice) => ({prompt, index: at * n + choice, choice})));
    const promptTokens = prompts.reduce((sum, {length}) => sum + length, 0);
    const ended: {text: string; logprobs: CompletionLogprobs | null; reason: 'stop' | 'length'; mean: number}[] = [];
    let [tokens, cached] = [0, 0];
    const isStream = given['stream'] === true;
    const run = async (said: (index: number, text: string, logprobs: CompletionLogprobs | null, reason: 'stop' | 'length' | null) => void): Promise<void> => {
      for (const {prompt, index, choice} of choices) {
        const echoed = echo ? tokenizer.decode(prompt) : '';
        const logprobs = given['logprobs'] === undefined && made === n ? undefined : new Logprobs(tokenizer, echoed.length);
        let text = '';
        const say = (piece: string): void => {
          text += piece;
          if (isStream) said(index, piece, logprobs?.forCompletion() ?? null, null);
        };
        if (echoed) say(echoed);
        const generation = {...this.#engine.optionsOf({max_tokens: 16, ...given}, prompt, choice, logprobs), ...(constraints && {constraint: constraints()}), signal: controller.signal};
        const {reason, tokens: count, cached: had} = await this.#engine.generate(prompt, generation, stopsOf(given), say);
        tokens += count;
        if (choice === 0) cached += had;
        const rest = logprobs?.forCompletion() ?? null;
        ended.push({text, logprobs: given['logprobs'] === undefined ? null : rest, reason, mean: logprobs?.mean ?? 0});
        said(index, '', rest, reason);
      }
    };
    if (!isStream) {
      await run(() => undefined);
      // Of each prompt the best ones, the best first.
      const best = prompts.flatMap((_, at) => {
        const all = ended.slice(at * made, (at + 1) * made);
        return made > n ? all.sort((a, b) => b.mean - a.mean).slice(0, n) : all;
      });
      return {...head, choices: best.map(({text, logprobs, reason}, index) => ({index, text, logprobs, finish_reason: reason})), usage: usageOf(promptTokens, tokens, cached)};
    }
    const withUsage = request.stream_options?.include_usage ?? false;
    return new Stream<Completion>(controller, async (give) => {
      const none = withUsage && {usage: null};
      await run((index, text, logprobs, reason) => give({...head, choices: [{index, text, logprobs, finish_reason: reason}], ...none}));
      if (withUsage) give({...head, choices: [], usage: usageOf(promptTokens, tokens, cached)});
    });
  }
}
