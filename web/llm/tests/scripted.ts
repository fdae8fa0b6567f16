/** A model that says what a test has it say. */
import {chatTemplate, tokenizer as file, tokenizerConfig, tokens} from '../../../tests/llm/tiny_model.mjs';
import type {GenerateOptions, Model} from '../../runtime/src/index.ts';
import type {LanguageModel} from '../src/index.ts';
import {LocalModel} from '../src/local.ts';
import {ChatTemplate} from '../src/template.ts';
import {Tokenizer} from '../src/tokenizer.ts';

export const tokenizer = new Tokenizer(file, tokenizerConfig);
export const END = tokens['<|im_end|>'] as number;

export interface Scripted {
  readonly llm: LanguageModel;
  /** What generate() was called with. */
  readonly calls: {readonly prompt: readonly number[]; readonly options: GenerateOptions}[];
}

/** Says one script after the other, each as text or as tokens. `wait`: before each token. `logprobs`: of the tokens of each script. */
export function scripted(scripts: readonly (string | readonly number[])[], {wait, logprobs = []}: {wait?: () => Promise<unknown>; logprobs?: readonly number[]} = {}): Scripted {
  const calls: {prompt: readonly number[]; options: GenerateOptions}[] = [];
  let at = 0;
  async function* generate(prompt: Iterable<number>, options: GenerateOptions): AsyncGenerator<number, 'stop' | 'length', void> {
    calls.push({prompt: [...prompt], options});
    const logprob = logprobs[at % scripts.length] ?? -0.5;
    const script = scripts[at++ % scripts.length] as string | readonly number[];
    const ids = typeof script === 'string' ? tokenizer.encode(script, {special: false}) : script;
    let count = 0;
    for (const id of ids) {
      if (count >= (options.maxTokens ?? Infinity)) return 'length';
      await (wait?.() ?? Promise.resolve());
      options.signal?.throwIfAborted();
      if (options.stopTokens?.includes(id)) return 'stop';
      ++count;
      const top = [{id, logprob}, {id: 0x61, logprob: -1}].slice(0, options.topLogprobs);
      options.onLogprobs?.({id, logprob, top});
      yield id;
    }
    return 'stop';
  }
  const model = {generate, dispose: () => undefined} as unknown as Model;
  const texts = {tokenizer, stopTokens: [END], contextLength: 400, words: 300, defaults: {temperature: 0.8, top_k: 40}};
  const template = new ChatTemplate(chatTemplate, {bos_token: tokenizerConfig.bos_token, eos_token: '<|im_end|>'});
  return {llm: new LocalModel('scripted', model, texts, template), calls};
}
