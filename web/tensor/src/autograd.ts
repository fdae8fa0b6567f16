/** Gradients as functions. */
import type {Core} from './core.ts';
import type {Origin} from './origin.ts';
import {optionsOf} from './options.ts';
import {wrong} from './shape.ts';
import {Tensor} from './tensor.ts';

export interface GradOptions {
  /** The gradient of what is computed from y, in its shape; needed unless y is a single number. */
  readonly seed?: Tensor | undefined;
  /** Gradients may be asked of the gradients. */
  readonly createGraph?: boolean | undefined;
}

/** The gradients of y (summed up with `seed`) with respect to tensors that it was computed from, which need not be leaves. */
export function grad(y: Tensor, xs: Tensor, options?: GradOptions): Tensor;
export function grad(y: Tensor, xs: readonly Tensor[], options?: GradOptions): Tensor[];
export function grad(y: Tensor, xs: Tensor | readonly Tensor[], options?: GradOptions): Tensor | Tensor[] {
  const {seed, createGraph} = optionsOf('grad', {seed: undefined as Tensor | undefined, createGraph: false}, [options]);
  if (!y.origin) throw wrong('grad: nothing that y was computed from requires a gradient');
  const list = xs instanceof Tensor ? [xs] : xs;
  const places = list.map((x): Origin<Core> => {
    if (!x.origin) throw wrong(`grad: a tensor of shape [${x.shape.join(', ')}] does not require a gradient`);
    return x.origin;
  });
  const made = y.gradients(places, seed, createGraph);
  return xs instanceof Tensor ? (made[0] as Tensor) : made;
}

/** The gradient of a function of one tensor to a single number by differences, for tests: 2 programs run an element. */
export async function numericalGradient(compute: (x: Tensor) => Tensor, x: Tensor, epsilon = 1e-3): Promise<Tensor> {
  const {differences} = await import('./differences.ts');
  return differences(Tensor, compute, x, epsilon);
}
