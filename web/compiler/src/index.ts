/**
 * The Gossamer compiler in the page: ONNX bytes in, a package for `load()` out.
 *
 *     const files = await compile(await file.arrayBuffer(), {target: 'webgpu'});
 *     const model = await load(files);
 */
// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- users of src need it too
/// <reference path="../../runtime/src/globals.d.ts" />
import {HAS_WORKERS} from '../../runtime/src/wasm/worker_script.ts';
import {besideCaller, type Place} from './beside.ts';
import {CompileError, type CompiledKernel, entriesOf, type NativeOptions, type Progress} from './call.ts';
import type {Call} from './compile_in.ts';
import {checkOptions, type ExternalData, type Model, modelBytes, namedFiles} from './given.ts';
import {inWorker} from './in_worker.ts';
import {isGguf} from './is_gguf.ts';
import {MadeFiles} from './made_files.ts';
import {getModule, type WasmSource} from './module.ts';
import {type Operator, withOperators} from './operator.ts';
import type {CompileBoth} from './verify.ts';

/** Bundles that never tune (web/ort, web/tensor) define this. */
declare const NO_TUNER: boolean | undefined;

export {CompileError, type CompiledKernel, type Diagnostic} from './call.ts';
export type {ExternalData} from './given.ts';
export * from './recorder.ts';
export * from './operator.ts';

