/**
 * The five nouns that every backend implements. Nothing here knows what a model is: a program is a set
 * of kernels, a recording is a list of launches on buffers, and the model sees to the rest.
 */
import type {Lifetime} from './lifetime.ts';
import type {DeviceKind, DType} from '../values/types.ts';

/** Device memory: linear bytes, or a texture of RGBA texels (webgl). */
export type Extent =
  | {readonly bytes: number}
  | {readonly width: number; readonly height: number; readonly layers: number};

/** Memory asked for, and what for. */
export interface Room {
  readonly extent: Extent;
  /** For messages, such as 'tensor "y"'. */
  readonly name: string;
  /** Element types of the tensors that will lie there. */
  readonly storage: readonly DType[];
}

/** Something asked for that this browser or page lacks, and what happens instead. */
export interface Fallback {
  readonly what: string;
  readonly reason: string;
}

/** One kernel of a program, as the manifest lists it. */
export interface Kernel {
  readonly name: string;
  /** The first node of the model that it computes. */
  readonly origin: string;
  /** Exported function (wasm), "main" in shaders. */
  readonly entry: string;
  /** Shader source; undefined for wasm. */
  readonly code: string | undefined;
  /** Invocations of a workgroup (webgpu). */
  readonly group: number;
  /** How many buffers are bound. */
  readonly buffers: number;
  /** How many of them are written: the last ones. */
  readonly writes: number;
  readonly scalars: number;
}

/** How many variables a plan takes, values it fills and segments it has. */
export interface PlanSize {
  readonly dims: number;
  readonly values: number;
  readonly segments: number;
}

/** Everything that is compiled together. */
export interface Program {
  readonly kernels: readonly Kernel[];
  /** kernels.wasm; undefined on GPUs. */
  readonly module: Uint8Array | undefined;
  /** Undefined when everything is static, and where the module has no plan. */
  readonly plan: PlanSize | undefined;
}

/** A launch with everything known: `range` is the extent of the kernel's grid loop. */
export interface Launch {
  readonly kernel: number;
  /** For messages: the kernel and the node of the model. */
  readonly name: string;
  readonly buffers: readonly Buffer[];
  /** Element types of the buffers' tensors in memory, in the same order. */
  readonly storage: readonly DType[];
  readonly scalars: readonly number[];
  readonly range: number;
}

/** Something that computes. Everything made from it dies with it. */
export interface Device {
  readonly kind: DeviceKind;
  /** The hardware or engine, for people. */
  readonly adapter: string;
  /** Whether a GPU is software that acts as one; on wasm, whether the package or the engine has no relaxed SIMD. */
  readonly software?: boolean;
  /** How many threads compute; 1 on GPUs. */
  readonly threads: number;
  readonly fallbacks: readonly Fallback[];
  readonly queue: Queue;
  /** Over when the device is lost. */
  readonly life: Lifetime;
  /** What its buffers belong to: devices with the same can use each other's. */
  readonly owner: object;
  /** Which of a package's needs it lacks. */
  lacking?(needs: readonly string[]): string | undefined;
  /**
   * Zeroed memory, had when this resolves. Fails as a whole, naming one: 'out-of-memory', or 'unsupported'
   * where a limit is too small.
   */
  createBuffers(rooms: readonly Room[]): Promise<Buffer[]>;
  /** Begins to compile a kernel of a program that is still on its way. What it returns is called when the program has it, or never will. */
  prepare?(kernel: Kernel): () => void;
  /** Compiles all kernels at once; `progress` is called with the number compiled so far. */
  createExecutable(program: Program, progress: (done: number) => void): Promise<Executable>;
  dispose(): void;
}

/** A piece of device memory. */
export interface Buffer {
  readonly extent: Extent;
  dispose(): void;
}

/** Work happens in the order in which it is put in. */
export interface Queue {
  /**
   * Copies elements of type `storage` to the start of the buffer (in a texture: four to a texel). `data` is
   * the caller's again when this returns, unless it is an array of its own that may be taken (`own`). Who
   * writes much awaits the result.
   */
  write(buffer: Buffer, data: Uint8Array, storage: DType, own?: boolean): unknown;
  /** Where bytes lie in the buffer as they are given: the same of parts, one after the other from byte `at` on. All but the last are words. */
  writeParts?(buffer: Buffer, parts: Iterable<Uint8Array>, at: number): void;
  /**
   * Copies the first elements of a buffer to another, of another width where they are textures. `pieces`, in linear memory: so many, at
   * multiples of these bytes.
   */
  copy(from: Buffer, to: Buffer, bytes: number, storage: DType, pieces?: Pieces): void;
  /** Launches the recordings one after the other, then takes what is read: as one piece of work where that can be. */
  submit(recordings: readonly Recording[], reads: readonly Read[]): Fence;
}

/** Where pieces of two buffers lie; all in multiples of four bytes. */
export interface Pieces {
  readonly count: number;
  readonly from: number;
  readonly to: number;
}

/** `bytes` bytes of a buffer, of elements of type `storage`. */
export interface Read {
  readonly buffer: Buffer;
  /** Where they begin: a multiple of four (default 0). */
  readonly offset?: number;
  readonly bytes: number;
  readonly storage: DType;
}

/** Compiled kernels. */
export interface Executable {
  /**
   * Computes a segment's values from the variables; gives all values, the others as they were. Integers,
   * exact where they are safe; NaN where none can be given. Where the module has the plan.
   */
  plan?(segment: number, dims: readonly number[]): Promise<Float64Array>;
  /** Binds launches once, to be submitted many times. Valid while its buffers live. */
  record(launches: readonly Launch[]): Promise<Recording>;
  /** Gives a recording other ranges and scalars, from here on; all else of its launches is as it was. */
  update(recording: Recording, launches: readonly Launch[]): void;
  dispose(): void;
}

/** What an executable recorded; only its own device can read it. */
export interface Recording {
  dispose(): void;
}

/** A moment in a queue. */
export interface Fence {
  /** Resolves when all work up to here is done; rejects when it went wrong. Asked for at most once. */
  readonly done: Promise<unknown>;
  /** The same without waiting for the work, as far as that can be known. */
  readonly accepted: Promise<unknown>;
  /** What was read, each in memory of its own; rejects when that went wrong. */
  readonly data: Promise<Uint8Array[]>;
}
