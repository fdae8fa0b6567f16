/** Operations along axes: sums, extremes, order, running values. */
import type {Core} from './core.ts';
import {isFloat} from './dtype.ts';
import {Elementwise} from './elementwise.ts';
import {constant, integers, type Attributes} from './recording.ts';
import {shapeText} from '../../runtime/src/values/types.ts';
import {axisOf, wrong} from './shape.ts';

/** One axis, some, or all of them; counted from the end where negative. */
export type Axes = number | readonly number[] | null | undefined;

export interface Ordered<T> {
  readonly values: T;
  /** Where they are along the axis; i32. */
  readonly indices: T;
}

/** As in PyTorch sums and products of bool and of integers are i64. */
const summable = <T extends Core>(x: T): T => (isFloat(x.dtype) || x.dtype === 'u64' ? x : x.cast('i64'));

function argument<T extends Reductions>(tensor: T, op: string, axis: number | null | undefined, keepDims: boolean): T {
  const all = axis === undefined || axis === null;
  const x = all ? tensor.apply('Reshape', [tensor, integers([-1])]) : tensor;
  const at = all ? 0 : axisOf(axis, tensor.ndim, op);
  tensor.wantElements(op === 'ArgMax' ? 'argmax' : 'argmin', axis);
  return x.apply(op, [x], {axis: at, keepdims: Number(keepDims && !all)}).cast('i32');
}

const along = <T extends Core>(x: T, op: string, axis: number): T => x.apply(op, [x], {axis: axisOf(axis, x.ndim, op)});

function running<T extends Core>(tensor: T, op: string, axis: number): T {
  const x = summable(tensor);
  return x.apply(op, [x, constant('i64', [], [axisOf(axis, x.ndim, op)])]);
}

export class Reductions extends Elementwise {
  protected axisList(axes: Axes, what: string): number[] {
    const list = axes === undefined || axes === null ? [] : typeof axes === 'number' ? [axes] : [...axes];
    return list.length > 0 ? list.map((axis) => axisOf(axis, this.ndim, what)) : this.shape.map((_, axis) => axis);
  }

  /** @internal Throws 'input' where there is no element to choose from. */
  wantElements(what: string, axes: Axes): void {
    if (this.size > 0) return;
    const empty = this.axisList(axes, what).find((axis) => this.shape[axis] === 0);
    if (empty !== undefined) throw wrong(`${what}: axis ${empty} of shape ${shapeText(this.shape)} is empty; it must have an element`);
  }

  protected extreme(op: string, what: string, axes: Axes, keepDims: boolean): this {
    this.wantElements(what, axes);
    return this.reduce(op, axes, keepDims);
  }

  /** How many elements join to one. */
  protected reduced(axes: Axes, what: string): number {
    return this.axisList(axes, what).reduce((all, axis) => all * (this.shape[axis] ?? 1), 1);
  }

  protected reduce(op: string, axes: Axes, keepDims: boolean): this {
    const list = axes === undefined || axes === null || this.ndim === 0 ? null : integers(this.axisList(axes, op));
    return this.apply(op, list ? [this, list] : [this], {keepdims: Number(keepDims)});
  }

  sum(axes?: Axes, keepDims = false): this { return summable(this).reduce('ReduceSum', axes, keepDims); }
  prod(axes?: Axes, keepDims = false): this { return summable(this).reduce('ReduceProd', axes, keepDims); }
  /** Throws 'input' for integers. */
  mean(axes?: Axes, keepDims = false): this {
    this.wantFloats('mean');
    return this.reduce('ReduceMean', axes, keepDims);
  }
  /** The largest elements; where they are says argmax(). */
  max(axes?: Axes, keepDims = false): this { return this.extreme('ReduceMax', 'max', axes, keepDims); }
  min(axes?: Axes, keepDims = false): this { return this.extreme('ReduceMin', 'min', axes, keepDims); }
  amax(axes?: Axes, keepDims = false): this { return this.max(axes, keepDims); }
  amin(axes?: Axes, keepDims = false): this { return this.min(axes, keepDims); }
  any(axes?: Axes, keepDims = false): this { return this.cast('bool').reduce('ReduceMax', axes, keepDims); }
  all(axes?: Axes, keepDims = false): this { return this.cast('bool').reduce('ReduceMin', axes, keepDims); }
  logsumexp(axes?: Axes, keepDims = false): this { return this.floating().reduce('ReduceLogSumExp', axes, keepDims); }

