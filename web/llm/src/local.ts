/** From a folder to a language model that answers, on the caller's thread. */
import type {DeviceKind, Model, Progress, Report} from '../../runtime/src/index.ts';
import {signatureOf} from '../../ort/src/signature.ts';
import type {ChatRequest} from './api_types.ts';
import {ChatAnswers} from './chat.ts';
import {TextAnswers} from './completions.ts';
import {type Config, readConfig} from './config.ts';
import {Engine, type Texts} from './engine.ts';
import {bytesOf, type Folder, ggufName, type GivenFiles, openFolder} from './folder.ts';
import {KeptModel} from './kept_model.ts';
import type {ChatCompletions, Completions, LanguageModel, LoadOptions} from './language_model.ts';
import {isCompiled, readNetwork} from './model_files.ts';
import type {Network} from './network.ts';
import {ChatTemplate} from './template.ts';
import {Tokenizer} from './tokenizer.ts';

/** On the caller's thread. */
export class LocalModel implements LanguageModel {
  readonly name: string;
  readonly contextLength: number;
  readonly completions: Completions;
  readonly chat: {readonly completions: ChatCompletions};
  readonly #chat: ChatAnswers;
  readonly #engine: Engine;
  readonly #texts: Texts;
  /** The network. */
  readonly model: Model;

  constructor(name: string, model: Model, texts: Texts, template: ChatTemplate | undefined) {
    const engine = new Engine(model, texts);
    this.name = name;
    this.model = model;
    this.#engine = engine;
    this.#texts = texts;
    this.contextLength = texts.contextLength;
    this.completions = new TextAnswers(engine, name);
    this.#chat = new ChatAnswers(engine, name, template);
    this.chat = {completions: this.#chat};
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a worker answers later
  async encode(text: string): Promise<number[]> {
    return this.#texts.tokenizer.encode(text);
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async decode(ids: readonly number[]): Promise<string> {
    return this.#texts.tokenizer.decode(ids);
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async promptOf(request: ChatRequest): Promise<string> {
    return this.#chat.promptOf(request);
  }

  // eslint-disable-next-line @typescript-eslint/require-await
  async report(): Promise<Report> {
    return this.model.report();
  }

  dispose(): void {
    this.#engine.dispose();
    this.model.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const codeOf = (problem: unknown): unknown => (problem as {code?: unknown}).code;

/** Devices to try in turn. */
async function targetsOf({target}: LoadOptions): Promise<readonly DeviceKind[]> {
  if (target) return [target];
  const gpu = (globalThis as {navigator?: {gpu?: GPU}}).navigator?.gpu;
  return (await gpu?.requestAdapter().catch(() => null)) ? ['webgpu', 'wasm'] : ['wasm'];
}

async function compiled({model, externalData}: Network, target: DeviceKind, {signal, onProgress, compilerWasm}: LoadOptions): Promise<Map<string, Uint8Array>> {
  const {compile} = await import('../../compiler/src/index.ts');
  const batch = signatureOf(model)?.inputs.find(({name}) => name === 'input_ids')?.shape?.[0];
  return compile(model, {
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
}

async function openModel(folder: Folder, config: Config, options: LoadOptions): Promise<Model> {
  const {target, threads, onProgress, signal, fetch, requestInit, contextLength} = options;
  const {load} = await import('../../runtime/src/index.ts');
  const isPackage = await isCompiled(folder);
  const told = onProgress && (({stage, done, total}: Progress): void => {
    // What was compiled here is in memory.
    if (stage !== 'download' || isPackage) onProgress({stage: stage === 'compile' ? 'kernels' : stage, done, total});
  });
  const common = {state: true as const, stateRows: contextLength, threads, onProgress: told, signal, fetch, requestInit};
  if (isPackage) {
    const inMemory = async (): Promise<Map<string, Uint8Array>> => {
      const files = (folder.names ?? []).map(async (name) => [name, await bytesOf((await folder.read(name)) as Uint8Array)] as const);
      return new Map(await Promise.all(files));
    };
    return load(folder.address ?? (await inMemory()), {...common, device: target});
  }
  let network: Promise<Network> | undefined;
  const open = async (device: DeviceKind): Promise<Model> => {
    const kept = await KeptModel.open(folder, device, options);
    const found = await kept?.get();
    if (found) {
      try {
        return await load(found, {...common, device});
      } catch (problem) {
        if (codeOf(problem) !== 'damaged') throw problem;
        await kept?.forget();
      }
    }
    network ??= readNetwork(folder, options, config.onnxFile, onProgress && ((done, total) => onProgress({stage: 'download', done, total})));
    const {sources} = await network;
    const files = await compiled(await network, device, options);
    const model = await load(files, {...common, device});
    await kept?.put(files, sources);
    return model;
  };
  const [first, second] = await targetsOf(options);
  return open(first as DeviceKind).catch((problem: unknown) => {
    if (second && codeOf(problem) === 'unsupported') return open(second);
    throw problem;
  });
}

function checkContext(most: number | undefined, {contextLength}: LoadOptions): number {
  if (contextLength !== undefined && !(Number.isInteger(contextLength) && contextLength > 0)) throw new Error(`load(): contextLength is ${contextLength}; a positive integer is expected`);
  if (contextLength !== undefined && most !== undefined && contextLength > most) throw new Error(`load(): contextLength is ${contextLength}; this model reads ${most} tokens at most`);
  const length = contextLength ?? most;
  if (length === undefined) throw new Error('load(): config.json does not say how many tokens the model reads (max_position_embeddings): give `contextLength`');
  return length;
}

const nameOf = (from: string | URL | GivenFiles): string => titleOf(from).replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '');
const titleOf = (from: string | URL | GivenFiles): string =>
  typeof from === 'string' || from instanceof URL ? (String(from).replace(/[?#].*$/, '').split('/').filter(Boolean).at(-1) ?? 'model') : (ggufName(from) ?? 'model');

/** As load(). */
export async function loadHere(from: string | URL | GivenFiles, options: LoadOptions): Promise<LocalModel> {
  const {signal, onProgress} = options;
  signal?.throwIfAborted();
  onProgress?.({stage: 'files', done: 0, total: 1});
  const opened = await openFolder(from, options, signal);
  const file = ggufName(from);
  const folder = file === undefined ? opened : await (await import('./gguf_folder.ts')).ggufFolder(opened, file, options);
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
  return new LocalModel(options.name ?? nameOf(from), model, texts, template);
}
