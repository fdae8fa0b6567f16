/**
 * The Gossamer compiler in the page: ONNX bytes in, a package for `load()` out.
 *
 *     const files = await compile(await file.arrayBuffer(), {target: 'webgpu'});
 *     const model = await load(files);
 */
// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- users of src need it too
/// <reference path="../../runtime/src/globals.d.ts" />
import {callCompiler, type CallResult, type Diagnostic, type NamedFile, type NativeOptions} from './call.ts';
import {type Operator, withOperators} from './operator.ts';
import type {Message, Request} from './worker.ts';
import script from 'worker:./worker.ts';

export type {Diagnostic} from './call.ts';
export * from './operator.ts';

/**
 * Files by their names, as the model names them ("location" of its tensors, a path from the model's folder).
 * They stay the caller's; of a Blob there is no copy but the compiler's.
 */
export type ExternalData =
  | ReadonlyMap<string, Uint8Array | Blob>
  | Readonly<Record<string, Uint8Array | Blob>>
  | readonly {readonly name: string; readonly bytes: Uint8Array | Blob}[];

export interface CompileOptions {
  readonly target: 'webgpu' | 'webgl' | 'wasm';
  /** The model's name in the manifest; else the graph's own. */
  readonly name?: string | undefined;
  /** wasm: false leaves out the kernels with relaxed SIMD's multiply-adds, which stand beside the others. */
  readonly relaxedSimd?: boolean | undefined;
  /** webgpu: stores f16 tensors as such, half the memory; devices without shader-f16 then refuse the package. */
  readonly f16?: boolean | undefined;
  /** Fixes shapes of inputs by name: kernels for these alone, faster and for more models; null leaves a dimension open. */
  readonly shapes?: Readonly<Record<string, readonly (number | null)[]>> | undefined;
  /** Fixes named dimensions of the inputs. */
  readonly dims?: Readonly<Record<string, number>> | undefined;
  /** How many elements each input has that is a sequence; -1: an optional input is left out. */
  readonly lengths?: Readonly<Record<string, number>> | undefined;
  /** Files beside the model that hold weights; each is given to the compiler once. */
  readonly externalData?: ExternalData | undefined;
  /** Operators of the model that are the caller's own; see operator(). */
  readonly operators?: readonly Operator[] | undefined;
  readonly onProgress?: ((progress: {step: string; fraction: number}) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** compiler.wasm, or where it is. Default: beside this script. */
  readonly wasm?: string | URL | WebAssembly.Module | BufferSource | undefined;
}

/** The model cannot be compiled: what, where, and what to do. */
export class CompileError extends Error {
  readonly diagnostic: Diagnostic;
  constructor(diagnostic: Diagnostic) {
    const {where, message, hint} = diagnostic;
    super(`${where && `${where}: `}${message}${hint && ` (${hint})`}`);
    this.name = 'CompileError';
    this.diagnostic = diagnostic;
  }
}

const modules = new Map<string, Promise<WebAssembly.Module>>();

async function fetchModule(url: string): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: the server answered ${response.status}`);
  // Not compileStreaming: it insists on a content type that many static servers do not send.
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Compiled once for a page and address. */
function getModule(wasm: CompileOptions['wasm']): Promise<WebAssembly.Module> {
  if (wasm instanceof WebAssembly.Module) return Promise.resolve(wasm);
  if (wasm !== undefined && typeof wasm !== 'string' && !(wasm instanceof URL)) {
    return WebAssembly.compile(wasm);
  }
  const url = String(wasm ?? new URL('compiler.wasm', import.meta.url));
  let module = modules.get(url);
  if (!module) {
    module = fetchModule(url);
    modules.set(url, module);
    module.catch(() => modules.delete(url));
  }
  return module;
}

function inWorker(request: Request, options: CompileOptions): Promise<CallResult> {
  const url = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
  const worker = new Worker(url);
  const {signal, onProgress} = options;
  return new Promise<CallResult>((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error));
    worker.onerror = (event) => reject(new Error(`the compiler's worker failed: ${event.message}`));
    worker.onmessage = ({data}: MessageEvent<Message>) => {
      if (data.kind === 'progress') onProgress?.({step: data.step, fraction: data.fraction});
      else if (data.kind === 'done') resolve(data.result);
      else reject(new Error(data.message));
    };
    // A message clones whole buffers: bytes of part of one go as a copy of their own.
    const external = request.external.map(([name, file]): NamedFile => [
      name,
      file instanceof Uint8Array ? file.slice() : file,
    ]);
    const transfer = external.flatMap(([, file]) => (file instanceof Uint8Array ? [file.buffer as ArrayBuffer] : []));
    worker.postMessage({...request, external}, transfer);
  }).finally(() => {
    worker.terminate();
    URL.revokeObjectURL(url);
  });
}

function namedFiles(given: ExternalData): NamedFile[] {
  if (given instanceof Map) return [...(given as ReadonlyMap<string, Uint8Array | Blob>)];
  if (Array.isArray(given)) {
    return (given as readonly {name: string; bytes: Uint8Array | Blob}[]).map(({name, bytes}) => [name, bytes]);
  }
  return Object.entries(given as Readonly<Record<string, Uint8Array | Blob>>);
}

/**
 * Compiles a model; byte for byte what `gossamer compile` writes with the same options. In a worker
 * where there are workers, else (Node) on the calling thread. Rejects with a CompileError for a model
 * that cannot be compiled, or with the signal's reason.
 */
export async function compile(
  onnx: ArrayBuffer | Uint8Array | Blob,
  options: CompileOptions,
): Promise<Map<string, Uint8Array>> {
  const {signal, onProgress, target, name, relaxedSimd, f16, shapes, dims, lengths} = options;
  signal?.throwIfAborted();
  const module = await getModule(options.wasm);
  const given = new Uint8Array(onnx instanceof Blob ? await onnx.arrayBuffer() : onnx);
  const model = options.operators?.length ? withOperators(given, options.operators) : given;
  signal?.throwIfAborted();
  const native: NativeOptions = {
    target,
    ...(name === undefined ? {} : {name}),
    ...(relaxedSimd === undefined ? {} : {relaxed_simd: relaxedSimd}),
    ...(f16 === undefined ? {} : {f16}),
    ...(dims === undefined ? {} : {dims}),
    ...(shapes === undefined
      ? {}
      : {shapes: Object.fromEntries(Object.entries(shapes).map(([k, v]) => [k, v.map((n) => n ?? -1)]))}),
    ...(lengths === undefined ? {} : {lengths}),
  };
  const external = namedFiles(options.externalData ?? []);
  const result =
    typeof Worker === 'undefined'
      ? await callCompiler(module, model, native, external, (step, fraction) => onProgress?.({step, fraction}))
      : await inWorker({module, model, options: native, external}, options);
  if ('error' in result) throw new CompileError(result.error);
  return new Map(result.files);
}