  /** The mean square deviation, over n - correction. */
  var(axes?: Axes, {correction = 1, keepDims = false} = {}): this {
    this.wantFloats('var');
    const count = this.reduced(axes, 'var');
    const squares = this.sub(this.mean(axes ?? null, true)).square();
    return squares.sum(axes, keepDims).div(Math.max(count - correction, 0));
  }

  /** The root of var(). As a norm, its gradient where all are equal is 0. */
  std(axes?: Axes, {correction = 1, keepDims = false} = {}): this {
    const count = this.reduced(axes, 'std');
    return this.sub(this.mean(axes, true)).norm(2, axes, keepDims).div(Math.max(count - correction, 0) ** 0.5);
  }

  /** The p-norm; Infinity and -Infinity: the largest and smallest absolute value; 0: how many elements are not 0. */
  norm(p = 2, axes?: Axes, keepDims = false): this {
    const x = this.floating();
    if (p === 2) return x.reduce('ReduceL2', axes, keepDims);
    if (p === 1) return x.reduce('ReduceL1', axes, keepDims);
    if (p === Infinity) return x.abs().max(axes, keepDims);
    if (p === -Infinity) return x.abs().min(axes, keepDims);
    if (p === 0) return x.ne(0).cast(x.dtype).sum(axes, keepDims);
    // A power of 0 may have an infinite slope: gradients there are 0.
    const power = (of: this, to: number): this => of.choose(of.eq(0), 0 ** to, of.choose(of.eq(0), 1, of).pow(to));
    return power(power(x.abs(), p).sum(axes, keepDims), 1 / p);
  }

  /** Where the largest element lies along an axis, the first one of equals, or among all; i32. */
  argmax(axis?: number | null, keepDims = false): this { return argument(this, 'ArgMax', axis, keepDims); }
  argmin(axis?: number | null, keepDims = false): this { return argument(this, 'ArgMin', axis, keepDims); }

  softmax(axis = -1): this { return along(this.floating(), 'Softmax', axis); }
  logSoftmax(axis = -1): this { return along(this.floating(), 'LogSoftmax', axis); }

  cumsum(axis: number): this { return running(this, 'CumSum', axis); }
  cumprod(axis: number): this { return running(this, 'CumProd', axis); }

  /** The k largest (or smallest) elements along an axis, in order, and where they are (i32). */
  topk(k: number, axis = -1, largest = true): Ordered<this> {
    const at = axisOf(axis, this.ndim, 'topk');
    if (!(k >= 0 && k <= (this.shape[at] ?? 1))) throw wrong(`topk: ${k} of ${this.shape[at] ?? 1} elements`);
    const attributes: Attributes = {axis: at, largest: Number(largest), sorted: 1};
    const [values, indices] = this.applyAll('TopK', [this, integers([k])], attributes, 2) as [this, this];
    return {values, indices: indices.cast('i32')};
  }

  sort(axis = -1, descending = false): Ordered<this> {
    return this.topk(this.shape[axisOf(axis, this.ndim, 'sort')] ?? 1, axis, descending);
  }

  argsort(axis = -1, descending = false): this { return this.sort(axis, descending).indices; }

  // TensorJS's names, and ONNX's other reductions.
  product(axes?: Axes, keepDims = false): this { return this.prod(axes, keepDims); }
  sumSquare(axes?: Axes, keepDims = false): this { return this.reduce('ReduceSumSquare', axes, keepDims); }
  reduceMean(axes?: Axes, keepDims = false): this { return this.mean(axes, keepDims); }
  reduceMeanSquare(axes?: Axes, keepDims = false): this { return this.sumSquare(axes, keepDims).div(this.reduced(axes, 'mean')); }
  reduceLogSum(axes?: Axes, keepDims = false): this { return this.floating().reduce('ReduceLogSum', axes, keepDims); }
  reduceLogSumExp(axes?: Axes, keepDims = false): this { return this.logsumexp(axes, keepDims); }
}
