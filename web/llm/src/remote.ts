/** A model whose files, tokens and runs are in a worker. */
import type {Report} from '../../runtime/src/index.ts';
import {packageFile} from '../../runtime/src/devices/wasm/package_file.ts';
import type {RequestOptions} from './api_types.ts';
import type {GivenFiles} from './folder.ts';
import type {ChatCompletions, Completions, LanguageModel, LoadOptions, LoadProgress} from './language_model.ts';
import {errorOf, type FromWorker, type ToWorker, type Work} from './messages.ts';
import {controllerOf, Stream} from './stream.ts';

interface Call {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  readonly onBegun?: (() => void) | undefined;
  readonly onItem?: ((item: unknown) => void) | undefined;
}

interface Waiting extends Call {
  readonly resolve: (result: unknown) => void;
  readonly reject: (problem: unknown) => void;
}

/** Rejects where no worker can be started: a policy refuses it, or its script is not there. */
export async function openWorker(given: unknown): Promise<ModelWorker> {
  const worker = given instanceof Worker ? given : new Worker(await packageFile(new URL('./llm_worker.js', import.meta.url)), {type: 'module'});
  return new Promise((resolve, reject) => {
    worker.postMessage('hello');
    worker.onmessage = () => resolve(new ModelWorker(worker));
    worker.onerror = (event) => {
      worker.terminate();
      reject(new Error(`load(): the worker did not start: ${event.message ?? 'its script was refused'}`));
    };
  });
}

export class ModelWorker {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #over: Error | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({data}: MessageEvent<FromWorker>) => this.#hear(data);
    worker.onerror = (event) => this.end(new Error(`the worker of the model failed: ${event.message}`));
  }

  #hear(data: FromWorker): void {
    const waiting = this.#waiting.get(data.call);
    if (data.kind === 'progress') waiting?.onProgress?.(data.progress);
    else if (data.kind === 'begun') waiting?.onBegun?.();
    else if (data.kind === 'item') waiting?.onItem?.(data.item);
    else {
      this.#waiting.delete(data.call);
      if (data.kind === 'done') waiting?.resolve(data.result);
      else waiting?.reject(errorOf(data.problem));
    }
  }

  /** Rejects as the model does, and with the reason of the signal. */
  ask<T>(work: Work, call: Call = {}): Promise<T> {
    const {signal} = call;
    if (this.#over) return Promise.reject(this.#over);
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const number = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, {...call, resolve: resolve as (result: unknown) => void, reject});
      this.#worker.postMessage({call: number, ...work} satisfies ToWorker);
      signal?.addEventListener('abort', () => {
        this.#worker.postMessage({call: number, kind: 'abort'} satisfies ToWorker);
        reject(signal.reason as Error);
      }, {once: true});
    });
  }

  end(problem: Error): void {
    this.#over ??= problem;
    this.#worker.terminate();
    for (const {reject} of this.#waiting.values()) reject(this.#over);
    this.#waiting.clear();
  }

  async load(from: string | URL | GivenFiles, {onProgress, signal, fetch: _fetch, worker: _worker, compilerWasm, ggufWasm, ...options}: LoadOptions): Promise<LanguageModel> {
    const absolute = (address: string | URL): string => new URL(address, location.href).href;
    const place = typeof from === 'string' || from instanceof URL ? absolute(from) : from;
    try {
      const work = {kind: 'load', from: place, options: {...options, ...(compilerWasm !== undefined && {compilerWasm: absolute(compilerWasm)}), ...(ggufWasm !== undefined && {ggufWasm: absolute(ggufWasm)})}} as const;
      return new RemoteModel(this, await this.ask(work, {onProgress, signal}));
    } catch (problem) {
      this.end(problem as Error);
      throw problem;
    }
  }
}

class RemoteModel implements LanguageModel {
  readonly name: string;
  readonly contextLength: number;
  readonly chat: {readonly completions: ChatCompletions};
  readonly completions: Completions;
  readonly #worker: ModelWorker;

  constructor(worker: ModelWorker, {name, contextLength}: {name: string; contextLength: number}) {
    this.#worker = worker;
    this.name = name;
    this.contextLength = contextLength;
    const creator = (kind: 'chat' | 'completion') => ({
      create: (request: {readonly stream?: boolean | null}, options?: RequestOptions) => this.#create({kind, request} as Work, request.stream === true, options),
    });
    this.chat = {completions: creator('chat') as ChatCompletions};
    this.completions = creator('completion') as Completions;
  }

  #create(work: Work, isStream: boolean, options: RequestOptions = {}): Promise<unknown> {
    const {signal} = options;
    if (!isStream) return this.#worker.ask(work, {signal});
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const controller = controllerOf(options);
    return new Promise((resolve, reject) => {
      const stream = new Stream<unknown>(controller, (give) => {
        const made = this.#worker.ask<void>(work, {signal: controller.signal, onItem: give, onBegun: () => resolve(stream)});
        made.catch(reject);
        return made;
      });
    });
  }

  encode = (text: string): Promise<number[]> => this.#worker.ask({kind: 'encode', text});
  decode = (ids: readonly number[]): Promise<string> => this.#worker.ask({kind: 'decode', ids});
  promptOf: LanguageModel['promptOf'] = (request) => this.#worker.ask({kind: 'prompt', request});
  report = (): Promise<Report> => this.#worker.ask({kind: 'report'});

  dispose(): void {
    this.#worker.end(new Error('the model was disposed'));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
