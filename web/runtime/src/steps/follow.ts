/** Following the steps of a host program (docs/specs/host.md). */
import type {Num} from '../package/fields.ts';
import type {Step} from '../package/manifest_table.ts';
import {SAFE} from '../values/types.ts';

/** Variables are exact integers. */
const clampSafe = (value: number): number =>
  Math.max(-SAFE, Math.min(SAFE, Math.trunc(value)));

/** What steps do to memory and devices. */
export interface StepHost {
  /** The number's value now. */
  number(number: Num): number;
  launch(first: number, last: number): Promise<void>;
  /** The first elements of a tensor, when everything before is done. */
  read(tensor: number, count: number): Promise<number[]>;
  plan(segment: number): Promise<void>;
  /** A tensor to the other device. */
  copy(from: number, to: number): Promise<void>;
  /** Before each round of a loop: where a run may be ended. */
  pause(): Promise<void>;
}

/** Follows the steps; `dims` are the variables. */
export async function runSteps(
  steps: readonly Step[],
  dims: number[],
  host: StepHost,
): Promise<void> {
  for (const step of steps) {
    if ('launch' in step) {
      await host.launch(...step.launch);
    } else if ('read' in step) {
      const values = await host.read(step.read, step.count);
      values.forEach((value, at) => (dims[step.dims + at] = clampSafe(value)));
    } else if ('plan' in step) {
      await host.plan(step.plan);
    } else if ('copy' in step) {
      await host.copy(...step.copy);
    } else if ('set' in step) {
      const values = step.set.map(([, value]) => host.number(value));
      step.set.forEach(([dim], at) => (dims[dim] = values[at] ?? 0));
    } else if ('if' in step) {
      await runSteps(host.number(step.if) !== 0 ? step.then : step.else, dims, host);
    } else {
      const rounds = host.number(step.loop);
      dims[step.dim] = 0;
      for (let round = 0; round < rounds; dims[step.dim] = ++round) {
        if (step.while !== undefined && dims[step.while] === 0) break;
        await host.pause();
        await runSteps(step.body, dims, host);
      }
    }
  }
}
