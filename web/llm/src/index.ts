/**
 * Language models with OpenAI's API, in pages, Node.js, Deno and Bun.
 *
 *     const llm = await load('SmolLM2-135M-Instruct/');
 *     const {choices} = await llm.chat.completions.create({messages: [{role: 'user', content: 'Hello'}]});
 *
 * Importing this starts nothing; the run time and the compiler are fetched by load().
 */
export {load} from './load.ts';
export type {ChatCompletions, Completions, LanguageModel, LoadOptions, LoadProgress} from './language_model.ts';
export type {
  ChatChoice, ChatCompletion, ChatCompletionChunk, ChatDelta, ChatLogprobs, ChatRequest, CommonRequest, Completion, CompletionLogprobs,
  CompletionRequest, FinishReason, Message, NamedTool, RequestOptions, ResponseFormat, TextPart, TokenLogprob, Tool, ToolCall, Usage,
} from './api_types.ts';
export {APIError, type ErrorType} from './errors.ts';
export type {GivenFiles} from './folder.ts';
export type {WeightType} from './network.ts';
export type {Stream} from './stream.ts';
