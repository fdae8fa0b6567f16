import type {Step} from '../package/manifest_table.ts';

/** The tensors that steps name themselves. */
export const tensorsOf = (steps: readonly Step[]): number[] =>
  steps.flatMap((step) => {
    if ('read' in step) return [step.read];
    if ('copy' in step) return step.copy;
    if ('if' in step) return [...tensorsOf(step.then), ...tensorsOf(step.else)];
    return 'loop' in step ? tensorsOf(step.body) : [];
  });
