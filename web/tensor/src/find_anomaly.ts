/** What detectAnomaly() has found, where something was watched. */
import {GossamerError, type TensorData} from '../../runtime/src/values/types.ts';
import type {Anomaly} from './anomaly.ts';

/** Throws for the first operation whose flag is set. */
export function findAnomaly(watched: readonly Anomaly[], flags: readonly TensorData[]): void {
  const at = flags.findIndex((data) => Number(data[0]) !== 0);
  if (at < 0) return;
  const {where, what} = watched[at] as Anomaly;
  const problem = new GossamerError('input', what, {cause: where});
  problem.stack = `${problem.name}: ${what}\n${(where.stack ?? '').split('\n').slice(1).join('\n')}`;
  throw problem;
}
