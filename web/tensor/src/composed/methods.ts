// Written by tools/composed/write.py from python/gossamer/composed/*.py: change that.
/* eslint-disable */
import {Products} from '../products.ts';
import type {Given} from '../options.ts';
import type {Axes, Ordered} from '../reductions.ts';
import type {Extremes} from './prelude.ts';
import {aliases} from './prelude.ts';
import * as elementwise from './elementwise.ts';
import * as reductions from './reductions.ts';
import * as layout from './layout.ts';

/** Methods that are compositions of others. */
export class Composed extends Products {
  /** x + value * a * b */
  addcmul(a: this, b: this, ...given: Given<{readonly value?: number | undefined}, [value?: number]>): this { return elementwise.addcmul(this, a, b, ...given) as any; }
  /** x + value * a / b */
  addcdiv(a: this, b: this, ...given: Given<{readonly value?: number | undefined}, [value?: number]>): this { return elementwise.addcdiv(this, a, b, ...given) as any; }
  /** x + weight * (end - x) */
  lerp(end: this, weight: this | number): this { return elementwise.lerp(this, end, weight) as any; }
  /** At least `min`. Where both are equal the gradient goes on to x. */
  clampMin(min: this | number): this { return elementwise.clampMin(this, min) as any; }
  /** At most `max`. Where both are equal the gradient goes on to x. */
  clampMax(max: this | number): this { return elementwise.clampMax(this, max) as any; }
  /** Itself. */
  positive(): this { return elementwise.positive(this) as any; }
  /** 2 to the power of x. */
  exp2(): this { return elementwise.exp2(this) as any; }
  /** What is behind the point, with the sign of x. */
  frac(): this { return elementwise.frac(this) as any; }
  /** sqrt(x^2 + other^2), without overflow. */
  hypot(other: this): this { return elementwise.hypot(this, other) as any; }
  /** log(exp(x) + exp(other)), without overflow. */
  logaddexp(other: this): this { return elementwise.logaddexp(this, other) as any; }
  /** log(x / (1 - x)), of x within [eps, 1 - eps]. */
  logit(...given: Given<{readonly eps?: number | null | undefined}, [eps?: number | null]>): this { return elementwise.logit(this, ...given) as any; }
  /** x * log(other), 0 where x is 0. */
  xlogy(other: this | number): this { return elementwise.xlogy(this, other) as any; }
  /** Other numbers for NaN and infinities: the largest ones of its type unless told. */
  nanToNum(...given: Given<{readonly nan?: number | undefined; readonly posinf?: number | null | undefined; readonly neginf?: number | null | undefined}, [nan?: number, posinf?: number | null, neginf?: number | null]>): this { return elementwise.nanToNum(this, ...given) as any; }
  /** Where |x - other| <= atol + rtol * |other|. */
  isclose(other: this, ...given: Given<{readonly rtol?: number | undefined; readonly atol?: number | undefined; readonly equalNan?: boolean | undefined}, [rtol?: number, atol?: number, equalNan?: boolean]>): this { return elementwise.isclose(this, other, ...given) as any; }
  /** Where elements are infinite. */
  isposinf(): this { return elementwise.isposinf(this) as any; }
  /** Where elements are minus infinity. */
  isneginf(): this { return elementwise.isneginf(this) as any; }
  /** The smallest and the largest elements. */
  aminmax(...given: Given<{readonly dim?: number | null | undefined; readonly keepdim?: boolean | undefined}, [dim?: number | null, keepdim?: boolean]>): Extremes<this> { return reductions.aminmax(this, ...given) as any; }
  /** How many elements are not 0. */
  countNonzero(...given: Given<{readonly dim?: Axes | undefined}, [dim?: Axes]>): this { return reductions.countNonzero(this, ...given) as any; }
  /** The sum of what is not NaN. */
  nansum(...given: Given<{readonly dim?: Axes | undefined; readonly keepdim?: boolean | undefined}, [dim?: Axes, keepdim?: boolean]>): this { return reductions.nansum(this, ...given) as any; }
  /** The k-th smallest element along an axis, and where it is. */
  kthvalue(k: number, ...given: Given<{readonly dim?: number | undefined; readonly keepdim?: boolean | undefined}, [dim?: number, keepdim?: boolean]>): Ordered<this> { return reductions.kthvalue(this, k, ...given) as any; }
  /** The lower one of the middle elements, NaN where there is one; along an axis with where it is. */
  median(...given: Given<{readonly dim?: number | null | undefined; readonly keepdim?: boolean | undefined}, [dim?: number | null, keepdim?: boolean]>): this | Ordered<this> { return reductions.median(this, ...given) as any; }
  /** The largest of all elements up to each place, and where it is. */
  cummax(dim: number): Ordered<this> { return reductions.cummax(this, dim) as any; }
  /** The smallest of all elements up to each place, and where it is. */
  cummin(dim: number): Ordered<this> { return reductions.cummin(this, dim) as any; }
  /** All places of an axis, each without it. */
  unbind(...given: Given<{readonly dim?: number | undefined}, [dim?: number]>): this[] { return layout.unbind(this, ...given) as any; }
  /** Two axes exchanged. */
  swapaxes(axis0: number, axis1: number): this { return layout.swapaxes(this, axis0, axis1) as any; }
  /** Axes at other places; the others keep their order. */
  movedim(source: number | readonly number[], destination: number | readonly number[]): this { return layout.movedim(this, source, destination) as any; }
  /** Transposed matrices. */
  adjoint(): this { return layout.adjoint(this) as any; }
  /** All elements along one axis. */
  ravel(): this { return layout.ravel(this) as any; }
  /** The same elements in another one's shape. */
  reshapeAs(other: this): this { return layout.reshapeAs(this, other) as any; }
  /** Broadcast to another one's shape. */
  expandAs(other: this): this { return layout.expandAs(this, other) as any; }
  /** As another one's type. */
  typeAs(other: this): this { return layout.typeAs(this, other) as any; }
  /** With one axis as several. */
  unflatten(dim: number, sizes: readonly number[]): this { return layout.unflatten(this, dim, sizes) as any; }
  /** The diagonal of a matrix; of a vector the matrix with this diagonal. */
  diag(...given: Given<{readonly diagonal?: number | undefined}, [diagonal?: number]>): this { return layout.diag(this, ...given) as any; }
  /** Matrices with the last axis as their diagonal. */
  diagEmbed(...given: Given<{readonly offset?: number | undefined; readonly dim1?: number | undefined; readonly dim2?: number | undefined}, [offset?: number, dim1?: number, dim2?: number]>): this { return layout.diagEmbed(this, ...given) as any; }
  /** Differences of neighbours along an axis, n times. */
  diff(...given: Given<{readonly n?: number | undefined; readonly dim?: number | undefined; readonly prepend?: Composed | null | undefined; readonly append?: Composed | null | undefined}, [n?: number, dim?: number, prepend?: Composed | null, append?: Composed | null]>): this { return layout.diff(this, ...given) as any; }
  /** So many parts along an axis, the first ones perhaps larger; or parts between places. */
  tensorSplit(indicesOrSections: number | readonly number[], ...given: Given<{readonly dim?: number | undefined}, [dim?: number]>): this[] { return layout.tensorSplit(this, indicesOrSections, ...given) as any; }
  /** Parts of the given sizes along an axis. */
  splitWithSizes(splitSizes: readonly number[], ...given: Given<{readonly dim?: number | undefined}, [dim?: number]>): this[] { return layout.splitWithSizes(this, splitSizes, ...given) as any; }
  /** In the opposite order along axis 1. */
  fliplr(): this { return layout.fliplr(this) as any; }
  /** In the opposite order along axis 0. */
  flipud(): this { return layout.flipud(this) as any; }
  /** Repeats each element, along an axis or of all elements in a row. */
  repeatInterleave(repeats: number | readonly number[], ...given: Given<{readonly dim?: number | null | undefined}, [dim?: number | null]>): this { return layout.repeatInterleave(this, repeats, ...given) as any; }
  /** Elements along an axis at places, which broadcast; of all without an axis. */
  takeAlongDim(indices: this, ...given: Given<{readonly dim?: number | null | undefined}, [dim?: number | null]>): this { return layout.takeAlongDim(this, indices, ...given) as any; }
  /** Windows along an axis, `step` apart, as a new last axis. */
  unfold(dimension: number, size: number, step: number): this { return layout.unfold(this, dimension, size, step) as any; }
  /** Slices added at places along an axis. */
  indexAdd(dim: number, index: this, source: this, ...given: Given<{readonly alpha?: number | undefined}, [alpha?: number]>): this { return layout.indexAdd(this, dim, index, source, ...given) as any; }
  /** `src` joined with elements at places along an axis; reduce: sum, prod, mean, amax, amin. */
  scatterReduce(dim: number, index: this, src: this, reduce: string, ...given: Given<{readonly includeSelf?: boolean | undefined}, [includeSelf?: boolean]>): this { return layout.scatterReduce(this, dim, index, src, reduce, ...given) as any; }
  /** The transposed matrix. */
  t(): this { return layout.t(this) as any; }
  /** Sums of products over the last axes. */
  inner(other: this): this { return layout.inner(this, other) as any; }
  /** p-norms of the differences of all pairs of rows. */
  cdist(other: this, ...given: Given<{readonly p?: number | undefined}, [p?: number]>): this { return layout.cdist(this, other, ...given) as any; }
  /** 1 with the probability that x, or p, says, else 0. */
  bernoulli(...given: Given<{readonly p?: number | null | undefined}, [p?: number | null]>): this { return layout.bernoulli(this, ...given) as any; }
  /** Places drawn with the weights of the last axis. */
  multinomial(numSamples: number, ...given: Given<{readonly replacement?: boolean | undefined}, [replacement?: boolean]>): this { return layout.multinomial(this, numSamples, ...given) as any; }
  declare absolute: this['abs'];
  declare arccos: this['acos'];
  declare arccosh: this['acosh'];
  declare arcsin: this['asin'];
  declare arcsinh: this['asinh'];
  declare arctan: this['atan'];
  declare arctan2: this['atan2'];
  declare arctanh: this['atanh'];
  declare clip: this['clamp'];
  declare divide: this['div'];
  declare trueDivide: this['div'];
  declare fix: this['trunc'];
  declare greater: this['gt'];
  declare greaterEqual: this['ge'];
  declare less: this['lt'];
  declare lessEqual: this['le'];
  declare notEqual: this['ne'];
  declare multiply: this['mul'];
  declare subtract: this['sub'];
  declare negative: this['neg'];
  declare conj: this['positive'];
  declare conjPhysical: this['positive'];
  declare resolveConj: this['positive'];
  declare resolveNeg: this['positive'];
  declare real: this['positive'];
  declare swapdims: this['swapaxes'];
  declare moveaxis: this['movedim'];
  declare viewAs: this['reshapeAs'];
  declare broadcastTo: this['expand'];
  declare unsafeSplit: this['split'];
  declare unsafeSplitWithSizes: this['splitWithSizes'];
  declare unsafeChunk: this['chunk'];
}
aliases(Composed, {absolute: 'abs', arccos: 'acos', arccosh: 'acosh', arcsin: 'asin', arcsinh: 'asinh', arctan: 'atan', arctan2: 'atan2', arctanh: 'atanh', clip: 'clamp', divide: 'div', trueDivide: 'div', fix: 'trunc', greater: 'gt', greaterEqual: 'ge', less: 'lt', lessEqual: 'le', notEqual: 'ne', multiply: 'mul', subtract: 'sub', negative: 'neg', conj: 'positive', conjPhysical: 'positive', resolveConj: 'positive', resolveNeg: 'positive', real: 'positive', swapdims: 'swapaxes', moveaxis: 'movedim', viewAs: 'reshapeAs', broadcastTo: 'expand', unsafeSplit: 'split', unsafeSplitWithSizes: 'splitWithSizes', unsafeChunk: 'chunk'});
