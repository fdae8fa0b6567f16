/** State as a file; what reads and writes it is fetched when it is first used. */
import type * as Format from './safetensors_file.ts';
import type {Tensor} from './tensor.ts';

const format = (): Promise<typeof Format> => import('./safetensors_file.ts');

/** A file of these tensors, computed in one program. */
export async function saveSafetensors(state: Readonly<Record<string, Tensor>>): Promise<Uint8Array> {
  return (await format()).saveSafetensors(state);
}

/** The tensors of a file by name; bf16 becomes f32. Rejects with 'damaged' for one that is cut or was changed. */
export async function loadSafetensors(file: Uint8Array | ArrayBuffer): Promise<Record<string, Tensor>> {
  return (await format()).loadSafetensors(file);
}
