/** One compilation in a fresh instance of compiler.wasm, on the calling thread. */
import {makeWasi} from './wasi.ts';

/** As src/base/result.h has it. */
export interface Diagnostic {
  readonly where: string;
  readonly message: string;
  readonly hint: string;
}

/** The options as entry.cc reads them. */
export interface NativeOptions {
  readonly target: string;
  readonly name?: string;
  readonly relaxed_simd?: boolean;
  readonly f16?: boolean;
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  readonly dims?: Readonly<Record<string, number>>;
  readonly lengths?: Readonly<Record<string, number>>;
}

export type CallResult =
  | {readonly files: [name: string, bytes: Uint8Array<ArrayBuffer>][]}
  | {readonly error: Diagnostic};

/** Files of weights by their paths from the model. */
export type NamedFile = readonly [name: string, bytes: Uint8Array | Blob];

interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  gs_alloc(size: number): number;
  gs_compile(model: number, size: number, options: number, optionsSize: number, files: number, count: number): number;
}

export async function callCompiler(
  module: WebAssembly.Module,
  model: Uint8Array,
  options: NativeOptions,
  external: readonly NamedFile[],
  progress: (step: string, fraction: number) => void,
): Promise<CallResult> {
  const wasi = makeWasi(module);
  const text = new TextDecoder();
  const instance = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: wasi.imports,
    gossamer: {
      progress: (address: number, size: number, fraction: number) =>
        progress(text.decode(read(address, size)), fraction),
    },
  });
  const exports = instance.exports as unknown as Exports;
  const read = (address: number, size: number): Uint8Array<ArrayBuffer> =>
    new Uint8Array(exports.memory.buffer, address, size).slice();
  wasi.attach(exports.memory);
  const put = (bytes: Uint8Array): number => {
    const address = exports.gs_alloc(bytes.length) >>> 0;
    if (address === 0) throw new RangeError('out of memory');
    new Uint8Array(exports.memory.buffer).set(bytes, address);
    return address;
  };
  try {
    exports._initialize();
    const json = new TextEncoder().encode(JSON.stringify(options));
    const given: number[] = [];
    for (const [name, file] of external) {
      const path = new TextEncoder().encode(name);
      const bytes = file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer());
      given.push(put(path), path.length, put(bytes), bytes.length);
    }
    const list = put(new Uint8Array(Uint32Array.from(given).buffer));
    const answer =
      exports.gs_compile(put(model), model.length, put(json), json.length, list, external.length) >>> 0;
    const [ok = 0, count = 0, entries = 0] = new Uint32Array(exports.memory.buffer, answer, 3);
    const table = new Uint32Array(exports.memory.buffer, entries, 4 * count);
    const files = Array.from({length: count}, (_, at): [string, Uint8Array<ArrayBuffer>] => {
      const [name = 0, nameSize = 0, bytes = 0, size = 0] = table.subarray(4 * at, 4 * at + 4);
      return [text.decode(read(name, nameSize)), read(bytes, size)];
    });
    if (ok) return {files};
    return {error: JSON.parse(text.decode(files[0]?.[1])) as Diagnostic};
  } catch (problem) {
    // A trap: the compiler's own check, or no memory left. What it printed says which.
    const said = wasi.errorText() || String(problem);
    return {
      error: {
        where: 'compiler.wasm',
        message: `the compiler stopped: ${said}`,
        hint: 'the model may need more memory than a page has; otherwise this is our mistake',
      },
    };
  }
}
