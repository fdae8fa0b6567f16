/**
 * Language models in folders with safetensors files: as ONNX models whose weights are ranges of a file that is made of them. Fetched where a
 * folder is one.
 */
import {packageFile} from '../../runtime/src/devices/wasm/package_file.ts';
import {CompileError, type Exports, Instance} from './call.ts';
import {getModule, type WasmSource} from './module.ts';

/** What gguf.wasm exports for such folders. */
interface SafetensorsExports extends Exports {
  gs_safetensors_files(index: number, size: number): number;
  gs_safetensors(call: number, callSize: number, headers: number, headersSize: number): number;
  gs_convert(from: number, numbers: number, size: number, into: number, to: number): number;
}

/** How matrices are stored: in blocks of 32 numbers with 4 or 8 bits, in 16 bits, or as they are in the files. */
export type StoredType = 'q4' | 'q8' | 'fp16' | 'fp32';

/** Files of which parts are read. */
export interface PartialFiles {
  /** A text. Undefined: there is no such file. */
  readonly text: (name: string) => Promise<string | undefined>;
  /** `length` bytes from `offset` on, fewer at the file's end, and how many it has. Undefined: there is no such file. */
  readonly part: (name: string, offset: number, length: number) => Promise<{readonly bytes: Uint8Array; readonly size: number} | undefined>;
}

export interface SafetensorsOptions {
  readonly dtype?: StoredType | undefined;
  /** gguf.wasm, or where it is. Default: next to this script. */
  readonly wasm?: WasmSource | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with bytes that were read and converted. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface SafetensorsModel {
  readonly model: Uint8Array<ArrayBuffer>;
  /** Files that its weights are in, by their names in the model: one that was made, or those of the folder, which are not read here. */
  readonly made: ReadonlyMap<string, Blob>;
  readonly used: readonly string[];
  /** All files that it depends on. */
  readonly sources: readonly string[];
}

const ONLY_FILE = 'model.safetensors';
const INDEX_FILE = 'model.safetensors.index.json';
const LENGTH_BYTES = 8;
const LONGEST_HEADER = 100_000_000;
/** Read and converted at a time; whole blocks of each type. */
const PIECE = 16 * 2 ** 20;
/** Bytes of a number in files and, as a fraction, in the forms that src/safetensors/convert.h lists in this order. */
const FORM_BYTES = [4, 2, 2, 18 / 32, 34 / 32];

type Conversion = readonly [tensor: string, file: string, offset: number, length: number, from: number, into: number, madeOffset: number, madeLength: number];

interface Plan {
  readonly made: string;
  readonly bytes: number;
  readonly conversions: readonly Conversion[];
}

const failed = (where: string, message: string, hint: string): CompileError => new CompileError({where, message, hint});

class Reader {
  readonly #instance: Instance;
  readonly #files: PartialFiles;

  constructor(instance: Instance, files: PartialFiles) {
    this.#instance = instance;
    this.#files = files;
  }

  get #exports(): SafetensorsExports {
    return this.#instance.exports as SafetensorsExports;
  }