/** A tensor that replaces an input. `data` has the elements as memory holds them, of `dtype` ('i64', 'bool', 'f32', ...). */
export interface Constant {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

export interface CompileOptions {
  readonly target: 'webgpu' | 'webgl' | 'wasm';
  /** The model's name in the manifest; else the graph's own. */
  readonly name?: string | undefined;
  /** wasm: false leaves out the kernels with relaxed SIMD's multiply-adds, which stand beside the others. */
  readonly relaxedSimd?: boolean | undefined;
  /**
   * False: no convolution by Winograd's algorithm, which is chosen where it is faster (not on webgl): it rounds otherwise, what is infinite or
   * NaN reaches all points of its tile, and its weights take up to four times the memory.
   */
  readonly winograd?: boolean | undefined;
  /** webgpu: stores f16 tensors as such, half the memory; devices without shader-f16 then refuse the package. */
  readonly f16?: boolean | undefined;
  /**
   * True: inputs that an output continues by rows (caches of keys and values, joined with what is new) are written where they lie, so
   * that a step's work hangs on its rows alone. Not on webgl, whose textures are written whole.
   */
  readonly state?: boolean | undefined;
  /**
   * Of language models, with `state`: stages that choose the next token on the device, for generate() of the run time. `logits` are then
   * those of the last token alone.
   */
  readonly generate?: boolean | undefined;
  /** With `generate`: a run can check several guessed tokens, for generate() with `promptLookupNumTokens`. */
  readonly speculate?: boolean | undefined;
  /** webgpu, webgl: "mobile" keeps to a phone's limits, "es31" to those of OpenGL ES 3.1. Default: WebGPU's and WebGL's own. */
  readonly limits?: 'mobile' | 'es31' | undefined;
  /** webgpu: kernels for GPUs in hardware, for software that acts as one, or (default) both. wasm: hardware is for engines with relaxed SIMD alone. */
  readonly adapters?: 'any' | 'hardware' | 'software' | undefined;
  /** Fixes shapes of inputs by name: kernels for these alone, faster and for more models; null leaves a dimension open. */
  readonly shapes?: Readonly<Record<string, readonly (number | null)[]>> | undefined;
  /** Fixes named dimensions of the inputs. */
  readonly dims?: Readonly<Record<string, number>> | undefined;
  /**
   * Inputs by name that become constants of the package: axes, shapes and other values that an operator must know when compiling. An input
   * with a default has this value instead.
   */
  readonly constants?: Readonly<Record<string, Constant>> | undefined;
  /** Weights of more bytes than this (default 64 MB) lie in several files, which load() fetches and keeps one by one. */
  readonly shardBytes?: number | undefined;
  /**
   * Whether the SHA-256 of each 4 MiB of larger files is listed, too: load() elsewhere then checks them by the platform, several times as
   * fast. Default: outside of pages; what a page compiled it loads without a check.
   */
  readonly pieces?: boolean | undefined;
  /**
   * Inputs with a default (an initializer of that name) that stay inputs, which run() may leave out. The defaults of others are
   * compiled in: most exporters list every weight as an input.
   */
  readonly keepInputs?: readonly string[] | undefined;
  /** How many elements each input has that is a sequence; -1: an optional input is left out. */
  readonly lengths?: Readonly<Record<string, number>> | undefined;
  /** Files beside the model that hold weights; each is given to the compiler once. */
  readonly externalData?: ExternalData | undefined;
  /** Weights of files beside the model are left out: load() of the package is given them (`weights`). */
  readonly holdExternal?: boolean | undefined;
  /** Operators of the model that are the caller's own; see operator(). */
  readonly operators?: readonly Operator[] | undefined;
  /**
   * True: what load() makes of the files can verify() itself. They then keep the model's bytes, or the Blob, and the
   * options.
   */
  readonly verifiable?: boolean | undefined;
  /**
   * True: what load() makes of the files can tune() itself; they then keep the model's bytes, or the Blob, and the options.
   * Compiles with tuner.wasm, by `records` or else by what tuning has found for this model on this device before.
   */
  readonly tunable?: boolean | undefined;
  /** Lines of tune() or of `gossamer tune`: points that kernels take instead of the default ones. Compiles with tuner.wasm. */
  readonly records?: string | undefined;
  /**
   * Whose records kernels take where the compiler comes with some (CLASS.jsonl in `records` beside this script): "nvidia", "wasmtime", or "none" for
   * nobody's. Default: that of the page's device, where it has one. They count after `records`, and compile with tuner.wasm; with `wasm`
   * there are none.
   */
  readonly deviceClass?: string | undefined;
  /** webgpu: called with each shader as soon as there is its text, where `adapters` names one kind. */
  readonly onKernel?: ((kernel: CompiledKernel) => void) | undefined;
  readonly onProgress?: ((progress: {step: string; fraction: number}) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** compiler.wasm, or where it is; with `tunable` or `records` tuner.wasm. Default: beside this script. */
  readonly wasm?: WasmSource | undefined;
  /** gguf.wasm, or where it is: fetched for models in GGUF files. Default: beside this script. */
  readonly ggufWasm?: WasmSource | undefined;
}

const bytesOf = (data: ArrayBufferView): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** What compile() uses itself, or writes otherwise for the compiler. */
const OWN: ReadonlySet<string> = new Set<keyof CompileOptions>([
  'shapes', 'constants', 'pieces', 'externalData', 'operators', 'verifiable', 'tunable', 'records', 'deviceClass', 'onKernel', 'onProgress', 'signal', 'wasm', 'ggufWasm',
]);
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Options by the compiler's names, which refuses those that it does not know. */
function nativeOptions(options: CompileOptions): NativeOptions {
  const {shapes, constants, onKernel, pieces = 'process' in globalThis} = options;
  const named = Object.entries(options).filter(([name, value]) => !OWN.has(name) && value !== undefined).map(([name, value]) => [snake(name), value as unknown]);
  return {
    ...(Object.fromEntries(named) as {target: string}),
    pieces,
    ...(onKernel && {on_kernel: true}),
    ...(shapes && {shapes: Object.fromEntries(Object.entries(shapes).map(([k, v]) => [k, v.map((n) => n ?? -1)]))}),
    ...(constants && {
      constants: Object.fromEntries(Object.entries(constants).map(([k, {dtype, shape, data}]) => [k, {dtype, shape, bytes: [...bytesOf(data)]}])),
    }),
  };
}

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
