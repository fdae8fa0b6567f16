/** Requests and answers, as OpenAI's API defines them. Fields that OpenAI does not have are marked as extensions. */

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

/** A call that the model asks for; `arguments` is JSON. */
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: {readonly name: string; readonly arguments: string};
}

export interface Message {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | readonly TextPart[] | null | undefined;
  readonly name?: string | undefined;
  readonly tool_calls?: readonly ToolCall[] | undefined;
  readonly tool_call_id?: string | undefined;
}

export interface Tool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string | undefined;
    readonly parameters?: Readonly<Record<string, unknown>> | undefined;
    readonly strict?: boolean | null | undefined;
  };
}

/** The form of an answer. */
export type ResponseFormat =
  | {readonly type: 'text'}
  /** Any JSON object. */
  | {readonly type: 'json_object'}
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly description?: string | undefined;
        readonly schema?: Readonly<Record<string, unknown>> | undefined;
        /** Whether the schema has to keep the rules of OpenAI's strict mode. Answers meet it in any case. */
        readonly strict?: boolean | null | undefined;
      };
    }
  /** Extension: a regular expression of JavaScript for the whole answer. */
  | {readonly type: 'regex'; readonly pattern: string}
  /** Extension: a grammar in the GBNF dialect of EBNF. */
  | {readonly type: 'grammar'; readonly grammar: string};

/** A function that the model must call. */
export interface NamedTool {
  readonly type: 'function';
  readonly function: {readonly name: string};
}

/** Arguments of both kinds of completions. */
export interface CommonRequest {
  /** Any name: the loaded model answers. */
  readonly model?: string | undefined;
  readonly stream_options?: {readonly include_usage?: boolean | undefined} | null | undefined;
  readonly max_tokens?: number | null | undefined;
  readonly n?: number | null | undefined;
  readonly seed?: number | null | undefined;
  readonly stop?: string | readonly string[] | null | undefined;
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly presence_penalty?: number | null | undefined;
  readonly frequency_penalty?: number | null | undefined;
  /** By token: what is added to its logit, from -100 to 100. The ends exclude a token, or all others. */
  readonly logit_bias?: Readonly<Record<string, number>> | null | undefined;
  readonly user?: string | undefined;
  /** Extension: only the k likeliest tokens; 0 or -1: all. */
  readonly top_k?: number | null | undefined;
  /** Extension: only tokens of at least this share of the likeliest one's probability. */
  readonly min_p?: number | null | undefined;
  /** Extension: divides positive logits, and multiplies negative ones, of tokens that occurred before. */
  readonly repetition_penalty?: number | null | undefined;
}

export interface ChatRequest extends CommonRequest {
  readonly messages: readonly Message[];
  readonly stream?: boolean | null | undefined;
  readonly max_completion_tokens?: number | null | undefined;
  readonly logprobs?: boolean | null | undefined;
  /** With logprobs: how many of the likeliest tokens to list in each place, up to 20. */
  readonly top_logprobs?: number | null | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly tool_choice?: 'auto' | 'none' | 'required' | NamedTool | undefined;
  /** Whether an answer may have several calls (default true). */
  readonly parallel_tool_calls?: boolean | null | undefined;
  readonly response_format?: ResponseFormat | undefined;
  /** Extension: variables of the chat template, such as {enable_thinking: false}. */
  readonly chat_template_kwargs?: Readonly<Record<string, unknown>> | undefined;
}

export interface CompletionRequest extends CommonRequest {
  /** Text, texts, tokens, or lists of tokens. */
  readonly prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  readonly stream?: boolean | null | undefined;
  /** How many of the likeliest tokens to list in each place, up to 20. */
  readonly logprobs?: number | null | undefined;
  /** Whether the text begins with the prompt. */
  readonly echo?: boolean | null | undefined;
  /** So many completions are made, and the `n` whose tokens were likeliest are given. Not for streams. */
  readonly best_of?: number | null | undefined;
  /** Extension: the form of the text after the prompt. */
  readonly response_format?: ResponseFormat | undefined;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** Tokens of the prompt that an earlier answer had computed. */
  readonly prompt_tokens_details: {readonly cached_tokens: number};
}

/** A token with the logarithm of its probability, before temperature, filters and penalties. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  /** Of UTF-8: a token may be a part of a character. */
  readonly bytes: readonly number[];
}

export interface ChatLogprobs {
  readonly content: readonly (TokenLogprob & {readonly top_logprobs: readonly TokenLogprob[]})[];
  readonly refusal: null;
}

export interface CompletionLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly number[];
  readonly top_logprobs: readonly Readonly<Record<string, number>>[];
  /** Where each token begins in the text of all tokens. */
  readonly text_offset: readonly number[];
}

export type FinishReason = 'stop' | 'length' | 'tool_calls';

export interface ChatChoice {
  readonly index: number;
  readonly message: {
    readonly role: 'assistant';
    readonly content: string | null;
    readonly refusal: null;
    readonly tool_calls?: readonly ToolCall[];
  };
  readonly logprobs: ChatLogprobs | null;
  readonly finish_reason: FinishReason;
}

export interface ChatCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly ChatChoice[];
  readonly usage: Usage;
}

export interface ChatDelta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly tool_calls?: readonly (ToolCall & {readonly index: number})[];
}

export interface ChatCompletionChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: ChatDelta;
    readonly logprobs: ChatLogprobs | null;
    readonly finish_reason: FinishReason | null;
  }[];
  /** In the last chunk, where stream_options.include_usage is set. */
  readonly usage?: Usage | null;
}

/** A completion, or a part of one. */
export interface Completion {
  readonly id: string;
  readonly object: 'text_completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly text: string;
    readonly logprobs: CompletionLogprobs | null;
    readonly finish_reason: 'stop' | 'length' | null;
  }[];
  readonly usage?: Usage | null;
}

/** How a request is made, apart from its body. */
export interface RequestOptions {
  /** Ends the generation: the call, or the stream, rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}
