/** Tensors of a page: made from arrays, numbers and images; everything else is inherited, a file for each kind of operation. */
import {shapeText, type TensorData} from '../../runtime/src/values/types.ts';
import {InPlace} from './composed/in_place.ts';
import {arrayFor, byteSize, Core, leafOn, MAKE, uploaded} from './core.ts';
import type {Data, Nested} from './elements.ts';
import {type DType, type DTypeName, dtypeOf, isFloat, isSigned} from './dtype.ts';
import type {Scalar} from './elementwise.ts';
import {engineOf} from './engine.ts';
import {type Picture, pixels, sizeOf, snapshotOf} from './picture.ts';
import {optionsOf} from './options.ts';
import {normal, permutation, uniform} from './random.ts';
import type {Device} from './recording.ts';
import {broadcastShapes, computeStrides, getSize, indexToPos, type Shape, shapeOf, wrong} from './shape.ts';
import {traced} from './tracing.ts';

/** Without a shape, which the call has. */
export interface MakeOptions {
  readonly dtype?: DTypeName | undefined;
  readonly device?: Device | undefined;
  readonly requiresGrad?: boolean | undefined;
}

/** Throws 'input' for an index that is not in the shape. */
function placeIn(shape: Shape, index: Shape): number {
  if (index.length !== shape.length || index.some((at, axis) => !(at >= 0 && at < (shape[axis] ?? 0)))) {
    throw wrong(`[${index.join(', ')}] is no index into shape ${shapeText(shape)}`);
  }
  return indexToPos(index, computeStrides(shape));
}

/** Even in (0, 1]. */
const drawnLike = ({shape, device}: Tensor): Tensor => Tensor.uniform(shape, 0, 1, {device}).neg().add(1);

/**
 * A tensor. Operations record; what is read (data(), item(), array()) is computed. Its elements never change: an optimizer's step
 * gives a parameter other ones.
 */
