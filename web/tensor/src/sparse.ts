/** Tensors of mostly zeros: elements, which are a tensor and have gradients, at places that the page knows. */
import {product, shapeText} from '../../runtime/src/values/types.ts';
import type {Data} from './elements.ts';
import {axisOf, compareShapes, computeStrides, indexToPos, inferShape, posToIndex, type Shape, shapeOf, wrong} from './shape.ts';
import {type Axes} from './reductions.ts';
import {Tensor} from './tensor.ts';

/** Where elements are: a row of indices each, of the sparse axes. Tensors with the same elements stored share it. */
class Pattern {
  readonly rows: Int32Array;
  readonly axes: number;
  readonly #tensors = new Map<string, Tensor>();

  constructor(rows: Int32Array, axes: number) {
    this.rows = rows;
    this.axes = axes;
  }

  get count(): number {
    return this.axes === 0 ? 1 : this.rows.length / this.axes;
  }

  row(at: number): number[] {
    return Array.from(this.rows.subarray(at * this.axes, (at + 1) * this.axes));
  }

  /** As a tensor, made once a device: [count, axes]. */
  tensor(device: Tensor['device']): Tensor {
    return this.#made(`rows ${device}`, () => new Tensor(BigInt64Array.from(this.rows, BigInt), {shape: [this.count, this.axes], device}));
  }

  /** The indices of one axis. */
  column(axis: number, device: Tensor['device']): Tensor {
    return this.#made(`${axis} ${device}`, () =>
      new Tensor(Int32Array.from({length: this.count}, (_, at) => this.rows[at * this.axes + axis] ?? 0), {device}));
  }

  #made(key: string, make: () => Tensor): Tensor {
    let made = this.#tensors.get(key);
    if (!made) this.#tensors.set(key, (made = make().keep()));
    return made;
  }

  equals(other: Pattern): boolean {
    return this === other || (this.axes === other.axes && this.rows.length === other.rows.length && this.rows.every((at, place) => at === other.rows[place]));
  }

  /** The same elements with their indices computed anew. */
  map(axes: number, change: (index: readonly number[]) => readonly number[]): Pattern {
    return new Pattern(Int32Array.from(Array.from({length: this.count}, (_, at) => change(this.row(at))).flat()), axes);
  }
}

/** Zero stays zero under these, so they are of the stored elements alone. */
type KeepsZero = 'abs' | 'neg' | 'sign' | 'sqrt' | 'square' | 'sin' | 'tan' | 'asin' | 'atan' | 'sinh' | 'tanh' | 'asinh' | 'atanh' | 'floor' | 'ceil' | 'round' | 'trunc' | 'relu' | 'erf' | 'expm1' | 'log1p';

export class SparseTensor {
  /** [nnz, ...extents of the dense axes]. */
  readonly values: Tensor;
  readonly shape: Shape;
  /** How many of the last axes are stored whole. */
  readonly denseDims: number;
  readonly #pattern: Pattern;

  /**
   * Elements at `indices`, a row of as many as there are sparse axes for each; those named twice count as their sum.
   * Throws 'input' for indices outside of the shape.
   */
  constructor(values: Tensor | Data, indices: readonly (readonly number[])[] | Int32Array, shape: Shape, denseDims?: number);
  /** @internal */
  constructor(values: Tensor | Data, indices: Pattern, shape: Shape, denseDims?: number);
  constructor(values: Tensor | Data, indices: readonly (readonly number[])[] | Int32Array | Pattern, shape: Shape, denseDims = 0) {
    const axes = shapeOf(shape, 'SparseTensor').length - denseDims;
    if (!(axes >= 0 && denseDims >= 0)) throw wrong(`SparseTensor: ${denseDims} dense axes of ${shape.length}`);
    this.values = values instanceof Tensor ? values : new Tensor(values);
    this.shape = [...shape];
    this.denseDims = denseDims;
    this.#pattern = indices instanceof Pattern ? indices : new Pattern(Int32Array.from(indices instanceof Int32Array ? indices : indices.flat()), axes);
    const {rows, count} = this.#pattern;
    if (!Number.isInteger(count)) throw wrong(`SparseTensor: ${rows.length} indices are no rows of ${axes}`);
    const wanted = [count, ...this.getDenseShape()];
    if (!compareShapes(this.values.shape, wanted)) {
      throw wrong(`SparseTensor: ${count} elements of shape ${shapeText(shape)} have values of shape ${shapeText(wanted)}, not ${shapeText(this.values.shape)}`);
    }
    const outside = rows.findIndex((at, place) => !(at >= 0 && at < (shape[place % axes] ?? 0)));
    if (outside >= 0) throw wrong(`SparseTensor: index ${rows[outside] ?? 0} on axis ${outside % axes} of shape ${shapeText(shape)}`);
  }

