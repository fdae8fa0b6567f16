/** Sums of products and windows: matrices, convolutions, pools, normalisation, resampling. */
import type {Core} from './core.ts';
import {shapeText} from '../../runtime/src/values/types.ts';
import {Layout} from './layout.ts';
import {type Given, optionsOf} from './options.ts';
import {type Attributes, constant, Floats, integers, recordNode, type Recorded} from './recording.ts';
import {type Shape, wrong} from './shape.ts';

export type Activation = 'id' | 'relu' | 'relu6';

/** A number for all axes of the plane, or one each. */
export type PerAxis = number | Shape;

export type ConvPadding = PerAxis | 'same' | 'valid';

export interface WindowOptions {
  readonly stride?: PerAxis | undefined;
  /** At both ends. */
  readonly padding?: PerAxis | undefined;
  readonly dilation?: PerAxis | undefined;
}

export interface ConvOptions extends Omit<WindowOptions, 'padding'> {
  /** At both ends; 'same': as many places as there are, of a stride of 1; 'valid': none. */
  readonly padding?: ConvPadding | undefined;
  readonly groups?: number | undefined;
}

export interface PoolOptions extends WindowOptions {
  /** Windows that reach over the end count too. */
  readonly ceilMode?: boolean | undefined;
}

export interface ResizeOptions {
  readonly size?: PerAxis | undefined;
  readonly scale?: PerAxis | undefined;
  /** PyTorch's name of `scale`. */
  readonly scaleFactor?: PerAxis | undefined;
  readonly mode?: 'nearest' | 'nearest-exact' | 'linear' | 'bilinear' | 'trilinear' | 'bicubic' | 'area' | undefined;
  readonly alignCorners?: boolean | undefined;
  /** There for PyTorch's order; sizes are always those of the factors given. */
  readonly recomputeScaleFactor?: boolean | undefined;
  /** Kernels that are wider where the plane shrinks; of nn.functional.interpolate(). */
  readonly antialias?: boolean | undefined;
}

/** PyTorch's order of the options of convolutions, and their defaults. */
export const CONV = {stride: 1 as PerAxis, padding: [0] as ConvPadding, dilation: 1 as PerAxis, groups: 1};
export const CONV_TRANSPOSE = {stride: 1 as PerAxis, padding: 0 as PerAxis, outputPadding: 0 as PerAxis, groups: 1, dilation: 1 as PerAxis};
export type ConvPlaces = [stride?: PerAxis, padding?: ConvPadding, dilation?: PerAxis, groups?: number];
export type PoolPlaces = [stride?: PerAxis, padding?: PerAxis, dilation?: PerAxis, ceilMode?: boolean];
export type AvgPoolOptions = PoolOptions & {readonly countIncludePad?: boolean};
export type AvgPoolPlaces = [stride?: PerAxis, padding?: PerAxis, ceilMode?: boolean, countIncludePad?: boolean];
export type ResizePlaces =
  [size?: PerAxis, scale?: PerAxis, mode?: ResizeOptions['mode'], alignCorners?: boolean, recomputeScaleFactor?: boolean, antialias?: boolean];

