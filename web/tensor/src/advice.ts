/** What the page can do when a device is lost or full; fetched when one is. */
import {GossamerError} from '../../runtime/src/values/types.ts';

const ADVICE: Readonly<Record<string, string>> = {
  lost: 'what was uploaded is still there: compute it again, here or with toDevice(\'cpu\'); what was computed is gone: give modules a saved state (loadStateDict), and make optimizers anew',
  'out-of-memory': 'dispose() of tensors, take smaller batches or checkpoint(), or compute elsewhere (toDevice(\'cpu\')); what this program was to compute is gone',
};

/** Throws a device's error, with its advice. */
export function advised(problem: unknown): never {
  const hint = problem instanceof GossamerError && !problem.message.includes('toDevice') && ADVICE[problem.code];
  throw hint ? new GossamerError(problem.code, `${problem.message} (${hint})`, {cause: problem}) : problem;
}