  /** What of a dense tensor is not zero. */
  static async fromDense(dense: Tensor, denseDims = 0): Promise<SparseTensor> {
    const axes = dense.ndim - denseDims;
    const block = product(dense.shape.slice(axes));
    const data = (await dense.data()) as ArrayLike<number | bigint>;
    const strides = computeStrides(dense.shape.slice(0, axes));
    const kept: number[] = [];
    for (let at = 0; at < product(dense.shape.slice(0, axes)); ++at) {
      for (let inner = 0; inner < block; ++inner) {
        if (Number(data[at * block + inner]) === 0) continue;
        kept.push(at);
        break;
      }
    }
    const rows = dense.reshape([-1, ...dense.shape.slice(axes)]);
    const values = rows.indexSelect(0, new Tensor(Int32Array.from(kept), {device: dense.device}));
    return new SparseTensor(values, Int32Array.from(kept.flatMap((at) => posToIndex(at, strides))), dense.shape, denseDims);
  }

  /** Of PyTorch's arguments: indices [sparse axes, nnz] first. */
  static coo(indices: readonly (readonly number[])[], values: Tensor | Data, shape: Shape): SparseTensor {
    const count = indices[0]?.length ?? 0;
    const rows = Array.from({length: count}, (_, at) => indices.map((axis) => axis[at] ?? -1));
    return new SparseTensor(values, rows, shape, shape.length - indices.length);
  }

  /** A matrix by rows: those of row i are at rowStarts[i] to rowStarts[i + 1], in these columns. */
  static csr(rowStarts: ArrayLike<number>, columns: ArrayLike<number>, values: Tensor | Data, shape: Shape): SparseTensor {
    const [rows = 0] = shape;
    if (rowStarts.length !== rows + 1 || rowStarts[0] !== 0 || rowStarts[rows] !== columns.length) {
      throw wrong(`SparseTensor.csr: ${rowStarts.length} starts of rows do not divide ${columns.length} elements into ${rows} rows`);
    }
    const indices = new Int32Array(2 * columns.length);
    for (let row = 0; row < rows; ++row) {
      const end = rowStarts[row + 1] ?? 0;
      if (end < (rowStarts[row] ?? 0)) throw wrong('SparseTensor.csr: the starts of rows fall');
      for (let at = rowStarts[row] ?? 0; at < end; ++at) indices.set([row, columns[at] ?? -1], 2 * at);
    }
    return new SparseTensor(values, indices, shape);
  }

  /** How many elements (with dense axes: blocks of them) are stored. */
  get nnz(): number {
    return this.#pattern.count;
  }
  get sparseDims(): number {
    return this.shape.length - this.denseDims;
  }
  get device(): Tensor['device'] {
    return this.values.device;
  }
  get dtype(): Tensor['dtype'] {
    return this.values.dtype;
  }
  getSparseShape(): Shape {
    return this.shape.slice(0, this.sparseDims);
  }
  getDenseShape(): Shape {
    return this.shape.slice(this.sparseDims);
  }

  /** [nnz, sparse axes]. */
  indices(): Int32Array {
    return this.#pattern.rows.slice();
  }

  /** A matrix by rows, as csr() takes it. Elements named twice stay two. */
  toCsr(): {rowStarts: Int32Array; columns: Int32Array; values: Tensor} {
    this.#matrix('toCsr');
    const {rows, count} = this.#pattern;
    const order = Array.from({length: count}, (_, at) => at).sort((a, b) => (rows[2 * a] ?? 0) - (rows[2 * b] ?? 0) || (rows[2 * a + 1] ?? 0) - (rows[2 * b + 1] ?? 0));
    const rowStarts = new Int32Array((this.shape[0] ?? 0) + 1);
    for (const at of order) rowStarts[(rows[2 * at] ?? 0) + 1] = (rowStarts[(rows[2 * at] ?? 0) + 1] ?? 0) + 1;
    for (let row = 1; row < rowStarts.length; ++row) rowStarts[row] = (rowStarts[row] ?? 0) + (rowStarts[row - 1] ?? 0);
    const columns = Int32Array.from(order, (at) => rows[2 * at + 1] ?? 0);
    return {rowStarts, columns, values: this.values.indexSelect(0, new Tensor(Int32Array.from(order), {device: this.device}))};
  }

