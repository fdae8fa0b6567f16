import type {ComputeDevice} from '../tensors/tensors.ts';
import type {DeviceKind} from '../values/types.ts';

export interface DeviceOptions {
  /** For wasm. Default: up to 4 in cross-origin isolated pages, else 1. */
  readonly threads?: number | undefined;
}

/**
 * A device for models (`load(files, {device})`) and tensors: one memory and its threads on wasm, else the page's own of a
 * kind, or a GPUDevice of the caller's. Rejects with 'unsupported' where there is none.
 */
export async function openDevice(kind: DeviceKind | GPUDevice, {threads}: DeviceOptions = {}): Promise<ComputeDevice> {
  return (await import('../tensors/tensors.ts')).open(kind, threads);
}
