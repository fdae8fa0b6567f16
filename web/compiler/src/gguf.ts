/** Language models in GGUF files: as ONNX models whose weights stay where they are, and the texts in them. Fetched where a file is one. */
import {packageFile} from '../../runtime/src/wasm/package_file.ts';
import {CompileError, type Exports, Instance} from './call.ts';
import {getModule, type WasmSource} from './module.ts';

/** What gguf.wasm exports. */
interface GgufExports extends Exports {
  gs_gguf(bytes: number, bytesSize: number, size: number, location: number, locationSize: number, texts: number): number;
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

function beginningOf(file: Uint8Array | Blob | Beginning): Beginning {
  if (file instanceof Uint8Array) return {size: file.length, read: (length) => Promise.resolve(file.subarray(0, length))};
  return file instanceof Blob ? {size: file.size, read: async (length) => new Uint8Array(await file.slice(0, length).arrayBuffer())} : file;
}

/**
 * Files by their names: 'model.onnx', an ONNX model whose weights are ranges of the file `location`, and with `texts` what a folder of
 * Hugging Face's form has besides. `wasm`: gguf.wasm, or where it is; by default beside this script. Throws a CompileError.
 */
export async function translate(
  file: Uint8Array | Blob | Beginning, location: string, {texts = false, wasm}: {readonly texts?: boolean; readonly wasm?: WasmSource | undefined} = {},
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const module = await getModule(wasm ?? (await packageFile(new URL('./gguf.wasm', import.meta.url))).href);
  const {size, read} = beginningOf(file);
  for (let length = Math.min(size, FIRST_BYTES); ; length = Math.min(size, 4 * length)) {
    const instance = await Instance.create(module);
    const exports = instance.exports as GgufExports;
    const bytes = await read(length);
    const made = instance.take(exports.gs_gguf(instance.put(bytes), bytes.length, size, ...instance.putText(location), Number(texts)));
    if ('files' in made) return new Map(made.files);
    // The header may be longer.
    if (length === size || length >= MOST_BYTES) throw new CompileError(made.error);
  }
}