const LINEAR: Attributes = {mode: 'linear'};
/** Of PyTorch's modes, ONNX's attributes of Resize. */
const RESIZE_MODES: Readonly<Record<string, Attributes>> = {
  nearest: {coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor'},
  'nearest-exact': {nearest_mode: 'round_prefer_ceil'},
  linear: LINEAR,
  bilinear: LINEAR,
  trilinear: LINEAR,
  bicubic: {mode: 'cubic', cubic_coeff_a: new Floats(-0.75)},
};

/** Of operators in errors. */
const NAMES: Readonly<Record<string, string>> = {MaxPool: 'maxPool', AveragePool: 'avgPool'};

/** An option without a default. */
const UNSET = undefined as PerAxis | undefined;

export const RESIZE = {size: UNSET, scale: UNSET, mode: 'nearest', alignCorners: false, recomputeScaleFactor: false, antialias: false};

const spread = (given: PerAxis | undefined, rank: number, otherwise: number): number[] =>
  given === undefined || typeof given === 'number' ? new Array<number>(rank).fill(given ?? otherwise) : [...given];

function pool<T extends Core>(x: T, op: string, window: PerAxis, {stride, padding, dilation, ceilMode}: PoolOptions, more: Attributes = {}): T {
  const rank = Math.max(x.ndim - 2, 1);
  const kernel = spread(window, rank, 1);
  const ends = spread(padding, rank, 0);
  const gaps = spread(dilation, rank, 1);
  kernel.forEach((extent, axis) => {
    const reach = (gaps[axis] ?? 1) * (extent - 1) + 1;
    const [end = 0, length = 1] = [ends[axis], x.shape[axis + x.ndim - rank]];
    if (end > Math.floor(reach / 2)) throw wrong(`${NAMES[op] ?? op}: a padding of ${end}; at most half of the window of ${reach} is allowed`);
    if (reach > length + 2 * end && !more['pads']) throw wrong(`${NAMES[op] ?? op}: a window of ${reach} over ${length + 2 * end} places of axis ${axis + x.ndim - rank}, padding included`);
  });
  return x.apply(op, [x], {
    kernel_shape: kernel, strides: stride === undefined ? kernel : spread(stride, rank, 1), pads: [...ends, ...ends],
    dilations: gaps, ceil_mode: Number(ceilMode ?? false), ...more,
  });
}

/** Begins, then ends. */
export function padsOf(padding: ConvPadding, window: Shape, gaps: Shape): number[] {
  if (padding !== 'same' && padding !== 'valid') {
    if (typeof padding === 'string') throw wrong(`conv: a padding of '${String(padding)}'; numbers, 'same' and 'valid' are allowed`);
    const ends = spread(typeof padding === 'object' && padding.length === 1 ? padding[0] : padding, window.length, 0);
    return [...ends, ...ends];
  }
  const reach = window.map((extent, axis) => (padding === 'same' ? (gaps[axis] ?? 1) * (extent - 1) : 0));
  return [...reach.map((each) => Math.floor(each / 2)), ...reach.map((each) => Math.ceil(each / 2))];
}

export class Products extends Layout {
  /** The matrix product; leading axes are batches and broadcast. */
  matmul(other: this): this {
    return this.binary('MatMul', other);
  }

  matMul(other: this): this { return this.matmul(other); }
  mm(other: this): this { return this.matmul(other); }
  bmm(other: this): this { return this.matmul(other); }
  mv(other: this): this { return this.matmul(other); }
  dot(other: this): this { return this.matmul(other); }
  outer(other: this): this { return this.unsqueeze(1).mul(other.unsqueeze(0)); }

  /** alpha * this * b + beta * c, with this and b transposed if asked; axes before the last two are batches. */
  gemm(b: this, aTranspose = false, bTranspose = false, alpha = 1, c?: this | null, beta = 1): this {
    if (this.ndim !== 2) {
      const product = (aTranspose ? this.transpose(-2, -1) : this).matmul(bTranspose ? b.transpose(-2, -1) : b).mul(alpha);
      return c ? product.add(c.mul(beta)) : product;
    }
    const attributes = {transA: Number(aTranspose), transB: Number(bTranspose), alpha: new Floats(alpha), beta: new Floats(beta)};
    return this.apply('Gemm', c ? [this, b, c] : [this, b], attributes);
  }

  /** this + a * b. */
  addmm(a: this, b: this): this { return a.gemm(b, false, false, 1, this); }

  /** x * weight^T + bias, over the last axis. */
  linear(weight: this, bias?: this | null): this {
    if (weight.ndim !== 2 || this.shape.at(-1) !== weight.shape[1]) {
      throw wrong(`linear: shape ${shapeText(this.shape)} times weight of shape ${shapeText(weight.shape)}: ${this.shape.at(-1) ?? 1} and ${weight.shape[1] ?? 1} features`);
    }
    if (this.ndim === 2) return this.gemm(weight, false, true, 1, bias);
    const product = this.matmul(weight.transpose());
    return bias ? product.add(bias) : product;
  }

  /** ONNX's Einsum: x.einsum('ij,jk->ik', y). */
  einsum(equation: string, ...others: readonly this[]): this {
    return this.apply('Einsum', [this, ...others], {equation});
  }

  /** Convolution of [n, channels, ...plane] with a kernel [out, channels / group, ...window]; `pads`: begins, then ends. */
  conv(kernel: this, bias?: this | null, dilations?: Shape, group = 1, pads?: Shape, strides?: Shape, activation: Activation = 'id'): this {
    const rank = kernel.ndim - 2;
    const padding = pads ?? new Array<number>(2 * rank).fill(0);
    const made = this.apply('Conv', bias ? [this, kernel, bias] : [this, kernel], {
      dilations: spread(dilations, rank, 1), group, pads: padding, strides: spread(strides, rank, 1), kernel_shape: kernel.shape.slice(2),
    });
    return activation === 'relu' ? made.relu() : activation === 'relu6' ? made.relu6() : made;
  }

  /** PyTorch's conv1d, conv2d and conv3d. */
  convolve(kernel: this, bias?: this | null, ...given: Given<ConvOptions, ConvPlaces>): this {
    const rank = kernel.ndim - 2;
    const {stride, padding, dilation, groups} = optionsOf(`conv${rank}d`, CONV, given);
    const gaps = spread(dilation, rank, 1);
    const [steps, pads] = [spread(stride, rank, 1), padsOf(padding, kernel.shape.slice(2), gaps)];
    if (padding === 'same' && steps.some((each) => each !== 1)) throw wrong(`conv${rank}d: padding 'same' goes with a stride of 1 alone, not ${steps.join(' x ')}`);
    if (this.ndim === rank + 2) {
      kernel.shape.slice(2).forEach((extent, axis) => {
        const reach = (gaps[axis] ?? 1) * (extent - 1) + 1;
        const length = (this.shape[axis + 2] ?? 1) + (pads[axis] ?? 0) + (pads[axis + rank] ?? 0);
        if (reach > length) throw wrong(`conv${rank}d: a window of ${reach} over ${length} places of axis ${axis + 2}, padding included`);
      });
    }
    return this.conv(kernel, bias, gaps, groups, pads, steps);
  }

  /** Transposed convolution with a kernel [channels, out / group, ...window]; `pads`: begins, then ends. */
  convTranspose(kernel: this, bias?: this | null, dilations?: Shape, group = 1, pads?: Shape, strides?: Shape, outputPadding?: Shape): this {
    const rank = kernel.ndim - 2;
    return this.apply('ConvTranspose', bias ? [this, kernel, bias] : [this, kernel], {
      dilations: spread(dilations, rank, 1), group, pads: pads ?? new Array<number>(2 * rank).fill(0),
      strides: spread(strides, rank, 1), output_padding: spread(outputPadding, rank, 0), kernel_shape: kernel.shape.slice(2),
    });
  }

  /** The largest element of each window of the plane. */
  maxPool(window: PerAxis, ...given: Given<PoolOptions, PoolPlaces>): this {
    return pool(this, 'MaxPool', window, optionsOf('maxPool', {stride: UNSET, padding: 0, dilation: 1, ceilMode: false}, given));
  }

  /** The mean of each window of the plane; padding counts as zeros unless told otherwise. */
  avgPool(window: PerAxis, ...given: Given<AvgPoolOptions, AvgPoolPlaces>): this {
    const known = {stride: UNSET, padding: 0 as PerAxis, ceilMode: false, countIncludePad: true, dilation: 1 as PerAxis};
    const options = optionsOf('avgPool', known, given);
    return pool(this, 'AveragePool', window, options, {count_include_pad: Number(options.countIncludePad)});
  }

  /** TensorJS's averagePool: `pads` are begins, then ends. */
  averagePool(kernelShape: Shape, pads?: Shape, strides?: Shape, includePad = false): this {
    return pool(this, 'AveragePool', kernelShape, {stride: strides ?? 1}, {...(pads && {pads}), count_include_pad: Number(includePad)});
  }

  globalAveragePool(): this { return this.apply('GlobalAveragePool'); }
  globalMaxPool(): this { return this.apply('GlobalMaxPool'); }

  /** The mean (or largest element) of windows that make a plane of this size; they overlap where it does not divide the input's. */
  adaptivePool(size: PerAxis, kind: 'avg' | 'max' = 'avg'): this {
    const plane = this.shape.slice(2);
    const wanted = spread(size, plane.length, 1);
    if (wanted.every((each) => each === 1) && !plane.includes(0)) return kind === 'avg' ? this.globalAveragePool() : this.globalMaxPool();
    const window = plane.map((extent, axis) => extent / (wanted[axis] ?? 1));
    if (window.every(Number.isInteger)) return kind === 'avg' ? this.avgPool(window) : this.maxPool(window);
    return wanted.reduce<this>((x, size, axis) => Products.#windows(x, axis + 2, size, kind), this);
  }

  /** One axis at another size, by windows of one length: shorter ones repeat their last element, whose copies share its weight. */
  static #windows<T extends Products>(x: T, axis: number, size: number, kind: 'avg' | 'max'): T {
    const extent = x.shape[axis] ?? 1;
    if (size === extent) return x;
    const begin = (place: number) => Math.floor((place * extent) / size);
    const length = (place: number) => Math.ceil(((place + 1) * extent) / size) - begin(place);
    const longest = Math.max(...Array.from({length: size}, (_, place) => length(place)));
    const each = (value: (place: number, at: number) => number) => Array.from({length: size * longest}, (_, at) => value(Math.floor(at / longest), at % longest));
    const places = each((place, at) => begin(place) + Math.min(at, length(place) - 1));
    const windows = x.apply('Gather', [x, constant('i64', [size, longest], places)], {axis});
    const over = integers([axis + 1]);
    if (kind === 'max') return x.apply('ReduceMax', [windows, over], {keepdims: 0});
    const weights = each((place, at) => 1 / length(place) / (at < length(place) - 1 ? 1 : longest - length(place) + 1));
    const shape = [size, longest, ...x.shape.slice(axis + 1).map(() => 1)];
    return x.apply('ReduceSum', [windows.apply('Mul', [windows, constant(x.dtype, shape, weights)]), over], {keepdims: 0});
  }

  /** The plane at another size, or by a factor, which places elements then even where the size is rounded. */
  interpolate(...given: Given<ResizeOptions, ResizePlaces>): this {
    const {size, scale, mode, alignCorners, antialias} = optionsOf('interpolate', RESIZE, given, {scaleFactor: 'scale'});
    if (antialias) throw wrong('interpolate: antialias is an option of nn.functional.interpolate()');
    const rank = this.ndim - 2;
    const attributes = RESIZE_MODES[mode];
    if (!attributes && mode !== 'area') throw wrong(`interpolate: mode '${mode}'; it must be ${Object.keys(RESIZE_MODES).join(', ')} or area`);
    if (!size === !scale) throw wrong('interpolate: it needs a size or a scale');
    if (alignCorners && !attributes?.['mode']) throw wrong(`interpolate: alignCorners does not go with mode '${mode}'`);
    const scales = spread(scale, rank, 1);
    const plane = size ? spread(size, rank, 1) : scales.map((factor, axis) => Math.floor((this.shape[axis + 2] ?? 1) * factor));
    if (!attributes) return this.adaptivePool(plane);
    const by = size || alignCorners ? [null, integers([...this.shape.slice(0, 2), ...plane])] : [constant('f32', [this.ndim], [1, 1, ...scales])];
    const coordinates = alignCorners ? 'align_corners' : 'half_pixel';
    return this.apply('Resize', [this, null, ...by], {mode: 'nearest', coordinate_transformation_mode: coordinates, ...attributes});
  }

  /** TensorJS's upsample: factors of all axes, elements repeated. */
  upsample(scales: Shape): this {
    const shape = this.shape.map((extent, axis) => Math.floor(extent * (scales[axis] ?? 1)));
    return this.apply('Resize', [this, null, null, integers(shape)], {mode: 'nearest', ...RESIZE_MODES['nearest']});
  }

  /** (this - mean) / sqrt(variance + epsilon) * scale + bias, a number a channel (axis 1). */
  normalize(mean: this, variance: this, epsilon: number, scale?: this | null, bias?: this | null): this {
    const channels = this.shape[1] ?? 1;
    const filled = (value: number) => constant(this.dtype, [channels], new Array<number>(channels).fill(value));
    return this.apply('BatchNormalization', [this, scale ?? filled(1), bias ?? filled(0), mean, variance], {epsilon: new Floats(epsilon)});
  }

  /** Normalised over the last axes, whose extents `shape` has. */
  layerNorm(shape: Shape, weight?: this | null, bias?: this | null, epsilon = 1e-5): this {
    const axis = this.ndim - shape.length;
    if (axis < 0 || this.shape.slice(axis).join() !== shape.join()) {
      throw wrong(`layerNorm: a tensor of shape ${shapeText(this.shape)} does not end in ${shapeText(shape)}`);
    }
    // A node of its own, not a tensor, which would have a device.
    const scale = weight ?? (recordNode('Expand', [constant(this.dtype, [], [1]), integers(shape)])[0] as Recorded);
    return this.apply('LayerNormalization', bias ? [this, scale, bias] : [this, scale], {axis, epsilon: new Floats(epsilon)});
  }

  /** Groups of channels (axis 1) normalised by their own mean and variance. */
  groupNorm(groups: number, weight?: this | null, bias?: this | null, epsilon = 1e-5): this {
    const [batch = 1, channels = 1] = this.shape;
    if (channels % groups) throw wrong(`groupNorm: ${channels} channels in ${groups} groups`);
    const rows = this.reshape(batch, groups, -1);
    const middle = rows.sub(rows.mean(-1, true));
    const normal = middle.div(middle.square().mean(-1, true).add(epsilon).sqrt()).reshape(this.shape);
    const spreadOver = (each: this) => each.reshape([channels, ...new Array<number>(this.ndim - 2).fill(1)]);
    const scaled = weight ? normal.mul(spreadOver(weight)) : normal;
    return bias ? scaled.add(spreadOver(bias)) : scaled;
  }
}