  toDense(): Tensor {
    return this.#onto(Tensor.zeros(this.shape, {dtype: this.dtype, device: this.device}));
  }

  #onto(dense: Tensor): Tensor {
    if (this.sparseDims === 0) return dense.add(this.values.squeeze(0));
    return dense.apply('ScatterND', [dense, this.#pattern.tensor(this.device), this.values.cast(dense.dtype)], {reduction: 'add'});
  }

  #with(values: Tensor): SparseTensor {
    return new SparseTensor(values, this.#pattern, this.shape, this.denseDims);
  }

  /** A function of the stored elements; it should leave zero zero. */
  mapValues(change: (values: Tensor) => Tensor): SparseTensor {
    return this.#with(change(this.values));
  }

  /** Functions that leave zero zero: sparse.unary('tanh'). */
  unary(name: KeepsZero): SparseTensor {
    return this.#with(this.values[name]());
  }

  /** Throws 'input' unless it has this shape and, where it is sparse, as many dense axes. */
  #same(other: SparseTensor | Tensor, what: string): void {
    if (!compareShapes(this.shape, other.shape) || (other instanceof SparseTensor && this.denseDims !== other.denseDims)) {
      throw wrong(`${what}: shapes ${shapeText(this.shape)} and ${shapeText(other.shape)}`);
    }
  }

