/** Gradients kept small, and penalties on parameters. */
import {traced} from '../tracing.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';

const graded = (params: Iterable<Tensor>): Tensor[] => [...params].filter(({grad}) => grad);

/** Scales all gradients so that the norm of them together is at most `most`; returns what it was. */
export function clipGradNorm(params: Iterable<Tensor>, most: number, p = 2): Tensor {
  const all = graded(params);
  if (all.length === 0) throw wrong('clipGradNorm: no parameter has a gradient');
  return traced(false, () => {
    const norms = all.map(({grad}) => (grad as Tensor).norm(p));
    const total = Tensor.stack(norms).norm(p);
    const factor = total.add(1e-6).reciprocal().mul(most).clamp(null, 1);
    for (const each of all) each.grad = (each.grad as Tensor).mul(factor);
    return total;
  });
}

/** Cuts each element of all gradients off at +-most. */
export function clipGradValue(params: Iterable<Tensor>, most: number): void {
  traced(false, () => graded(params).forEach((each) => (each.grad = (each.grad as Tensor).clamp(-most, most))));
}

const sum = (terms: readonly Tensor[]): Tensor => {
  const [first, ...rest] = terms;
  if (!first) throw wrong('regularisation: there are no parameters');
  return rest.reduce((all, each) => all.add(each), first);
};

/** What is added to a loss: `factor` times the sum of a measure of each parameter. */
abstract class Regularization {
  readonly #params: readonly Tensor[];
  readonly factor: number;
  constructor(params: Iterable<Tensor>, factor: number) {
    this.#params = [...params];
    this.factor = factor;
  }
  protected abstract measure(each: Tensor): Tensor;
  forward(): Tensor {
    return sum(this.#params.map((each) => this.measure(each))).mul(this.factor);
  }
}

/** `factor` times the sum of absolute values; to be added to a loss. */
export class L1Regularization extends Regularization {
  protected measure(each: Tensor): Tensor {
    return each.abs().sum();
  }
}

/** `factor` times the sum of squares; to be added to a loss. */
export class L2Regularization extends Regularization {
  protected measure(each: Tensor): Tensor {
    return each.sumSquare();
  }
}
