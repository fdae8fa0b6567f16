/** A GGUF file as a folder: of an ONNX file whose weights are in the file, and the texts that it has. */
import {FIRST_BYTES, translate} from '../../compiler/src/gguf.ts';
import type {Folder} from './folder.ts';
import type {LoadOptions} from './language_model.ts';

/** `folder`: of the file `name`, of which only the beginning is read. Throws where that is damaged, or of an architecture that is not known. */
export async function ggufFolder(folder: Folder, name: string, {file, dtype, ggufWasm}: LoadOptions): Promise<Folder> {
  if (file !== undefined || dtype !== undefined) throw new Error('load(): a GGUF file has one network, whose weights are as they are: leave out `file` and `dtype`');
  const first = await folder.part(name, 0, FIRST_BYTES);
  if (!first) throw new Error(`load(): ${folder.where} has no file ${name}`);
  const read = async (length: number): Promise<Uint8Array> => (length <= first.bytes.length ? first.bytes : ((await folder.part(name, 0, length)) ?? first).bytes).subarray(0, length);
  const files = await translate({size: first.size, read}, name, {texts: true, wasm: ggufWasm});
  return {
    where: `${folder.where} ${name}`,
    names: [...files.keys(), name],
    address: undefined,
    read: (each, told) => (each === name ? folder.read(name, told) : Promise.resolve(files.get(each))),
    part: () => Promise.resolve(undefined),
    // All of them are in the one file.
    stamp: () => folder.stamp(name),
  };
}