export class Tensor extends InPlace {
  static #from(shape: Shape, data: TensorData, dtype: DType, options: MakeOptions): Tensor {
    const {device, requiresGrad} = optionsOf('Tensor', MAKE, [options]);
    const made = new Tensor(uploaded(dtype, shape, data, device));
    if (requiresGrad) made.requiresGrad = true;
    return made;
  }

  static #fill(shape: Shape, options: MakeOptions, value: (at: number) => number | bigint, otherwise: DType = 'f32'): Tensor {
    const dtype = dtypeOf(options.dtype ?? otherwise);
    const data = arrayFor(dtype, getSize(shapeOf(shape, 'Tensor')));
    const wide = dtype === 'i64' || dtype === 'u64';
    for (let at = 0; at < data.length; ++at) {
      const each = value(at);
      data[at] = wide ? BigInt(each) : Number(dtype === 'bool' ? Boolean(each) : each);
    }
    return Tensor.#from(shape, data, dtype, options);
  }

  static zeros(shape: Shape, options: MakeOptions = {}): Tensor {
    const dtype = dtypeOf(options.dtype ?? 'f32');
    return Tensor.#from(shape, arrayFor(dtype, getSize(shapeOf(shape, 'zeros'))), dtype, options);
  }

  static ones(shape: Shape, options: MakeOptions = {}): Tensor {
    return Tensor.full(shape, 1, options);
  }

  static full(shape: Shape, value: Scalar, options: MakeOptions = {}): Tensor {
    const dtype = typeof value === 'boolean' ? 'bool' : typeof value === 'bigint' ? 'i64' : 'f32';
    return Tensor.#fill(shape, options, () => (typeof value === 'boolean' ? Number(value) : value), dtype);
  }

  /** start, start + step, ... before end; i32 where all three are whole numbers. */
  static arange(start: number, end?: number, step = 1, options: MakeOptions = {}): Tensor {
    const [from, to] = end === undefined ? [0, start] : [start, end];
    if (!Number.isFinite((to - from) / step)) throw wrong(`arange: no way from ${from} to ${to} in steps of ${step}`);
    const whole = [from, to, step].every(Number.isInteger);
    return Tensor.#fill([Math.max(0, Math.ceil((to - from) / step))], options, (at) => from + at * step, whole ? 'i32' : 'f32');
  }

  /** TensorJS's name for arange(). */
  static range(start: number, end: number, step = 1, options: MakeOptions = {}): Tensor {
    return Tensor.arange(start, end, step, options);
  }

  /** Evenly spaced, both ends included. */
  static linspace(start: number, end: number, count: number, options: MakeOptions = {}): Tensor {
    return Tensor.#fill([count], options, (at) => (count < 2 ? start : start + ((end - start) * at) / (count - 1)));
  }

  static eye(rows: number, columns = rows, options: MakeOptions = {}): Tensor {
    return Tensor.#fill([rows, columns], options, (at) => Number(Math.floor(at / columns) === at % columns));
  }

  /** Even in [0, 1). manualSeed() decides which. */
  static rand(shape: Shape, options: MakeOptions = {}): Tensor {
    return Tensor.uniform(shape, 0, 1, options);
  }

  static uniform(shape: Shape, low: number, high: number, options: MakeOptions = {}): Tensor {
    const drawn = uniform(getSize(shapeOf(shape, 'rand')), low, high);
    return Tensor.#fill(shape, options, (at) => drawn[at] ?? 0);
  }

  static randn(shape: Shape, options: MakeOptions = {}): Tensor {
    return Tensor.normal(shape, 0, 1, options);
  }

  static normal(shape: Shape, mean: number, deviation: number, options: MakeOptions = {}): Tensor {
    const drawn = normal(getSize(shapeOf(shape, 'randn')), mean, deviation);
    return Tensor.#fill(shape, options, (at) => drawn[at] ?? 0);
  }

  /** Whole numbers in [low, high). */
  static randint(low: number, high: number, shape: Shape, options: MakeOptions = {}): Tensor {
    const drawn = uniform(getSize(shapeOf(shape, 'randint')), low, high);
    return Tensor.#fill(shape, options, (at) => Math.floor(drawn[at] ?? 0), 'i32');
  }

  /** 0 to n - 1 in random order. */
  static randperm(n: number, options: MakeOptions = {}): Tensor {
    const order = permutation(n);
    return Tensor.#fill([n], options, (at) => order[at] ?? 0, 'i32');
  }

  static zerosLike(like: Tensor, options: MakeOptions = {}): Tensor {
    return Tensor.zeros(like.shape, {dtype: like.dtype, device: like.device, ...options});
  }

  static onesLike(like: Tensor, options: MakeOptions = {}): Tensor {
    return Tensor.ones(like.shape, {dtype: like.dtype, device: like.device, ...options});
  }

  static cat(parts: readonly Tensor[], axis = 0): Tensor {
    const [first, ...rest] = parts;
    if (!first) throw wrong('cat: there is nothing to join');
    return rest.length > 0 ? first.concat(rest, axis) : first;
  }

  /** Joined along a new axis. */
  static stack(parts: readonly Tensor[], axis = 0): Tensor {
    return Tensor.cat(parts.map((part) => part.unsqueeze(axis < 0 ? axis + part.ndim + 1 : axis)), axis);
  }

  /** Grids of the elements of vectors; indexing: 'ij' or 'xy'. */
  static meshgrid(parts: readonly Tensor[], indexing: 'ij' | 'xy' = 'ij'): Tensor[] {
    if (indexing === 'xy' && parts.length > 1) {
      const [x, y, ...rest] = parts as [Tensor, Tensor, ...Tensor[]];
      const [b, a, ...others] = Tensor.meshgrid([y, x, ...rest]) as [Tensor, Tensor, ...Tensor[]];
      return [a, b, ...others];
    }
    const shape = parts.map(({size}) => size);
    return parts.map((part, axis) => part.reshape(shape.map((extent, at) => (at === axis ? extent : 1))).expand(shape));
  }

  static where(condition: Tensor, a: Tensor | Scalar, b: Tensor | Scalar): Tensor {
    return condition.choose(condition, a, b);
  }

  static einsum(equation: string, ...operands: readonly Tensor[]): Tensor {
    const [first, ...rest] = operands;
    if (!first) throw wrong('einsum: it needs an operand');
    return first.einsum(equation, ...rest);
  }

  /**
   * A picture as [height, width, 4], bytes of red, green, blue and opacity; other types have the same numbers. What it shows at the
   * call. On a GPU a video, frame, canvas or bitmap is read where it lies: its pixels do not come to the page's memory.
   */
  static fromData(picture: Picture, options: MakeOptions = {}): Tensor {
    const {device = 'cpu', dtype = 'u8', requiresGrad = false} = options;
    const {width: columns, height: rows} = sizeOf(picture);
    const snapshot = device === 'cpu' ? undefined : snapshotOf(picture);
    if (snapshot) {
      const port = {dtype: dtypeOf(dtype), shape: [1, rows, columns, 4]};
      using leaf = new Tensor(leafOn(port, device, engineOf(device).picture(port, snapshot)));
      const made = traced(false, () => leaf.reshape(port.shape.slice(1)));
      made.requiresGrad = requiresGrad;
      return made;
    }
    const {data, width, height} = pixels(picture);
    return new Tensor(data, {dtype: 'u8', ...options, shape: [height, width, 4]});
  }

  /** Computed into a tensor of its own, in one program: what is recorded of them from here on starts there. */
  static async compute(...tensors: readonly Tensor[]): Promise<Tensor[]> {
    await Promise.all(tensors.map((each) => each.data()));
    return tensors.map((each) => new Tensor(uploaded(each.dtype, each.shape, each.data(), each.device)));
  }

  // In place: the tensor gets other elements, other tensors keep theirs.

  /** Takes another's elements, broadcast to its shape. */
  copy_(source: Tensor | Scalar): this {
    const made = source instanceof Tensor ? source.to(this.device).expand(this.shape).clone() : Tensor.full([], source, {device: this.device}).expand(this.shape);
    return this.become(made.cast(this.dtype), 'copy_');
  }
  fill_(value: Scalar): this { return this.copy_(value); }
  zero_(): this { return this.copy_(0); }
  /** Drawn anew: evenly from [low, high). */
  uniform_(low = 0, high = 1): this { return this.copy_(Tensor.uniform(this.shape, low, high, {device: this.device})); }
  normal_(mean = 0, deviation = 1): this { return this.copy_(Tensor.normal(this.shape, mean, deviation, {device: this.device})); }
  /** Whole numbers in [from, to). */
  random_(from: number, to?: number): this {
    return this.copy_(Tensor.randint(to === undefined ? 0 : from, to ?? from, this.shape, {device: this.device}));
  }
  /** Of the exponential distribution with rate lambda. */
  exponential_(lambda = 1): this { return this.copy_(drawnLike(this).log().mul(-1 / lambda)); }
  /** How many tries until one of probability p succeeds. */
  geometric_(p: number): this { return this.copy_(drawnLike(this).log().div(Math.log1p(-p)).ceil()); }
  cauchy_(median = 0, sigma = 1): this { return this.copy_(drawnLike(this).sub(0.5).mul(Math.PI).tan().mul(sigma).add(median)); }
  logNormal_(mean = 1, deviation = 2): this { return this.copy_(Tensor.normal(this.shape, mean, deviation, {device: this.device}).exp()); }

  // Other tensors of its type, on its device.

  newTensor(data: Data): Tensor { return new Tensor(data, {dtype: this.dtype, device: this.device}); }
  newZeros(...shape: readonly (number | Shape)[]): Tensor { return this.newFull(shape.flat(), 0); }
  newEmpty(...shape: readonly (number | Shape)[]): Tensor { return this.newFull(shape.flat(), 0); }
  newOnes(...shape: readonly (number | Shape)[]): Tensor { return this.newFull(shape.flat(), 1); }
  newFull(shape: Shape, value: Scalar): Tensor { return Tensor.full(shape, value, {dtype: this.dtype, device: this.device}); }

  // What it is, by PyTorch's names.

  get isCpu(): boolean { return this.device === 'cpu'; }
  /** Steps of row-major order, in elements. */
  stride(): number[] { return computeStrides(this.shape); }
  /** Tensors share no memory. */
  storageOffset(): number { return 0; }
  dim(): number { return this.ndim; }
  ndimension(): number { return this.ndim; }
  nelement(): number { return this.size; }
  get itemsize(): number { return byteSize(this) / Math.max(this.size, 1) || 4; }
  elementSize(): number { return this.itemsize; }
  get nbytes(): number { return byteSize(this); }
  isFloatingPoint(): boolean { return isFloat(this.dtype); }
  isSigned(): boolean { return isSigned(this.dtype); }
  isSameSize(other: Tensor): boolean { return shapeText(this.shape) === shapeText(other.shape); }
  /** Tensors are in row-major order. */
  isContiguous(): boolean { return true; }
  contiguous(): this { return this; }
  cpu(): this { return this.to('cpu'); }
  float(): this { return this.cast('f32'); }
  double(): this { return this.cast('f64'); }
  half(): this { return this.cast('f16'); }
  long(): this { return this.cast('i64'); }
  int(): this { return this.cast('i32'); }
  short(): this { return this.cast('i16'); }
  char(): this { return this.cast('i8'); }
  byte(): this { return this.cast('u8'); }
  bool(): this { return this.cast('bool'); }
  type(dtype: DTypeName): this { return this.cast(dtype); }
  tolist(): Promise<Nested> { return this.array(); }

  /** Whether all elements are close; see isclose(). */
  async allclose(other: this, rtol = 1e-5, atol = 1e-8, equalNan = false): Promise<boolean> {
    return (await this.isclose(other, rtol, atol, equalNan).all().item()) !== 0;
  }

  /** Whether shapes and elements are equal. */
  async equal(other: this): Promise<boolean> {
    return this.isSameSize(other) && (await this.eq(other).all().item()) !== 0;
  }

  argwhere(): Promise<this> { return this.nonzero(); }
  /** Elements at places among all; negative ones count from the end. */
  take(places: this): this { return this.reshape(-1).index(places); }

  /** Without elements that are equal to the one before. */
  async uniqueConsecutive(): Promise<Tensor> {
    const data = await this.data();
    return new Tensor(data.filter((each: number | bigint, at: number) => at === 0 || each !== data[at - 1]), {dtype: this.dtype, device: this.device});
  }

  async isNonzero(): Promise<boolean> {
    return (await this.item()) !== 0;
  }

  /** How often each whole number from 0 is there, with a factor each. */
  async bincount(weights?: Tensor | null, minlength = 0): Promise<Tensor> {
    const most = this.size > 0 ? await this.max().item() : -1;
    const start = Tensor.zeros([Math.max(most + 1, minlength)], {device: this.device, dtype: weights ? weights.dtype : 'i32'});
    return start.scatterAdd(0, this, weights ?? Tensor.onesLike(this, {dtype: 'i32'}));
  }

  /** A tensor of its own with the same elements. */
  clone(): this {
    return this.apply('Identity');
  }

  /** TensorJS's names. */
  getValues(): Promise<TensorData> { return this.data(); }
  getShape(): readonly number[] { return this.shape; }
  copy(): this { return this.clone(); }
  delete(): void { this.dispose(); }
  constantLike(value: number): Tensor { return Tensor.full(this.shape, value, {dtype: this.dtype, device: this.device}); }
  singleConstant(value: number): Tensor { return Tensor.full([1], value, {dtype: this.dtype, device: this.device}); }

  /** Whether shapes are equal and elements differ by at most epsilon. */
  async compare(other: Tensor, epsilon = 0): Promise<boolean> {
    if (shapeText(this.shape) !== shapeText(other.shape)) return false;
    const [a, b] = await Promise.all([this.data(), other.data()]);
    return a.every((value: number | bigint, at: number) => Math.abs(Number(value) - Number(b[at])) <= epsilon);
  }

  /** One element. */
  async get(index: Shape): Promise<number> {
    return Number((await this.data())[placeIn(this.shape, index)]);
  }

  /** Gives the tensor other elements, of which one is `value`; other tensors keep theirs. */
  async set(index: Shape, value: number): Promise<void> {
    const at = placeIn(this.shape, index);
    const data = (await this.data()).slice();
    data[at] = typeof data[at] === 'bigint' ? BigInt(value) : value;
    (this as Tensor).assign(Tensor.#from(this.shape, data, this.dtype, {device: this.device}));
  }

  /** Both shapes with as many axes, and what they broadcast to. */
  alignShapes(a: Shape, b: Shape): [number[], number[], number[]] {
    const made = broadcastShapes(a, b);
    const fill = (shape: Shape): number[] => [...new Array<number>(made.length - shape.length).fill(1), ...shape];
    return [fill(a), fill(b), made];
  }

  /** With axes of extent 1 before its own, so that it has as many as the shape. */
  alignTensor(tensor: Tensor, shape: Shape): Tensor {
    return tensor.reshape(this.alignShapes(tensor.shape, shape)[0]);
  }
}
Core.type = Tensor;

