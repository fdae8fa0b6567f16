/** A GGUF file as a folder: of an ONNX file whose weights are in the file, and the texts that it has. */
import {translate} from '../../compiler/src/gguf.ts';
import type {Folder} from './folder.ts';
import type {LoadOptions} from './language_model.ts';

/** `folder`: of the file `name`. Throws where it is damaged, or of an architecture that is not known. */
export async function ggufFolder(folder: Folder, name: string, {onProgress, ggufWasm}: LoadOptions): Promise<Folder> {
  const file = await folder.read(name, onProgress && ((done, total) => onProgress({stage: 'download', done, total})));
  if (!file) throw new Error(`load(): ${folder.where} has no file ${name}`);
  const files = new Map<string, Uint8Array | Blob>([...(await translate(file, name, {texts: true, wasm: ggufWasm})), [name, file]]);
  return {
    where: `${folder.where} ${name}`,
    names: [...files.keys()],
    address: undefined,
    read: (each) => Promise.resolve(files.get(each)),
    // All of them are in the one file.
    stamp: () => folder.stamp(name),
  };
}
