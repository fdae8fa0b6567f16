/** Language models in GGUF files: as ONNX models whose weights stay where they are, and the texts in them. Fetched where a file is one. */
import {packageFile} from '../../runtime/src/devices/wasm/package_file.ts';
import {CompileError, type Diagnostic, type Exports, Instance} from './call.ts';
import {getModule, type WasmSource} from './module.ts';

/** What gguf.wasm exports. */
interface GgufExports extends Exports {
  gs_gguf(call: number, callSize: number, bytes: number, bytesSize: number): number;
}

/** A file of which only the beginning is at hand. */
export interface Beginning {
  readonly size: number;
  /** So many bytes, at most all. */
  readonly read: (length: number) => Promise<Uint8Array>;
}

/** So many bytes have the header of most files: metadata with the tokenizer, and where each tensor is. */
export const FIRST_BYTES = 16 * 2 ** 20;
const MOST_BYTES = 512 * 2 ** 20;

/** Of the other parts of a model in several files. */
const FIRST_OF_OTHERS = 2 ** 20;

function beginningOf(file: Uint8Array | Blob | Beginning): Beginning {
  if (file instanceof Uint8Array) return {size: file.length, read: (length) => Promise.resolve(file.subarray(0, length))};
  return file instanceof Blob ? {size: file.size, read: async (length) => new Uint8Array(await file.slice(0, length).arrayBuffer())} : file;
}

export interface TranslateOptions {
  /** Whether files are made of the texts in the file, too. */
  readonly texts?: boolean;
  /** gguf.wasm, or where it is. Default: next to this script. */
  readonly wasm?: WasmSource | undefined;
  /** Other files of a model in several; undefined: there is no such file. */
  readonly other?: (name: string) => Promise<Beginning | undefined>;
}

/**
 * Files by their names: 'model.onnx', an ONNX model whose weights are ranges of the file `location`, and of others if it is the first of several,
 * and with `texts` what a folder of Hugging Face's form has besides. Throws a CompileError.
 */
export async function translate(file: Uint8Array | Blob | Beginning, location: string, {texts = false, wasm, other}: TranslateOptions = {}): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const module = await getModule(wasm ?? (await packageFile(new URL('./gguf.wasm', import.meta.url))).href);
  const parts = [{name: location, ...beginningOf(file)}];
  for (let most = FIRST_BYTES; ; most *= 4) {
    const instance = await Instance.create(module);
    const exports = instance.exports as GgufExports;
    const beginnings = await Promise.all(parts.map(({size, read}, at) => read(Math.min(size, at === 0 ? most : (most / FIRST_BYTES) * FIRST_OF_OTHERS))));
    const bytes = new Uint8Array(await new Blob(beginnings as BlobPart[]).arrayBuffer());
    const files = parts.map(({name, size}, at) => ({name, size, length: (beginnings[at] as Uint8Array).length}));
    const made = instance.take(exports.gs_gguf(...instance.putText(JSON.stringify({texts, files})), instance.put(bytes), bytes.length));
    const found = 'files' in made ? new Map(made.files) : undefined;
    const names = found?.get('parts');
    if (names) {
      for (const name of (JSON.parse(new TextDecoder().decode(names)) as string[]).slice(1)) {
        const next = await other?.(name);
        if (!next) throw new CompileError({where: location, message: `the model has several parts, and ${name} is missing`, hint: 'download it into the same folder, or choose all parts together'});
        parts.push({name, ...next});
      }
      most /= 4;
      continue;
    }
    if (found) return found;
    // Headers may be longer.
    const isWhole = files.every(({size, length}) => size === length);
    if (isWhole || most >= MOST_BYTES) throw new CompileError((made as {error: Diagnostic}).error);
  }
}