  /** Throws 'input' unless it is a matrix without dense axes. */
  #matrix(what: string): void {
    if (this.shape.length !== 2 || this.denseDims !== 0) throw wrong(`${what}: ${shapeText(this.shape)} with ${this.denseDims} dense axes is no matrix`);
  }

  #axes(axes: Axes, what: string): number[] {
    return axes === undefined || axes === null ? this.shape.map((_, axis) => axis) : [axes].flat().map((axis) => axisOf(axis, this.shape.length, what));
  }

  #stored(other: SparseTensor, what: string): Tensor {
    this.#same(other, what);
    if (this.#pattern.equals(other.#pattern)) return other.values;
    throw wrong(`${what}: the sparse tensors have elements in different places; toDense() one of them`);
  }

  #denseAt(dense: Tensor, what: string): Tensor {
    this.#same(dense, what);
    return dense.apply('GatherND', [dense, this.#pattern.tensor(this.device)]);
  }

  /** With a sparse tensor sparse, with a dense one dense. */
  add(other: SparseTensor): SparseTensor;
  add(other: Tensor): Tensor;
  add(other: SparseTensor | Tensor): SparseTensor | Tensor {
    this.#same(other, 'add');
    if (other instanceof Tensor) return this.#onto(other);
    if (this.#pattern.equals(other.#pattern)) return this.#with(this.values.add(other.values));
    const rows = Int32Array.of(...this.#pattern.rows, ...other.#pattern.rows);
    return new SparseTensor(this.values.concat(other.values), new Pattern(rows, this.sparseDims), this.shape, this.denseDims);
  }

  sub(other: SparseTensor): SparseTensor;
  sub(other: Tensor): Tensor;
  sub(other: SparseTensor | Tensor): SparseTensor | Tensor {
    return other instanceof Tensor ? this.add(other.neg()) : this.add(other.unary('neg'));
  }

  /** By a number, elements of a dense tensor in its places, or a sparse one with the same places. */
  mul(other: SparseTensor | Tensor | number): SparseTensor {
    if (typeof other === 'number') return this.#with(this.values.mul(other));
    return this.#with(this.values.mul(other instanceof Tensor ? this.#denseAt(other, 'mul') : this.#stored(other, 'mul')));
  }

  div(other: SparseTensor | Tensor | number): SparseTensor {
    if (typeof other === 'number') return this.#with(this.values.div(other));
    return this.#with(this.values.div(other instanceof Tensor ? this.#denseAt(other, 'div') : this.#stored(other, 'div')));
  }

  /** This matrix times a dense one, or a vector: work by the elements that are stored. */
  matmul(dense: Tensor): Tensor {
    const [rows = 0, inner] = this.shape;
    this.#matrix('matmul');
    if (dense.ndim > 2 || dense.shape[0] !== inner) throw wrong(`matmul: sparse ${shapeText(this.shape)} times ${shapeText(dense.shape)}`);
    const picked = dense.indexSelect(0, this.#pattern.column(1, this.device));
    const terms = dense.ndim === 1 ? picked.mul(this.values) : picked.mul(this.values.unsqueeze(1));
    return this.#joined(terms, this.#pattern.column(0, this.device), rows, 'add', 0);
  }

  /** A dense matrix times this one. */
  rmatmul(dense: Tensor): Tensor {
    return this.transpose().matmul(dense.transpose()).transpose();
  }

  /** Rows of `terms` joined where they have the same number. */
  #joined(terms: Tensor, numbers: Tensor, count: number, reduction: string, first: number): Tensor {
    const start = Tensor.full([count, ...terms.shape.slice(1)], first, {dtype: terms.dtype, device: this.device});
    return start.apply('ScatterND', [start, numbers.cast('i64').unsqueeze(1), terms], {reduction});
  }

  /** Exchanges two sparse axes. */
  transpose(a = 0, b = 1): SparseTensor {
    const [first, second] = [axisOf(a, this.sparseDims, 'transpose'), axisOf(b, this.sparseDims, 'transpose')];
    const swap = (list: readonly number[]): number[] => {
      const made = [...list];
      [made[first], made[second]] = [list[second] ?? 0, list[first] ?? 0];
      return made;
    };
    return new SparseTensor(this.values, this.#pattern.map(this.sparseDims, swap), swap(this.shape), this.denseDims);
  }

  /** Of sparse axes the stored elements are joined; zeros that are not stored count as zeros. Sparse while sparse axes stay. */
  #reduce(axes: Axes, keepDims: boolean, what: string, reduction: 'add' | 'max' | 'min' | 'mul', dense: (x: Tensor, list: number[]) => Tensor): SparseTensor | Tensor {
    const list = this.#axes(axes, what);
    const inner = list.filter((axis) => axis >= this.sparseDims).map((axis) => axis - this.sparseDims + 1);
    const kept = this.getSparseShape().map((_, axis) => axis).filter((axis) => !list.includes(axis));
    const values = inner.length > 0 ? dense(this.values, inner) : this.values;
    const shape = this.shape.flatMap((extent, axis) => (list.includes(axis) ? (keepDims ? [1] : []) : [extent]));
    const numbers = new Map<string, number>();
    const members = new Int32Array(this.nnz);
    const counts: number[] = [];
    const rows: number[][] = [];
    for (let at = 0; at < this.nnz; ++at) {
      const row = kept.map((axis) => this.#pattern.rows[at * this.sparseDims + axis] ?? 0);
      let number = numbers.get(row.join());
      if (number === undefined) {
        numbers.set(row.join(), (number = rows.length));
        rows.push(row);
        counts.push(0);
      }
      members[at] = number;
      counts[number] = (counts[number] ?? 0) + 1;
    }
    if (kept.length === 0 && rows.length === 0) {
      rows.push([]);
      counts.push(0);
    }
    const size = product(list.filter((axis) => axis < this.sparseDims).map((axis) => this.shape[axis] ?? 1));
    const first = {add: 0, max: -Infinity, min: Infinity, mul: 1}[reduction];
    let joined = this.#joined(values, new Tensor(members, {device: this.device}), rows.length, reduction, first);
    // A zero that is not stored.
    const open = new Tensor(counts.map((count) => count < size), {device: this.device, shape: [rows.length, ...new Array<number>(joined.ndim - 1).fill(1)]});
    if (reduction === 'max') joined = Tensor.where(open, joined.relu(), joined);
    if (reduction === 'min') joined = Tensor.where(open, joined.minimum(0), joined);
    if (reduction === 'mul') joined = Tensor.where(open, 0, joined).cast(joined.dtype);
    if (kept.length === 0) return joined.reshape(shape);
    const spread = joined.reshape([rows.length, ...(keepDims ? this.getDenseShape().map((extent, axis) => (list.includes(axis + this.sparseDims) ? 1 : extent)) : joined.shape.slice(1))]);
    const placed = rows.map((row) => (keepDims ? this.getSparseShape().map((_, axis) => (kept.includes(axis) ? (row[kept.indexOf(axis)] ?? 0) : 0)) : row));
    return new SparseTensor(spread, placed, shape, spread.ndim - 1);
  }

  sum(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.#reduce(axes, keepDims, 'sum', 'add', (x, list) => x.sum(list));
  }
  max(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.#reduce(axes, keepDims, 'max', 'max', (x, list) => x.max(list));
  }
  min(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.#reduce(axes, keepDims, 'min', 'min', (x, list) => x.min(list));
  }
  product(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.#reduce(axes, keepDims, 'product', 'mul', (x, list) => x.prod(list));
  }
  sumSquare(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.unary('square').sum(axes, keepDims);
  }
  mean(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.sum(axes, keepDims).div(product(this.#axes(axes, 'mean').map((axis) => this.shape[axis] ?? 1)));
  }
  reduceMean(axes?: Axes, keepDims = false): SparseTensor | Tensor {
    return this.mean(axes, keepDims);
  }

  /** This and another one behind it along a sparse axis. */
  concat(other: SparseTensor, axis: number): SparseTensor {
    const at = axisOf(axis, this.sparseDims, 'concat');
    const rest = (shape: Shape): Shape => shape.filter((_, each) => each !== at);
    if (this.denseDims !== other.denseDims || !compareShapes(rest(this.shape), rest(other.shape))) {
      throw wrong(`concat: sparse tensors of shapes ${shapeText(this.shape)} and ${shapeText(other.shape)} along axis ${axis}`);
    }
    const moved = other.#pattern.map(this.sparseDims, (index) => index.map((place, each) => (each === at ? place + (this.shape[at] ?? 0) : place)));
    const shape = this.shape.map((extent, each) => (each === at ? extent + (other.shape[at] ?? 0) : extent));
    return new SparseTensor(this.values.concat(other.values), Int32Array.of(...this.#pattern.rows, ...moved.rows), shape, this.denseDims);
  }

  /** This so many times along each axis. */
  repeat(times: Shape): SparseTensor {
    if (times.length !== this.shape.length) throw wrong(`repeat: ${times.length} numbers for ${this.shape.length} axes`);
    const sparse = times.slice(0, this.sparseDims);
    const inner = times.slice(this.sparseDims);
    const copies = product(sparse);
    const strides = computeStrides(sparse);
    const rows = Array.from({length: copies}, (_, copy) => {
      const offset = posToIndex(copy, strides);
      return [...this.#pattern.map(this.sparseDims, (index) => index.map((place, axis) => place + (offset[axis] ?? 0) * (this.shape[axis] ?? 1))).rows];
    });
    const shape = this.shape.map((extent, axis) => extent * (times[axis] ?? 1));
    return new SparseTensor(this.values.repeat([copies, ...inner]), Int32Array.from(rows.flat()), shape, this.denseDims);
  }

  /** Its sparse axes in another shape; one extent may be -1. The dense ones stay. */
  reshape(shape: Shape): SparseTensor {
    const from = this.getSparseShape();
    const dense = this.getDenseShape();
    const axes = shape.length - this.denseDims;
    const made = inferShape(shape.slice(0, axes), product(from), 'reshape');
    if (!compareShapes(shape.slice(axes), dense)) throw wrong(`reshape: dense axes ${shapeText(dense)} stay as they are`);
    const [before, after] = [computeStrides(from), computeStrides(made)];
    const moved = this.#pattern.map(made.length, (index) => posToIndex(indexToPos(index, before), after));
    return new SparseTensor(this.values, moved, [...made, ...dense], this.denseDims);
  }

  async compare(other: SparseTensor, epsilon = 0): Promise<boolean> {
    return compareShapes(this.shape, other.shape) && this.toDense().compare(other.toDense(), epsilon);
  }

  to(device: Tensor['device']): SparseTensor {
    return this.#with(this.values.to(device));
  }

  dispose(): void {
    this.values.dispose();
  }
  [Symbol.dispose](): void {
    this.dispose();
  }

  // TensorJS's names.
  subtract(other: SparseTensor): SparseTensor { return this.sub(other); }
  multiply(other: SparseTensor | Tensor): SparseTensor { return this.mul(other); }
  divide(other: SparseTensor | Tensor): SparseTensor { return this.div(other); }
  matMul(dense: Tensor): Tensor { return this.matmul(dense); }
  delete(): void { this.dispose(); }
}
