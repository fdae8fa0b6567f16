/** An instance of compiler.wasm, on the calling thread. */
import type {Kernel} from '../../runtime/src/devices/device.ts';
import {GossamerError} from '../../runtime/src/values/types.ts';
import {makeWasi} from './wasi.ts';

/** As src/base/result.h has it. */
export interface Diagnostic {
  readonly where: string;
  readonly message: string;
  readonly hint: string;
}

/** The model cannot be compiled: what, where, and what to do. */
export class CompileError extends GossamerError {
  readonly diagnostic: Diagnostic;
  constructor(diagnostic: Diagnostic) {
    const {where, message, hint} = diagnostic;
    super('input', `${where && `${where}: `}${message}${hint && ` (${hint})`}`);
    this.name = 'CompileError';
    this.diagnostic = diagnostic;
  }
}

/** The options as entry.cc reads them. */
export interface NativeOptions {
  readonly target: string;
  readonly name?: string;
  readonly relaxed_simd?: boolean;
  readonly winograd?: boolean;
  readonly f16?: boolean;
  readonly state?: boolean;
  readonly generate?: boolean;
  readonly speculate?: boolean;
  /** False: every stage is a kernel of its own. */
  readonly fuse?: boolean;
  /** What kernels make are outputs, too. */
  readonly expose?: boolean;
  readonly hold_external?: boolean;
  readonly pieces?: boolean;
  /** Whether Progress is called with kernels. */
  readonly on_kernel?: boolean;
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  readonly dims?: Readonly<Record<string, number>>;
  readonly keep_inputs?: readonly string[];
  readonly lengths?: Readonly<Record<string, number>>;
  /** Sizes of files of external data whose large weights only the caller reads: MadeFile.parts. */
  readonly held?: Readonly<Record<string, number>>;
  readonly constants?: Readonly<Record<string, {readonly dtype: string; readonly shape: readonly number[]; readonly bytes: readonly number[]}>>;
}

/** parts: of weights that the caller has; what the file consists of, ranges of files by their paths, '' for the next of its own bytes. */
export interface MadeFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly parts?: readonly (readonly [path: string, offset: number, length: number])[];
}

export type CallResult =
  | {readonly files: MadeFile[]}
  | {readonly error: Diagnostic};

export const entriesOf = (files: readonly MadeFile[]): [string, Uint8Array<ArrayBuffer>][] => files.map(({name, bytes}) => [name, bytes]);

/** The path as the compiler has it (onnx::normal_path): './w.bin', 'x/../w.bin' and 'w.bin' are one. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split(/[/\\]/)) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Files of weights by their paths from the model. */
export type NamedFile = readonly [name: string, bytes: Uint8Array | Blob];

/** Words of an Answer, of the files or the diagnostic. */
export type Entries = readonly (readonly [name: string, bytes: Uint8Array<ArrayBuffer>])[];

/** What every instance exports; recorder.ts knows more. */
export interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  gs_alloc(size: number): number;
  gs_free(address: number): void;
  gs_release(answer: number): void;
  gs_compile(model: number, size: number, options: number, optionsSize: number, files: number, count: number): number;
}

/** A shader that is compiled before the rest of its package, as the run time has it. */
export type CompiledKernel = Kernel;

/** A part of the work is done, or a kernel is there. */
export type Progress = (step: string, fraction: number, kernel?: CompiledKernel) => void;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** compiler.wasm in a memory of its own, on the calling thread. After a trap it is of no more use. */
export class Instance {
  readonly exports: Exports;
  readonly #said: () => string;
  progress: Progress = () => undefined;

  private constructor(exports: Exports, said: () => string) {
    this.exports = exports;
    this.#said = said;
  }

  static async create(module: WebAssembly.Module): Promise<Instance> {
    const wasi = makeWasi(module);
    const progress = (address: number, size: number, fraction: number): void =>
      made.progress(decoder.decode(made.read(address, size)), fraction);
    const kernel = (address: number, size: number): void =>
      made.progress('kernel', 0, JSON.parse(decoder.decode(made.read(address, size))) as CompiledKernel);
    const {exports} = await WebAssembly.instantiate(module, {
      wasi_snapshot_preview1: wasi.imports,
      gossamer: {progress, kernel},
    });
    const made = new Instance(exports as unknown as Exports, () => wasi.errorText());
    wasi.attach(made.exports.memory);
    made.exports._initialize();
    return made;
  }

  /** Bytes that its memory takes. */
  get size(): number {
    return this.exports.memory.buffer.byteLength;
  }

  read(address: number, size: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.exports.memory.buffer, address, size).slice();
  }

  /** A copy in its memory, until gs_free. Throws a RangeError. */
  put(bytes: Uint8Array): number {
    const address = this.exports.gs_alloc(bytes.length) >>> 0;
    if (address === 0) throw new RangeError('out of memory');
    new Uint8Array(this.exports.memory.buffer).set(bytes, address);
    return address;
  }

  putText(text: string): [address: number, size: number] {
    const bytes = encoder.encode(text);
    return [this.put(bytes), bytes.length];
  }

  /** Takes an Answer over: its files, or throws nothing and gives the diagnostic. */
  take(answer: number): {readonly files: Entries} | {readonly error: Diagnostic} {
    const {buffer} = this.exports.memory;
    const [ok = 0, count = 0, entries = 0] = new Uint32Array(buffer, answer >>> 0, 3);
    const table = new Uint32Array(buffer, entries, 4 * count);
    const files = Array.from({length: count}, (_, at) => {
      const [name = 0, nameSize = 0, bytes = 0, size = 0] = table.subarray(4 * at, 4 * at + 4);
      return [decoder.decode(this.read(name, nameSize)), this.read(bytes, size)] as const;
    });
    this.exports.gs_release(answer);
    if (ok) return {files};
    return {error: JSON.parse(decoder.decode(files[0]?.[1])) as Diagnostic};
  }

  /** What a trap means: the compiler's own check, or no memory left. What it printed says which. */
  stopped(problem: unknown): Diagnostic {
    return {
      where: 'compiler.wasm',
      message: `the compiler stopped: ${this.#said() || String(problem)}`,
      hint: 'the model may need more memory than a page has; otherwise this is our mistake',
    };
  }
}