  #taken(answer: number): Map<string, Uint8Array<ArrayBuffer>> {
    const made = this.#instance.take(answer);
    if ('error' in made) throw new CompileError(made.error);
    return new Map(made.files);
  }

  /** The files of an index; undefined: there is one file alone. */
  async listed(): Promise<readonly string[] | undefined> {
    const index = await this.#files.text(INDEX_FILE);
    if (index === undefined) return undefined;
    const files = this.#taken(this.#exports.gs_safetensors_files(...this.#instance.putText(index)));
    return JSON.parse(new TextDecoder().decode(files.get('files'))) as string[];
  }

  async #header(name: string, count: number): Promise<{readonly bytes: Uint8Array; readonly size: number}> {
    // Most headers fit.
    const first = await this.#files.part(name, 0, 2 ** 16);
    if (!first) throw failed('', count > 1 ? `lacks ${name}, one of the ${count} files that ${INDEX_FILE} lists` : `lacks ${name}`, 'download it, too');
    const {bytes, size} = first;
    if (bytes.length < LENGTH_BYTES) return first;
    const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
    // What is no header is an error of the translation.
    if (length + LENGTH_BYTES <= bytes.length || length > Math.min(size, LONGEST_HEADER)) return first;
    return {size, bytes: (await this.#files.part(name, 0, length + LENGTH_BYTES))?.bytes ?? bytes};
  }

  async translate(names: readonly string[], dtype: string): Promise<{readonly model: Uint8Array<ArrayBuffer>; readonly plan: Plan}> {
    const config = (await this.#files.text('config.json')) ?? '';
    const headers = await Promise.all(names.map((name) => this.#header(name, names.length)));
    const all = new Uint8Array(headers.reduce((sum, {bytes}) => sum + bytes.length, 0));
    let at = 0;
    for (const {bytes} of headers) {
      all.set(bytes, at);
      at += bytes.length;
    }
    const files = headers.map(({bytes, size}, place) => ({name: names[place], length: bytes.length, size}));
    const call = this.#instance.putText(JSON.stringify({config, dtype, files}));
    const made = this.#taken(this.#exports.gs_safetensors(...call, this.#instance.put(all), all.length));
    return {model: made.get('model.onnx') as Uint8Array<ArrayBuffer>, plan: JSON.parse(new TextDecoder().decode(made.get('plan'))) as Plan};
  }

  /** The file that is made, by pieces: neither form is in memory as a whole where Blobs are on the disk. */
  async converted({conversions, bytes}: Plan, {signal, onProgress}: SafetensorsOptions): Promise<Blob> {
    const [input, output] = [this.#exports.gs_alloc(PIECE), this.#exports.gs_alloc(PIECE)];
    const total = conversions.reduce((sum, [, , , length]) => sum + length, 0);
    const parts: BlobPart[] = [];
    let [done, end] = [0, 0];
    for (const [tensor, file, offset, length, from, into, madeOffset] of conversions) {
      if (madeOffset > end) parts.push(new Uint8Array(madeOffset - end));
      end = madeOffset;
      const [read, written] = [FORM_BYTES[from] as number, FORM_BYTES[into] as number];
      const pieces: BlobPart[] = [];
      for (let at = 0; at < length; at += PIECE) {
        signal?.throwIfAborted();
        const size = Math.min(PIECE, length - at);
        const numbers = (await this.#files.part(file, offset + at, size))?.bytes;
        if (numbers?.length !== size) throw failed(file, 'changed or ended while it was read', 'download it again');
        new Uint8Array(this.#exports.memory.buffer).set(numbers, input);
        const {error} = this.#instance.take(this.#exports.gs_convert(from, input, size, into, output)) as {error?: {message: string; hint: string}};
        if (error) throw failed(`tensor "${tensor}" of ${file}`, error.message, error.hint);
        const made = Math.round((size / read) * written);
        pieces.push(this.#instance.read(output, made));
        end += made;
        onProgress?.((done += size), total);
      }
      parts.push(new Blob(pieces));
    }
    const blob = new Blob(parts);
    if (blob.size !== bytes) throw failed('', `weights of ${bytes} bytes became ${blob.size}`, 'this is a mistake of ours: report it');
    return blob;
  }
}

/** Throws a CompileError for files that are missing, damaged or not supported. */
export async function translateSafetensors(files: PartialFiles, options: SafetensorsOptions = {}): Promise<SafetensorsModel> {
  const {dtype = 'q4', wasm} = options;
  const reader = new Reader(await Instance.create(await getModule(wasm ?? (await packageFile(new URL('./gguf.wasm', import.meta.url))).href)), files);
  const listed = await reader.listed();
  const names = listed ?? [ONLY_FILE];
  const {model, plan} = await reader.translate(names, dtype);
  const made = new Map(plan.bytes > 0 ? [[plan.made, await reader.converted(plan, options)] as const] : []);
  return {model, made, used: names, sources: ['config.json', ...(listed ? [INDEX_FILE] : []), ...names]};
}