/** TensorJS's class of tensors that are computed with in wasm: the shape first. */
export class CPUTensor extends Tensor {
  constructor(shape: Shape, values?: ArrayLike<number>, dtype: DTypeName = 'f32') {
    super(values ?? arrayFor(dtypeOf(dtype), getSize(shape)), {shape, dtype, device: 'cpu'});
  }
}

/** The same under its other name: the run time has no slower way on a CPU. */
export const WASMTensor = CPUTensor;

/** TensorJS's class of tensors on the GPU: the values first. Through WebGL, or through WebGPU where it is asked for. */
export class GPUTensor extends Tensor {
  constructor(values: ArrayLike<number>, shape: Shape, dtype: DTypeName = 'f32', device: Device = 'webgl') {
    super(values, {shape, dtype, device});
  }
}

/** TensorJS's wrapper of a tensor that gradients are computed for, unless `noGrad`. */
export class Variable extends Tensor {
  constructor(value: Tensor, {noGrad = false}: {readonly noGrad?: boolean} = {}) {
    super(value.value.hold());
    if (!noGrad) this.requiresGrad = true;
  }
  static create(shape: Shape, values: ArrayLike<number>, {noGrad = false, ...options}: MakeOptions & {readonly noGrad?: boolean} = {}): Variable {
    return new Variable(new Tensor(values, {...options, shape}), {noGrad});
  }
}

