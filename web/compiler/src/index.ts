/**
 * The Gossamer compiler in the page: ONNX bytes in, a package for `load()` out.
 *
 *     const files = await compile(await file.arrayBuffer(), {target: 'webgpu'});
 *     const model = await load(files);
 */
// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- users of src need it too
/// <reference path="../../runtime/src/globals.d.ts" />
import {HAS_WORKERS} from '../../runtime/src/devices/wasm/worker_script.ts';
import {besideCaller, type Place} from './beside.ts';
import {CompileError, entriesOf, type Progress} from './call.ts';
import type {Call} from './compile_in.ts';
import type {CompileOptions} from './compile_options.ts';
import {checkOptions, type Model, modelBytes, namedFiles} from './given.ts';
import {inWorker} from './in_worker.ts';
import {isGguf} from './is_gguf.ts';
import {MadeFiles} from './made_files.ts';
import {getModule, type WasmSource} from './module.ts';
import {nativeOptions} from './native_options.ts';
import {withOperators} from './operator.ts';
import type {CompileBoth} from './verify.ts';

/** Bundles that never tune (web/ort, web/tensor) define this. */
declare const NO_TUNER: boolean | undefined;

export {CompileError, type CompiledKernel, type Diagnostic} from './call.ts';
export type {CompileOptions, Constant} from './compile_options.ts';
export type {ExternalData} from './given.ts';
export * from './recorder.ts';
export * from './operator.ts';

/**
 * A compiler that stays in memory, for many models or programs one after the other: no start and end of a worker
 * each time. In a worker of its own where there are workers, else (Node) on the calling thread.
 */
export class Compiler {
  readonly #place: Place;
  private constructor(place: Place) {
    this.#place = place;
  }

  static async open(options: Pick<CompileOptions, 'wasm'> = {}): Promise<Compiler> {
    return new Compiler(await openPlace(options.wasm));
  }

  /**
   * As compile() of this module, which see. Compilations asked for at the same time are done one after the other;
   * one that is aborted or fails leaves the compiler of use.
   */
  async compile(
    onnx: Model,
    options: Omit<CompileOptions, 'wasm' | 'verifiable' | 'tunable' | 'records' | 'deviceClass'>,
  ): Promise<Map<string, Uint8Array>> {
    checkOptions(options);
    options.signal?.throwIfAborted();
    return compileIn(this.#place, await callOf(onnx, options), options);
  }

  /** Stops the worker; compilations under way reject. */
  dispose(): void {
    this.#place.stop();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * Compiles a model, of ONNX or a language model in a GGUF file (of a Blob the compiler reads what it needs); byte for byte what `gossamer compile` writes with the same options. In a worker
 * where there are workers, else (Node) on the calling thread, with memory of its own that goes when it is done.
 * Rejects with a CompileError for what is not a model or cannot be compiled, or with the signal's reason.
 */
export async function compile(
  onnx: Model,
  options: CompileOptions,
): Promise<Map<string, Uint8Array>> {
  checkOptions(options);
  const {verifiable} = options;
  const tunable = typeof NO_TUNER === 'undefined' && options.tunable;
  options.signal?.throwIfAborted();
  const call = await callOf(onnx, options);
  const shipped = typeof NO_TUNER === 'undefined' && options.wasm === undefined ?
    await (await import('./shipped.ts')).shippedRecords(options.target, options.deviceClass) : undefined;
  const kept = typeof NO_TUNER === 'undefined' && tunable ? (await import('./records.ts')).keptRecords(call) : undefined;
  const mine = options.records ?? (await kept);
  const records = shipped === undefined ? mine : `${shipped}\n${mine ?? ''}`;
  const files = await compileAs({...call, records}, options);
  if (!verifiable && !tunable) return files;
  return new MadeFiles(files, (load) => ({
    ...(verifiable && {
      verify: async (...given) => {
        const {verify} = await import('./verify.ts');
        const plain = {...options, tunable: false, records: undefined};
        const both = async (): ReturnType<CompileBoth> => ({
          exposed: await compileAs({...call, options: {...call.options, expose: true}}, plain),
          reference: await compileAs({...call, options: {...call.options, target: 'wasm', expose: true, fuse: false}}, plain),
        });
        return verify(load, both, ...given);
      },
    }),
    // Said again, for bundlers.
    ...(typeof NO_TUNER === 'undefined' && tunable && {
      tune: async (...given) => {
        const {tune} = await import('./tune.ts');
        return tune(load, () => placeFor(options), call, shipped, ...given);
      },
    }),
  }));
}

const placeFor = ({wasm, tunable}: CompileOptions, records?: string): Promise<Place> =>
  openPlace(wasm, tunable || records !== undefined ? 'tuner.wasm' : 'compiler.wasm');

async function compileAs(call: Call, options: CompileOptions): Promise<Map<string, Uint8Array>> {
  const place = await placeFor(options, call.records);
  try {
    return await compileIn(place, call, options);
  } finally {
    place.stop();
  }
}

const openPlace = async (wasm: WasmSource | undefined, name = 'compiler.wasm'): Promise<Place> => {
  const module = await getModule(wasm, name);
  // A page may have a policy without workers; its events then wait for the compiler.
  return HAS_WORKERS ? inWorker(module).catch(() => besideCaller(module)) : besideCaller(module);
};

/** A language model in a GGUF file as one of ONNX, whose weights are ranges of the file. */
async function translated(file: Model, options: CompileOptions): Promise<Call> {
  const {translate} = await import('./gguf.ts');
  const location = 'model.gguf';
  const bytes = file instanceof Blob ? file : await modelBytes(file);
  const model = (await translate(bytes, location, {wasm: options.ggufWasm})).get('model.onnx') as Uint8Array;
  return {model, options: nativeOptions(options), external: [[location, bytes]]};
}

async function callOf(onnx: Model, options: CompileOptions): Promise<Call> {
  if (typeof NO_TUNER === 'undefined' && await isGguf(onnx)) return translated(onnx, options);
  const given = await modelBytes(onnx);
  const model = options.operators?.length ? withOperators(given, options.operators) : given;
  return {model, options: nativeOptions(options), external: namedFiles(options.externalData ?? [])};
}

/** Weights of models of so many bytes and more do not pass through the compiler's memory. */
const LEAST_HELD = 2 ** 20;

const sizeOf = ({model, external}: Call): number =>
  external.reduce((sum, [, file]) => sum + (file instanceof Uint8Array ? file.length : file.size), model.length);

async function compileIn(
  place: Place,
  call: Call,
  {signal, onKernel, onProgress}: Pick<CompileOptions, 'onKernel' | 'onProgress' | 'signal'>,
): Promise<Map<string, Uint8Array>> {
  signal?.throwIfAborted();
  const progress: Progress = (step, fraction, kernel) => (kernel ? onKernel?.(kernel) : onProgress?.({step, fraction}));
  const compiled = async (): Promise<Iterable<readonly [string, Uint8Array]>> => {
    const held = call.options.hold_external || sizeOf(call) < LEAST_HELD ? undefined : await import('./held.ts');
    const split = await held?.split(call);
    let result = await place.compile(split?.call ?? call, progress);
    // A tensor of a subgraph is small and in another file, say: the compiler reads it after all.
    const isComplete = !split || ('error' in result && result.error.message.includes('was not given'));
    if (split && isComplete) result = await place.compile(call, progress);
    if ('error' in result) throw new CompileError(result.error);
    if (held && split && !isComplete) return held.completed(result.files, split.files, call.options.pieces ?? true);
    return entriesOf(result.files);
  };
  return new MadeFiles(await unlessAborted(compiled(), signal));
}
