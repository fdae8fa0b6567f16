/** The steps of a host program (docs/specs/host.md), read from a manifest; steps/ follows them. */
import {ANY, type Fields, type Num} from './fields.ts';
import type {DType} from './types.ts';

export type Step =
  | {readonly launch: readonly [first: number, last: number]}
  | {readonly read: number; readonly dims: number; readonly count: number}
  | {readonly plan: number}
  | {readonly copy: readonly [from: number, to: number]}
  | {readonly set: readonly (readonly [dim: number, value: Num])[]}
  | {readonly if: Num; readonly then: readonly Step[]; readonly else: readonly Step[]}
  | {
      readonly loop: Num;
      readonly dim: number;
      readonly while: number | undefined;
      readonly body: readonly Step[];
    };

const DEEPEST = 256;

/** What steps may name. */
export interface StepBounds {
  readonly dims: number;
  /** The device of each launch, and of each tensor. */
  readonly launches: readonly number[];
  readonly places: readonly number[];
  readonly planValues: number;
  readonly planSegments: number;
  readonly tensors: readonly {readonly dtype: DType}[];
}

/** A list of steps, each index in it valid. Throws 'damaged'. */
export function readSteps(parent: Fields, key: string, bounds: StepBounds, depth = 0): Step[] {
  const {dims, launches, places, planValues, planSegments, tensors} = bounds;
  if (depth > DEEPEST) parent.wrong(key, `at most ${DEEPEST} steps deep`);
  const number = (fields: Fields, name: string | number): Num =>
    fields.number(name, planValues, ANY, -ANY);
  return parent.objects(key, (step): Step => {
    const inner = (name: string): Step[] => {
      if (!step.has(name)) step.wrong(name, 'a list of steps');
      return readSteps(step, name, bounds, depth + 1);
    };
    if (step.has('launch')) {
      const part = step.list('launch', (list, at) => list.count(at, launches.length + 1), 2);
      const [first, last] = part as [number, number];
      if (last < first) step.wrong('launch', 'a part of run');
      if (new Set(launches.slice(first, last)).size > 1) {
        step.wrong('launch', 'a part of run on one device');
      }
      return {launch: [first, last]};
    }
    if (step.has('copy')) {
      const pair = step.list('copy', (list, at) => list.count(at, tensors.length), 2);
      const [from, to] = pair as [number, number];
      if (tensors[from]?.dtype !== tensors[to]?.dtype || places[from] === places[to]) {
        step.wrong('copy', 'a pair of tensors of one type on two devices');
      }
      return {copy: [from, to]};
    }
    if (step.has('read')) {
      const read = step.count('read', tensors.length);
      const count = step.count('count', dims + 1);
      if (/f/.test(tensors[read]?.dtype ?? '')) step.wrong('read', 'a tensor of integers');
      return {read, count, dims: step.count('dims', dims - count + 1)};
    }
    if (step.has('plan')) {
      return {plan: step.count('plan', planValues > 0 ? planSegments : 0)};
    }
    if (step.has('set')) {
      return {
        set: step.list('set', (list, at) => {
          const pair = list.list(at, (items) => items, 2)[0] as Fields;
          return [pair.count(0, dims), number(pair, 1)] as const;
        }),
      };
    }
    if (step.has('if')) {
      return {if: number(step, 'if'), then: inner('then'), else: inner('else')};
    }
    if (step.has('loop')) {
      return {
        loop: number(step, 'loop'),
        dim: step.count('dim', dims),
        while: step.has('while') ? step.count('while', dims) : undefined,
        body: inner('body'),
      };
    }
    return step.wrong('*', 'a step that this run time knows');
  });
}

/** The tensors that steps name themselves. */
export const tensorsOf = (steps: readonly Step[]): number[] =>
  steps.flatMap((step) => {
    if ('read' in step) return [step.read];
    if ('copy' in step) return step.copy;
    if ('if' in step) return [...tensorsOf(step.then), ...tensorsOf(step.else)];
    return 'loop' in step ? tensorsOf(step.body) : [];
  });
