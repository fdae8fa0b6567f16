/** What the tests in pages say and share. */
import {GossamerError, tensor} from '../../runtime/src/index.ts';

export function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

export function same(found: unknown, wanted: unknown, what: string): void {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_key, each: unknown) =>
      typeof each === 'bigint'
        ? `${each}n`
        : ArrayBuffer.isView(each)
          ? Array.from(each as Float32Array)
          : each,
    );
  check(text(found) === text(wanted), `${what}: ${text(found)}, wanted ${text(wanted)}`);
}

export async function rejects(promise: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  try {
    await promise;
  } catch (problem) {
    if (problem instanceof GossamerError && problem.code === code && message.test(problem.message)) {
      return;
    }
    throw problem;
  }
  throw new Error(`nothing was thrown; wanted ${code}: ${message}`);
}

/** Feeds of the tiny package: x, and k. */
export const ramp = (n: number) => tensor(Float32Array.from({length: n}, (_, at) => at), [1, n]);
export const k = tensor(BigInt64Array.of(1n, -8n));
