/** Which package of several a browser takes, and why not the others. */
import type {Device, Fallback} from './device.ts';
import {type DeviceKind, GossamerError, messageOf} from '../values/types.ts';

/** In order of preference. */
export const KINDS: readonly DeviceKind[] = ['webgpu', 'webgl', 'wasm'];

/**
 * Opens a backend, or one on the caller's own GPUDevice; its code is fetched only now. `relaxed`: for wasm, there may be
 * kernels with relaxed SIMD, too.
 */
export async function openBackend(
  kind: DeviceKind | GPUDevice,
  threads: number | undefined,
  relaxed = true,
): Promise<Device> {
  if (kind === 'webgl') return (await import('./webgl/device.ts')).open();
  if (kind === 'wasm') return (await import('./wasm/device.ts')).open(threads, relaxed);
  return (await import('./webgpu/device.ts')).open(kind === 'webgpu' ? undefined : kind);
}

/** Whether an error says that another backend may still do. */
function another(problem: unknown): boolean {
  return (
    problem instanceof GossamerError &&
    ['unsupported', 'kernel', 'out-of-memory', 'lost'].includes(problem.code)
  );
}

export interface Choice<T> {
  readonly result: T;
  /** The better ones that did not work. */
  readonly passed: readonly Fallback[];
}

/**
 * The first of `kinds` for which `attempt` succeeds. Damaged or missing files are errors at once; what
 * the browser lacks leads on to the next, unless it is the last.
 */
export async function firstThatWorks<T>(
  kinds: readonly DeviceKind[],
  attempt: (kind: DeviceKind) => Promise<T>,
): Promise<Choice<T>> {
  const passed: Fallback[] = [];
  for (const kind of kinds) {
    try {
      return {result: await attempt(kind), passed};
    } catch (problem) {
      if (!another(problem)) throw problem;
      if (kinds.length === 1) throw problem;
      passed.push({what: `not ${kind}`, reason: messageOf(problem)});
    }
  }
  const reasons = passed.map(({what, reason}) => `${what.slice(4)}: ${reason}`);
  throw new GossamerError('unsupported', `nothing here can run this model. ${reasons.join('; ')}`);
}
