/** How likely tokens were, as OpenAI's API has it. */
import type {TokenLogprobs} from '../../runtime/src/index.ts';
import type {ChatLogprobs, CompletionLogprobs, TokenLogprob} from './api_types.ts';
import type {Tokenizer} from './tokenizer.ts';

function entryOf(tokenizer: Tokenizer, {id, logprob}: {readonly id: number; readonly logprob: number}): TokenLogprob {
  const {text, bytes} = tokenizer.pieceOf(id);
  return {token: text, logprob, bytes: [...bytes]};
}

/** Collects tokens until they are told with a piece of text. */
export class Logprobs {
  readonly #tokenizer: Tokenizer;
  #choices: TokenLogprobs[] = [];
  /** Of the text of all tokens so far. */
  #length: number;

  /** `before`: how long the text is before the first token. */
  constructor(tokenizer: Tokenizer, before = 0) {
    this.#tokenizer = tokenizer;
    this.#length = before;
  }

  #sum = 0;
  #count = 0;

  readonly add = (choice: TokenLogprobs): void => {
    this.#choices.push(choice);
    this.#sum += choice.logprob;
    ++this.#count;
  };

  /** Of a token, so that long texts are no worse than short ones. */
  get mean(): number {
    return this.#count > 0 ? this.#sum / this.#count : -Infinity;
  }

  #taken(): readonly TokenLogprobs[] {
    const choices = this.#choices;
    this.#choices = [];
    return choices;
  }

  /** Those since the last call. */
  forChat(): ChatLogprobs {
    return {content: this.#taken().map((choice) => ({...entryOf(this.#tokenizer, choice), top_logprobs: choice.top.map((each) => entryOf(this.#tokenizer, each))})), refusal: null};
  }

  forCompletion(): CompletionLogprobs {
    const made: {tokens: string[]; token_logprobs: number[]; top_logprobs: Record<string, number>[]; text_offset: number[]} = {tokens: [], token_logprobs: [], top_logprobs: [], text_offset: []};
    for (const {id, logprob, top} of this.#taken()) {
      const {text} = this.#tokenizer.pieceOf(id);
      made.tokens.push(text);
      made.token_logprobs.push(logprob);
      // Of parts of characters, which have one text, the likeliest is listed.
      const byText: Record<string, number> = {};
      for (const each of top) byText[this.#tokenizer.pieceOf(each.id).text] ??= each.logprob;
      made.top_logprobs.push(byText);
      made.text_offset.push(this.#length);
      this.#length += text.length;
    }
    return made;
  }
}
