/** A folder with safetensors files, of which parts are read, as an ONNX model with the weights that it was made for. */
import {type StoredType, translateSafetensors} from '../../compiler/src/safetensors.ts';
import {type Bytes, bytesOf, type Folder} from './folder.ts';
import type {Network, NetworkOptions, Told} from './network.ts';

const TYPES: readonly string[] = ['q4', 'q8', 'fp16', 'fp32'] satisfies StoredType[];

/** Throws for files that are missing, damaged or not supported. */
export async function safetensorsNetwork(folder: Folder, {dtype, ggufWasm, signal}: NetworkOptions, told: Told | undefined): Promise<Network> {
  if (dtype !== undefined && !TYPES.includes(dtype)) throw new Error(`load(): ${folder.where} has no ONNX file with weights in ${dtype}; those of its safetensors files can be ${TYPES.join(', ')}`);
  const text = async (name: string): Promise<string | undefined> => {
    const bytes = await folder.read(name);
    return bytes && new TextDecoder().decode(await bytesOf(bytes));
  };
  const {model, made, used, sources} = await translateSafetensors({text, part: folder.part}, {
    dtype: dtype as StoredType | undefined, wasm: ggufWasm, signal,
    // From the disk nothing is downloaded.
    onProgress: folder.names ? undefined : told,
  });
  if (made.size > 0 && dtype !== 'fp16') return {sources, model, externalData: made};
  // The others are used as they are.
  const whole = await Promise.all(used.map(async (name) => [name, (await folder.read(name, told)) as Bytes] as const));
  return {sources, model, externalData: new Map([...whole, ...made])};
}
