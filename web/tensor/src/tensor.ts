/** Tensors of a page: made from arrays, numbers and images; everything else is inherited, a file for each kind of operation. */
import {shapeText, type TensorData} from '../../runtime/src/types.ts';
import {arrayFor, Core, leafOn, MAKE, noGrad, uploaded} from './core.ts';
import {type DType, type DTypeName, dtypeOf} from './dtype.ts';
import type {Scalar} from './elementwise.ts';
import {engineOf} from './engine.ts';
import {type Picture, pixels, sizeOf, snapshotOf} from './picture.ts';
import {optionsOf} from './options.ts';
import {Products} from './products.ts';
import {normal, permutation, uniform} from './random.ts';
import type {Device} from './recording.ts';
import {broadcastShapes, computeStrides, getSize, indexToPos, type Shape, shapeOf, wrong} from './shape.ts';

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

/**
 * A tensor. Operations record; what is read (data(), item(), array()) is computed. Its elements never change: an optimizer's step
 * gives a parameter other ones.
 */
export class Tensor extends Products {
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
      const made = noGrad(() => leaf.reshape(port.shape.slice(1)));
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

