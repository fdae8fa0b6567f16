/** From a folder to a language model that answers. */
import type {DeviceKind, Model, Progress} from '../../runtime/src/index.ts';
import type {Requests} from '../../runtime/src/source.ts';
import {signatureOf} from '../../ort/src/signature.ts';
import {ChatCompletions} from './chat.ts';
import {Completions} from './completions.ts';
import {type Config, readConfig} from './config.ts';
import {Engine, type Texts} from './engine.ts';
import {bytesOf, type Folder, type GivenFiles, openFolder} from './folder.ts';
import {isCompiled, type Network, readNetwork, type WeightType} from './model_files.ts';
import {ChatTemplate} from './template.ts';
import {Tokenizer} from './tokenizer.ts';

export interface LoadProgress {
  readonly stage: 'files' | 'compile' | Progress['stage'];
  readonly done: number;
  readonly total: number;
}

export interface LoadOptions extends Requests {
  /** Default: webgpu where there is an adapter, otherwise wasm. A compiled package has its own. */
  readonly target?: DeviceKind | undefined;
  /** Which weights, where a folder has several. Default: the smallest, q4f16 first. */
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
  /** Where compiler.wasm is. Default: next to this script. */
  readonly compilerWasm?: string | URL | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A language model. One generation runs at a time; further calls wait. */
export class LanguageModel {
  readonly name: string;
  readonly contextLength: number;
  readonly tokenizer: Tokenizer;
  readonly completions: Completions;
  readonly chat: {readonly completions: ChatCompletions};
  /** The network: report() says where it runs. */
  readonly model: Model;

  /** @internal Use load(). */
  constructor(name: string, model: Model, texts: Texts, template: ChatTemplate | undefined) {
    const engine = new Engine(model, texts);
    this.name = name;
    this.model = model;
    this.contextLength = texts.contextLength;
    this.tokenizer = texts.tokenizer;
    this.completions = new Completions(engine, name);
    this.chat = {completions: new ChatCompletions(engine, name, template)};
  }

  /** Frees the device's memory. Calls under way reject. */
  dispose(): void {
    this.model.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

async function targetOf({target}: LoadOptions): Promise<DeviceKind> {
  const gpu = (globalThis as {navigator?: {gpu?: GPU}}).navigator?.gpu;
  return target ?? ((await gpu?.requestAdapter().catch(() => null)) ? 'webgpu' : 'wasm');
}

async function compiled({model, externalData}: Network, options: LoadOptions): Promise<{files: Map<string, Uint8Array>; target: DeviceKind}> {
  const {signal, onProgress, compilerWasm} = options;
  const target = await targetOf(options);
  const {compile} = await import('../../compiler/src/index.ts');
  const batch = signatureOf(model)?.inputs.find(({name}) => name === 'input_ids')?.shape?.[0];
  const files = await compile(model, {
    target,
    externalData,
    generate: true,
    state: true,
    // One text at a time.
    ...(typeof batch === 'string' && batch !== '?' && {dims: {[batch]: 1}}),
    ...(compilerWasm !== undefined && {wasm: compilerWasm}),
    ...(signal && {signal}),
    ...(onProgress && {onProgress: ({fraction}) => onProgress({stage: 'compile', done: fraction, total: 1})}),
  });
  return {files, target};
}

async function openModel(folder: Folder, config: Config, options: LoadOptions): Promise<Model> {
  const {target, threads, onProgress, signal, fetch, requestInit, contextLength} = options;
  const {load} = await import('../../runtime/src/index.ts');
  const common = {state: true as const, stateRows: contextLength, threads, onProgress, signal, fetch, requestInit};
  if (await isCompiled(folder)) {
    const inMemory = async (): Promise<Map<string, Uint8Array>> => {
      const files = (folder.names ?? []).map(async (name) => [name, await bytesOf((await folder.read(name)) as Uint8Array)] as const);
      return new Map(await Promise.all(files));
    };
    return load(folder.address ?? (await inMemory()), {...common, device: target});
  }
  const {files, target: device} = await compiled(await readNetwork(folder, options.file, options.dtype, config.onnxFile), options);
  return load(files, {...common, device});
}

function checkContext(most: number | undefined, {contextLength}: LoadOptions): number {
  if (contextLength !== undefined && !(Number.isInteger(contextLength) && contextLength > 0)) throw new Error(`load(): contextLength is ${contextLength}; a positive integer is expected`);
  if (contextLength !== undefined && most !== undefined && contextLength > most) throw new Error(`load(): contextLength is ${contextLength}; this model reads ${most} tokens at most`);
  const length = contextLength ?? most;
  if (length === undefined) throw new Error('load(): config.json does not say how many tokens the model reads (max_position_embeddings): give `contextLength`');
  return length;
}

const nameOf = (from: string | URL | GivenFiles): string =>
  typeof from === 'string' || from instanceof URL ? (String(from).replace(/[?#].*$/, '').split('/').filter(Boolean).at(-1) ?? 'model') : 'model';

/**
 * Loads a folder of Hugging Face form (tokenizer.json, config.json and ONNX files), which is compiled, or one of a compiled package with
 * the tokenizer's files next to it. `from` is a path (Node.js), a URL, or files. Rejects for files that are missing or wrong, with the
 * errors of compile() and of the run time's load(), and with the signal's reason.
 */
export async function load(from: string | URL | GivenFiles, options: LoadOptions = {}): Promise<LanguageModel> {
  const {signal, onProgress} = options;
  signal?.throwIfAborted();
  onProgress?.({stage: 'files', done: 0, total: 1});
  const folder = await openFolder(from, options, signal);
  const config = await readConfig(folder);
  const contextLength = checkContext(config.contextLength, options);
  const tokenizer = new Tokenizer(config.tokenizer, config.tokenizerConfig);
  const stopTokens = [...new Set(config.ends.map((end) => (typeof end === 'number' ? end : tokenizer.idOf(end))).filter((id) => id !== undefined))];
  const source = options.chatTemplate ?? config.chatTemplate;
  const template = source === undefined ? undefined : new ChatTemplate(source, config.special);
  onProgress?.({stage: 'files', done: 1, total: 1});
  const model = await openModel(folder, config, options);
  const words = model.outputs.find(({name}) => name === 'logits')?.shape.at(-1);
  const texts = {tokenizer, stopTokens, contextLength, words: typeof words === 'number' ? words : Infinity, defaults: config.defaults};
  return new LanguageModel(options.name ?? nameOf(from), model, texts, template);
}
