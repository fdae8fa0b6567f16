/** What load() takes and gives, on the caller's thread and in a worker alike. */
import type {DeviceKind, Report} from '../../runtime/src/index.ts';
import type {Requests} from '../../runtime/src/package/source.ts';
import type {ChatCompletion, ChatCompletionChunk, ChatRequest, Completion, CompletionRequest, RequestOptions} from './api_types.ts';
import type {WeightType} from './network.ts';
import type {Stream} from './stream.ts';

/** Stages in order: files of the tokenizer, download of the model in bytes (from a server), the compiler, then kernels and upload of weights. */
export interface LoadProgress {
  readonly stage: 'files' | 'compile' | 'download' | 'kernels' | 'upload';
  readonly done: number;
  readonly total: number;
}

export interface LoadOptions extends Requests {
  /** Default: webgpu where there is an adapter, otherwise wasm. A compiled package has its own. */
  readonly target?: DeviceKind | undefined;
  /** Which weights, where a folder has several. Default: the smallest, q4f16 first. Of safetensors files how matrices are stored: q4 (default), q8, fp16 or fp32. */
  readonly dtype?: WeightType | undefined;
  /** The ONNX file, as a path in the folder. */
  readonly file?: string | undefined;
  /** The most tokens of a prompt and its answer. Default: what the model was made for. Memory for so many is reserved. */
  readonly contextLength?: number | undefined;
  /** Used in place of the folder's. */
  readonly chatTemplate?: string | undefined;
  /** What answers call the model. Default: the name of the folder. */
  readonly name?: string | undefined;
  /** Threads on wasm. Default: up to 4 in cross-origin isolated pages, otherwise 1. */
  readonly threads?: number | undefined;
  /**
   * Whether all work is done in a worker, so that the page stays responsive, or a worker of the caller's that imports @gossamer/llm/worker.
   * It serves one model and ends with it. Default: in pages, unless `fetch` is given.
   */
  readonly worker?: boolean | Worker | undefined;
  /**
   * Whether the compiled model is kept for the next load: in Cache Storage ("gossamer-compiled"), in Node.js in a folder of the user's, or in
   * the one that is named here. It is used while the folder's files have the date and size, or the ETag, that they had. Default: true.
   */
  readonly cache?: boolean | string | undefined;
  /** Where compiler.wasm is. Default: next to this script. */
  readonly compilerWasm?: string | URL | undefined;
  /** Where gguf.wasm is, which is fetched for GGUF and safetensors files; by default next to the script. */
  readonly ggufWasm?: string | URL | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ChatCompletions {
  /** Answers a conversation. Rejects with an APIError. */
  create(request: ChatRequest & {readonly stream: true}, options?: RequestOptions): Promise<Stream<ChatCompletionChunk>>;
  create(request: ChatRequest & {readonly stream?: false | null}, options?: RequestOptions): Promise<ChatCompletion>;
  create(request: ChatRequest, options?: RequestOptions): Promise<ChatCompletion | Stream<ChatCompletionChunk>>;
}

export interface Completions {
  /** Continues a text, or each of several. Rejects with an APIError. */
  create(request: CompletionRequest & {readonly stream: true}, options?: RequestOptions): Promise<Stream<Completion>>;
  create(request: CompletionRequest & {readonly stream?: false | null}, options?: RequestOptions): Promise<Completion>;
  create(request: CompletionRequest, options?: RequestOptions): Promise<Completion | Stream<Completion>>;
}

/** A language model. One generation runs at a time; further calls wait. */
export interface LanguageModel {
  /** What answers call it. */
  readonly name: string;
  /** The most tokens of a prompt and its answer. */
  readonly contextLength: number;
  readonly chat: {readonly completions: ChatCompletions};
  readonly completions: Completions;
  /** The tokens of a text, with those that texts begin and end with. */
  encode(text: string): Promise<number[]>;
  /** The text of tokens, without special ones. */
  decode(ids: readonly number[]): Promise<string>;
  /** The prompt of a conversation, as the model reads it. */
  promptOf(request: ChatRequest): Promise<string>;
  /** Where the model runs, and its memory. */
  report(): Promise<Report>;
  /** Frees the device's memory. Calls under way reject. */
  dispose(): void;
  [Symbol.dispose](): void;
}
