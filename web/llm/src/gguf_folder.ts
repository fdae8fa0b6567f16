/** A GGUF file, or several that are one model, as a folder: of an ONNX file whose weights are in them, and the texts that they have. */
import {type Beginning, FIRST_BYTES, translate} from '../../compiler/src/gguf.ts';
import type {Folder} from './folder.ts';
import type {LoadOptions} from './language_model.ts';

async function beginningOf(folder: Folder, name: string, length: number): Promise<Beginning | undefined> {
  const first = await folder.part(name, 0, length);
  return first && {
    size: first.size,
    read: async (more) => (more <= first.bytes.length ? first.bytes : ((await folder.part(name, 0, more)) ?? first).bytes).subarray(0, more),
  };
}

/** `folder`: of the file `name`, of which only the beginning is read. Throws where that is damaged, or of an architecture that is not known. */
export async function ggufFolder(folder: Folder, name: string, {file, dtype, ggufWasm}: LoadOptions): Promise<Folder> {
  if (file !== undefined || dtype !== undefined) throw new Error('load(): a GGUF file has one network, whose weights are as they are: leave out `file` and `dtype`');
  const first = await beginningOf(folder, name, FIRST_BYTES);
  if (!first) throw new Error(`load(): ${folder.where} has no file ${name}`);
  const others: string[] = [];
  const other = (each: string): Promise<Beginning | undefined> => {
    others.push(each);
    return beginningOf(folder, each, 2 ** 20);
  };
  const files = await translate(first, name, {texts: true, wasm: ggufWasm, other});
  return {
    where: `${folder.where} ${name}`,
    names: [...files.keys(), name, ...others],
    address: undefined,
    read: (each, told) => (each === name || others.includes(each) ? folder.read(each, told) : Promise.resolve(files.get(each))),
    part: () => Promise.resolve(undefined),
    // All texts are in the first file.
    stamp: (each) => folder.stamp(others.includes(each) ? each : name),
  };
}
