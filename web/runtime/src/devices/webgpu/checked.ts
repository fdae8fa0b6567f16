import {GossamerError} from '../../values/types.ts';
import type {Gpu} from './adapter.ts';

/** The device for use now. Throws 'lost' after a loss. */
export function alive({device, life}: Gpu): GPUDevice {
  life.check();
  return device;
}

/** Runs `work` at once and rejects with what the device complained about meanwhile. */
export async function checked<T>(gpu: Gpu, what: string, work: () => T): Promise<T> {
  const device = alive(gpu);
  device.pushErrorScope('internal');
  device.pushErrorScope('out-of-memory');
  device.pushErrorScope('validation');
  let result: T;
  let scopes: Promise<(GPUError | null)[]>;
  try {
    result = work();
  } finally {
    scopes = Promise.all([0, 1, 2].map(() => device.popErrorScope()));
    scopes.catch(() => undefined);
  }
  const [validation, memory, internal] = await gpu.life.guard(scopes);
  gpu.life.check();
  if (memory) throw new GossamerError('out-of-memory', `${what}: ${memory.message}`);
  const problem = validation ?? internal;
  if (problem) throw new GossamerError('kernel', `${what}: ${problem.message}`);
  return result;
}

/** The same; when it fails, each part is tried alone to find and name the one that is to blame. */
export async function checkedParts<Part extends {readonly name: string}, T>(
  gpu: Gpu,
  what: string,
  parts: readonly Part[],
  work: (parts: readonly Part[]) => T,
): Promise<T> {
  try {
    return await checked(gpu, what, () => work(parts));
  } catch (problem) {
    if (!(problem instanceof GossamerError) || problem.code !== 'kernel') throw problem;
    for (const part of parts) await checked(gpu, part.name, () => work([part]));
    throw problem;
  }
}
