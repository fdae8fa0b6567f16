/** What compile() takes. */
import type {CompiledKernel} from './call.ts';
import type {ExternalData} from './given.ts';
import type {WasmSource} from './module.ts';
import type {Operator} from './operator.ts';

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
  /** True: large weights belong to the folder above the package (`above` in its manifest), where packages of the model for other targets have them, too. */
  readonly shareWeights?: boolean | undefined;
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
