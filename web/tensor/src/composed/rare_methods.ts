// Written by tools/composed/write.py from python/gossamer/composed/*.py: change that.
import type {Given} from '../options.ts';
import type {Axes, Ordered} from '../reductions.ts';
import {Tensor} from '../tensor.ts';
import * as special from './special.ts';
import * as statistics from './statistics.ts';
import * as arrange from './arrange.ts';
import * as linalg from './linalg.ts';
import {inPlace, methods} from './prelude.ts';

declare module '../tensor.ts' {
  interface Tensor {
    /** The larger one; where one is NaN the other. */
    fmax(other: this): this;
    /** The smaller one; where one is NaN the other. */
    fmin(other: this): this;
    /** -1, 0 or 1. */
    sgn(): this;
    /** Whether elements are negative, -0 included. */
    signbit(): this;
    /** The size of x with the sign of the other. */
    copysign(other: this | number): this;
    /** pi below 0, else 0. */
    angle(): this;
    /** Degrees in radians. */
    deg2rad(): this;
    /** Radians in degrees. */
    rad2deg(): this;
    /** The power, in 64 bits. */
    floatPower(exponent: this | number): this;
    /** 0 below 0, 1 above, and `values` at 0. */
    heaviside(values: this): this;
    /** x * 2^other */
    ldexp(other: this): this;
    /** log2(2^x + 2^other), without overflow. */
    logaddexp2(other: this): this;
    /** sin(pi x) / (pi x), 1 at 0. */
    sinc(): this;
    /** True everywhere. */
    isreal(): this;
    /** 1 - erf(x), accurate where it is small (a Chebyshev fit, Numerical Recipes, 6.2). */
    erfc(): this;
    /** The inverse of erf() (M. Giles: Approximating the erfinv function), with one step of Newton's method. */
    erfinv(): this;
    /** The logarithm of |gamma(x)| (Lanczos). */
    lgamma(): this;
    /** The derivative of lgamma(). */
    digamma(): this;
    /** The n-th derivative of digamma(), to 1e-5 for x > -10 (Hurwitz's zeta function by Euler and Maclaurin). */
    polygamma(n: number): this;
    /** The multivariate log-gamma function of dimension p. */
    mvlgamma(p: number): this;
    /** The modified Bessel function of the first kind of order 0 (Abramowitz and Stegun, 9.8.1 and 9.8.2). */
    i0(): this;
    /** Fractions in [0.5, 1) with the sign of x, and exponents of 2. */
    frexp(): this[];
    /** 0 within [-lambd, lambd]. */
    hardshrink(...given: Given<{readonly lambd?: number | undefined}, [lambd?: number]>): this;
    /** weight times x below 0; one number, or one a channel. */
    prelu(weight: this): this;
    /** The greatest common divisor of integers. */
    gcd(other: this): this;
    /** The least common multiple of integers. */
    lcm(other: this): this;
    /** The mean of what is not NaN. */
    nanmean(...given: Given<{readonly dim?: Axes | undefined; readonly keepdim?: boolean | undefined}, [dim?: Axes, keepdim?: boolean]>): this;
    /** The lower one of the middle elements of what is not NaN; along an axis with where it is. */
    nanmedian(...given: Given<{readonly dim?: number | null | undefined; readonly keepdim?: boolean | undefined}, [dim?: number | null, keepdim?: boolean]>): this | Ordered<this>;
    /** Elements at shares q of the order, along an axis or of all. interpolation: linear, lower, higher, midpoint, nearest. */
    quantile(q: this | number | readonly number[], ...given: Given<{readonly dim?: number | null | undefined; readonly keepdim?: boolean | undefined; readonly interpolation?: string | undefined}, [dim?: number | null, keepdim?: boolean, interpolation?: string]>): this;
    /** quantile() of what is not NaN. */
    nanquantile(q: this | number | readonly number[], ...given: Given<{readonly dim?: number | null | undefined; readonly keepdim?: boolean | undefined; readonly interpolation?: string | undefined}, [dim?: number | null, keepdim?: boolean, interpolation?: string]>): this;
    /** The most frequent element along an axis, the smallest one of equals, and where it is last. */
    mode(...given: Given<{readonly dim?: number | undefined; readonly keepdim?: boolean | undefined}, [dim?: number, keepdim?: boolean]>): Ordered<this>;
    /** log of cumsum() of exp(x), without overflow. */
    logcumsumexp(dim: number): this;
    /** The p-norm of the difference. */
    dist(other: this, ...given: Given<{readonly p?: number | undefined}, [p?: number]>): this;
    /** Parts along an axis scaled so that the p-norm of each is at most maxnorm. */
    renorm(p: number, dim: number, maxnorm: number): this;
    /** Summed to a shape that broadcasts to x's. */
    sumToSize(...size: number[]): this;
    /** Covariances of rows, whose columns are observations. */
    cov(...given: Given<{readonly correction?: number | undefined}, [correction?: number]>): this;
    /** Correlations of rows, whose columns are observations. */
    corrcoef(): this;
    /** How many elements are in each of `bins` equal parts of [min, max]; both 0: of the elements' own range. */
    histc(...given: Given<{readonly bins?: number | undefined; readonly min?: number | undefined; readonly max?: number | undefined}, [bins?: number, min?: number, max?: number]>): this;
    /** How many elements, or how much of their weights, is between edges, and the edges: the given ones, or `bins` + 1 even ones over the range, by default the elements' own. The last part has its end, too. density: divided by the sum and the widths. */
    histogram(...given: Given<{readonly bins?: number | Tensor | undefined; readonly range?: readonly number[] | null | undefined; readonly weight?: Tensor | null | undefined; readonly density?: boolean | undefined}, [bins?: number | Tensor, range?: readonly number[] | null, weight?: Tensor | null, density?: boolean]>): this[];
    /** The matrix with all elements as its diagonal. */
    diagflat(...given: Given<{readonly offset?: number | undefined}, [offset?: number]>): this;
    /** Parts along axis 1, or along the only one. */
    hsplit(indicesOrSections: number | readonly number[]): this[];
    /** Parts along axis 0. */
    vsplit(indicesOrSections: number | readonly number[]): this[];
    /** Parts along axis 2. */
    dsplit(indicesOrSections: number | readonly number[]): this[];
    /** A plane turned k times by a quarter, from the first axis to the second. */
    rot90(...given: Given<{readonly k?: number | undefined; readonly dims?: readonly number[] | undefined}, [k?: number, dims?: readonly number[]]>): this;
    /** Elements at steps of memory in row-major order; a copy. */
    asStrided(size: readonly number[], stride: readonly number[], ...given: Given<{readonly storageOffset?: number | undefined}, [storageOffset?: number]>): this;
    /** Slices written at places along an axis. */
    indexCopy(dim: number, index: this, source: this): this;
    /** A number at places along an axis. */
    indexFill(dim: number, index: this, value: number): this;
    /** With elements at steps of memory in row-major order replaced. */
    asStridedScatter(src: this, size: readonly number[], stride: readonly number[], ...given: Given<{readonly storageOffset?: number | undefined}, [storageOffset?: number]>): this;
    /** Slices joined with those at places along an axis; reduce: prod, mean, amax, amin. */
    indexReduce(dim: number, index: this, source: this, reduce: string, ...given: Given<{readonly includeSelf?: boolean | undefined}, [includeSelf?: boolean]>): this;
    /** With one place of an axis replaced. */
    selectScatter(src: this, dim: number, index: number): this;
    /** With every step-th place of an axis from start to end replaced. */
    sliceScatter(src: this, ...given: Given<{readonly dim?: number | undefined; readonly start?: number | null | undefined; readonly end?: number | null | undefined; readonly step?: number | undefined}, [dim?: number, start?: number | null, end?: number | null, step?: number]>): this;
    /** With the diagonal of two axes replaced. */
    diagonalScatter(src: this, ...given: Given<{readonly offset?: number | undefined; readonly dim1?: number | undefined; readonly dim2?: number | undefined}, [offset?: number, dim1?: number, dim2?: number]>): this;
    /** Elements of the source, in order, where the mask holds. */
    maskedScatter(mask: this, source: this): this;
    /** `source` at places among all elements. */
    put(index: this, source: this, ...given: Given<{readonly accumulate?: boolean | undefined}, [accumulate?: boolean]>): this;
    /** Values at places, an axis each from the first on; they broadcast. */
    indexPut(indices: readonly this[], values: this, ...given: Given<{readonly accumulate?: boolean | undefined}, [accumulate?: boolean]>): this;
    /** The Kronecker product. */
    kron(other: this): this;
    /** The places of the first `size` elements that are not 0, in order: [size, axes]; rows that are left over are the fill value. */
    nonzeroStatic(...given: Given<{readonly size?: number | null | undefined; readonly fillValue?: number | undefined}, [size?: number | null, fillValue?: number]>): this;
    /** In order along axis 0. */
    msort(): this;
    /** narrow() */
    narrowCopy(dim: number, start: number, length: number): this;
    /** A number on the diagonal of a matrix. */
    fillDiagonal(fillValue: number): this;
    /** beta * x + alpha * (the outer product of two vectors) */
    addr(vec1: this, vec2: this, ...given: Given<{readonly beta?: number | undefined; readonly alpha?: number | undefined}, [beta?: number, alpha?: number]>): this;
    /** The products of all pairs of elements of two vectors. */
    ger(vec2: this): this;
    /** The sum of products. */
    vdot(other: this): this;
    /** beta * x + alpha * (mat times vec) */
    addmv(mat: this, vec: this, ...given: Given<{readonly beta?: number | undefined; readonly alpha?: number | undefined}, [beta?: number, alpha?: number]>): this;
    /** beta * x + alpha * (products of matrices) */
    baddbmm(batch1: this, batch2: this, ...given: Given<{readonly beta?: number | undefined; readonly alpha?: number | undefined}, [beta?: number, alpha?: number]>): this;
    /** beta * x + alpha * (the sum of products of matrices) */
    addbmm(batch1: this, batch2: this, ...given: Given<{readonly beta?: number | undefined; readonly alpha?: number | undefined}, [beta?: number, alpha?: number]>): this;
    /** The cross product of vectors of three along an axis. */
    cross(other: this, ...given: Given<{readonly dim?: number | undefined}, [dim?: number]>): this;
    /** The lower (or upper) triangle whose product with its transpose is x, which is symmetric and positive definite. */
    cholesky(...given: Given<{readonly upper?: boolean | undefined}, [upper?: boolean]>): this;
    /** The y with x @ y = other, by elimination with pivots; `other`: vectors or matrices. */
    solve(other: this): this;
    /** The inverse of matrices. */
    inverse(): this;
    /** Determinants of matrices. */
    det(): this;
    /** Logarithms of determinants. */
    logdet(): this;
    /** Signs of determinants, and logarithms of their absolute values. */
    slogdet(): this[];
    /** The product of n equal matrices; of their inverses below 0. */
    matrixPower(n: number): this;
    /** The exponential of matrices: a series of x / 2^6, squared six times. */
    matrixExp(): this;
    /** Q with orthogonal columns and R, an upper triangle with Q @ R = x (Householder's reflections). */
    qr(): this[];
    /** Eigenvalues of symmetric matrices, the smallest first, and eigenvectors as columns (Jacobi's rotations, 10 sweeps). */
    eigh(): this[];
    /** U, the singular values, the largest first, and V with U @ diag(S) @ V.T = x, by the eigenvectors of the smaller product. */
    svd(...given: Given<{readonly some?: boolean | undefined}, [some?: boolean]>): this[];
    /** The pseudo-inverse of matrices of full rank. */
    pinverse(...given: Given<{readonly rcond?: number | undefined}, [rcond?: number]>): this;
    /** The y with (L @ L.T) @ y = x. */
    choleskySolve(factor: this, ...given: Given<{readonly upper?: boolean | undefined}, [upper?: boolean]>): this;
    /** The inverse of L @ L.T. */
    choleskyInverse(...given: Given<{readonly upper?: boolean | undefined}, [upper?: boolean]>): this;
    /** The y with factor @ y = x for a triangle, and the triangle. */
    triangularSolve(factor: this, ...given: Given<{readonly upper?: boolean | undefined; readonly transpose?: boolean | undefined}, [upper?: boolean, transpose?: boolean]>): this[];
    addbmm_: this['addbmm'];
    addmv_: this['addmv'];
    addr_: this['addr'];
    baddbmm_: this['baddbmm'];
    copysign_: this['copysign'];
    deg2rad_: this['deg2rad'];
    digamma_: this['digamma'];
    erfc_: this['erfc'];
    erfinv_: this['erfinv'];
    fillDiagonal_: this['fillDiagonal'];
    floatPower_: this['floatPower'];
    gcd_: this['gcd'];
    heaviside_: this['heaviside'];
    i0_: this['i0'];
    indexCopy_: this['indexCopy'];
    indexFill_: this['indexFill'];
    indexPut_: this['indexPut'];
    indexReduce_: this['indexReduce'];
    lcm_: this['lcm'];
    ldexp_: this['ldexp'];
    lgamma_: this['lgamma'];
    maskedScatter_: this['maskedScatter'];
    mvlgamma_: this['mvlgamma'];
    polygamma_: this['polygamma'];
    put_: this['put'];
    rad2deg_: this['rad2deg'];
    renorm_: this['renorm'];
    sgn_: this['sgn'];
    sinc_: this['sinc'];
  }
}

for (const each of [special, statistics, arrange, linalg]) methods(Tensor, each);
inPlace(Tensor, ['addbmm addmv addr baddbmm copysign deg2rad digamma erfc erfinv fillDiagonal floatPower gcd heaviside i0 indexCopy indexFill indexPut indexReduce lcm ldexp', 'lgamma maskedScatter mvlgamma polygamma put rad2deg renorm sgn sinc']);
