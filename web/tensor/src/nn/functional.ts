/** What layers compute, as functions (PyTorch's torch.nn.functional). */
import {resample} from '../composed/functional.ts';
import {looks} from '../execution.ts';
import {type Given, optionsOf} from '../options.ts';
import {
  type AvgPoolOptions, type AvgPoolPlaces, CONV_TRANSPOSE, type ConvOptions, type ConvPlaces, type PerAxis, type PoolOptions, type PoolPlaces, RESIZE, type ResizeOptions,
  type ResizePlaces,
} from '../products.ts';
import {randomBits} from '../random_bits.ts';
import {constant} from '../recording.ts';
import {broadcastShapes, type Shape, wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import {traced} from '../tracing.ts';

export * from '../composed/functional.ts';
export * from '../composed/losses.ts';
export * from './losses.ts';

export const relu = (x: Tensor): Tensor => x.relu();
export const relu6 = (x: Tensor): Tensor => x.relu6();
export const selu = (x: Tensor): Tensor => x.selu();
export const silu = (x: Tensor): Tensor => x.silu();
export const mish = (x: Tensor): Tensor => x.mish();
export const softsign = (x: Tensor): Tensor => x.softsign();
export const sigmoid = (x: Tensor): Tensor => x.sigmoid();
export const hardsigmoid = (x: Tensor): Tensor => x.hardSigmoid();
export const hardswish = (x: Tensor): Tensor => x.hardSwish();
export const tanh = (x: Tensor): Tensor => x.tanh();

/** Slope times x below 0; one slope, or one a channel. */
export function prelu(x: Tensor, slope: Tensor): Tensor {
  const fitted = slope.size === 1 ? slope : slope.reshape([-1, ...new Array<number>(Math.max(x.ndim - 2, 0)).fill(1)]);
  return x.apply('PRelu', [x, fitted]);
}

export const linear = (x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor => x.linear(weight, bias);

type ConvGiven = Given<ConvOptions, ConvPlaces>;

/** x of [n, channels, ...plane] or without n; weight of [out, channels / groups, ...window]. */
function conv(rank: number, x: Tensor, weight: Tensor, bias: Tensor | null | undefined, given: ConvGiven): Tensor {
  if (weight.ndim !== rank + 2) throw wrong(`conv${rank}d: a weight of ${weight.ndim} axes`);
  if (x.ndim === rank + 1) return x.unsqueeze(0).convolve(weight, bias, ...given).squeeze(0);
  return x.convolve(weight, bias, ...given);
}
export const conv1d = (x: Tensor, weight: Tensor, bias?: Tensor | null, ...given: ConvGiven): Tensor => conv(1, x, weight, bias, given);
export const conv2d = (x: Tensor, weight: Tensor, bias?: Tensor | null, ...given: ConvGiven): Tensor => conv(2, x, weight, bias, given);
export const conv3d = (x: Tensor, weight: Tensor, bias?: Tensor | null, ...given: ConvGiven): Tensor => conv(3, x, weight, bias, given);

export interface ConvTransposeOptions extends ConvOptions {
  readonly outputPadding?: PerAxis | undefined;
}
const list = (given: PerAxis | undefined, rank: number, otherwise: number): number[] =>
  given === undefined || typeof given === 'number' ? new Array<number>(rank).fill(given ?? otherwise) : [...given];

/** Options of transposed convolutions, in PyTorch's order. */
export type ConvTransposeGiven =
  Given<ConvTransposeOptions, [stride?: PerAxis, padding?: PerAxis, outputPadding?: PerAxis, groups?: number, dilation?: PerAxis]>;

export function convTranspose(rank: number, x: Tensor, weight: Tensor, bias: Tensor | null | undefined, given: readonly unknown[]): Tensor {
  const name = `convTranspose${rank}d`;
  if (x.ndim === rank + 1) return convTranspose(rank, x.unsqueeze(0), weight, bias, given).squeeze(0);
  if (weight.ndim !== rank + 2 || x.ndim !== rank + 2) throw wrong(`${name}: a tensor of ${x.ndim} axes with a weight of ${weight.ndim}; ${rank + 2} are expected`);
  const options = optionsOf(name, CONV_TRANSPOSE, given);
  const [steps, gaps] = [list(options.stride, rank, 1), list(options.dilation, rank, 1)];
  const [ends, added] = [list(options.padding, rank, 0), list(options.outputPadding, rank, 0)];
  added.forEach((each, axis) => {
    const most = Math.max(steps[axis] ?? 1, gaps[axis] ?? 1) - 1;
    if (each > most) throw wrong(`${name}: an output padding of ${each}; at most ${most} is allowed, less than the stride or the dilation`);
  });
  return x.convTranspose(weight, bias, gaps, options.groups, [...ends, ...ends], steps, added);
}
export const convTranspose1d = (x: Tensor, weight: Tensor, bias?: Tensor | null, ...given: ConvTransposeGiven): Tensor => convTranspose(1, x, weight, bias, given);
export const convTranspose2d = (x: Tensor, weight: Tensor, bias?: Tensor | null, ...given: ConvTransposeGiven): Tensor => convTranspose(2, x, weight, bias, given);
export const convTranspose3d = (x: Tensor, weight: Tensor, bias?: Tensor | null, ...given: ConvTransposeGiven): Tensor => convTranspose(3, x, weight, bias, given);

/** A pool of [n, channels, ...plane] or without n, with a plane of `rank` axes. */
const pool = <Options extends unknown[]>(name: string, rank: number, of: (x: Tensor, ...given: Options) => Tensor) => (x: Tensor, ...given: Options): Tensor => {
  const more = x.ndim - rank;
  if (more === 1) return of(x.unsqueeze(0), ...given).squeeze(0);
  if (more !== 2) throw wrong(`${name}: a tensor of ${x.ndim} axes; ${rank + 1} or ${rank + 2} are expected`);
  return of(x, ...given);
};
const largest = (x: Tensor, window: PerAxis, ...given: Given<PoolOptions, PoolPlaces>): Tensor => x.maxPool(window, ...given);
const average = (x: Tensor, window: PerAxis, ...given: Given<AvgPoolOptions, AvgPoolPlaces>): Tensor => x.avgPool(window, ...given);
export const maxPool1d = pool('maxPool1d', 1, largest);
export const maxPool2d = pool('maxPool2d', 2, largest);
export const maxPool3d = pool('maxPool3d', 3, largest);
export const avgPool1d = pool('avgPool1d', 1, average);
export const avgPool2d = pool('avgPool2d', 2, average);
export const avgPool3d = pool('avgPool3d', 3, average);
export const adaptiveAvgPool1d = pool('adaptiveAvgPool1d', 1, (x, size: PerAxis) => x.adaptivePool(size));
export const adaptiveAvgPool2d = pool('adaptiveAvgPool2d', 2, (x, size: PerAxis) => x.adaptivePool(size));
export const adaptiveAvgPool3d = pool('adaptiveAvgPool3d', 3, (x, size: PerAxis) => x.adaptivePool(size));
export const adaptiveMaxPool1d = pool('adaptiveMaxPool1d', 1, (x, size: PerAxis) => x.adaptivePool(size, 'max'));
export const adaptiveMaxPool2d = pool('adaptiveMaxPool2d', 2, (x, size: PerAxis) => x.adaptivePool(size, 'max'));
export const adaptiveMaxPool3d = pool('adaptiveMaxPool3d', 3, (x, size: PerAxis) => x.adaptivePool(size, 'max'));

const KERNELS: Readonly<Record<string, string>> = {bilinear: 'linear', bicubic: 'cubic'};

/** The plane at another size or by a factor; antialias: by kernels that are wider where it shrinks. */
export function interpolate(x: Tensor, ...given: Given<ResizeOptions, ResizePlaces>): Tensor {
  const {antialias, ...options} = optionsOf('interpolate', RESIZE, given, {scaleFactor: 'scale'});
  if (!antialias) return x.interpolate(options as ResizeOptions);
  const {size, scale, mode, alignCorners} = options;
  const kernel = KERNELS[mode];
  if (!kernel || x.ndim !== 4) throw wrong(`interpolate: antialias with mode '${mode}' of ${x.ndim} axes; it goes with bilinear and bicubic of 4 axes`);
  if (!size === !scale) throw wrong('interpolate: it needs a size or a scale');
  const plane = x.shape.slice(2);
  const scales = list(scale, 2, 1);
  const wanted = size ? list(size, 2, 1) : plane.map((extent, axis) => Math.floor(extent * (scales[axis] ?? 1)));
  const factor = (extent: number, count: number, axis: number): number =>
    alignCorners ? (count > 1 ? (extent - 1) / (count - 1) : 0) : size ? extent / count : 1 / (scales[axis] ?? 1);
  return resample(x, wanted, kernel, plane.map((extent, axis) => factor(extent, wanted[axis] ?? 1, axis)));
}

export const oneHot = (x: Tensor, classes: number): Tensor => x.oneHot(classes);

/** Rows of a table. The row `paddingIndex` gets no gradient. */
export function embedding(places: Tensor, weight: Tensor, paddingIndex?: number): Tensor {
  if (paddingIndex === undefined) return weight.indexSelect(0, places);
  const row = Tensor.where(Tensor.arange(weight.shape[0] ?? 0, undefined, 1, {device: weight.device}).eq(paddingIndex).unsqueeze(1), weight.detach(), weight);
  return row.indexSelect(0, places);
}

/** While training, zeros a share p of the elements and scales the rest by 1 / (1 - p). */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor {
  if (!(p >= 0 && p <= 1)) throw wrong(`dropout: a probability of ${p}`);
  if (!training || p === 0) return x;
  if (p === 1) return x.mul(0);
  // An export: other elements in each run.
  if (looks()) return x.apply('Dropout', [x, constant('f32', [], [p]), constant('bool', [], [1])]);
  const kept = randomBits(x.shape, x).bitwiseRightShift(8).cast('f32').ge(p * 2 ** 24);
  return x.mul(kept.cast(x.dtype)).mul(1 / (1 - p));
}

export const layerNorm = (x: Tensor, shape: Shape, weight?: Tensor | null, bias?: Tensor | null, epsilon = 1e-5): Tensor =>
  x.layerNorm(shape, weight, bias, epsilon);
export const groupNorm = (x: Tensor, groups: number, weight?: Tensor | null, bias?: Tensor | null, epsilon = 1e-5): Tensor =>
  x.groupNorm(groups, weight, bias, epsilon);

export interface StatisticsOptions {
  readonly weight?: Tensor | null | undefined;
  readonly bias?: Tensor | null | undefined;
  readonly training?: boolean | undefined;
  readonly momentum?: number | null | undefined;
  readonly eps?: number | undefined;
}
type StatisticsPlaces = [weight?: Tensor | null, bias?: Tensor | null, training?: boolean, momentum?: number, eps?: number];
const NO_TENSOR = undefined as Tensor | undefined;

/** A number a channel, for a tensor of this many axes. */
const channels = (each: Tensor, rank: number): Tensor => each.reshape([1, -1, ...new Array<number>(rank - 2).fill(1)]);

function move(running: Tensor | null | undefined, measured: Tensor, momentum: number): void {
  running?.assign(running.mul(1 - momentum).add(measured.reshape(-1).mul(momentum)));
}

/** Channels (axis 1) normalised; while training by the batch's mean and variance, which move the running ones. */
export function batchNorm(x: Tensor, runningMean: Tensor | null, runningVar: Tensor | null, ...given: Given<StatisticsOptions, StatisticsPlaces>): Tensor {
  const {weight, bias, training, momentum, eps} = optionsOf('batchNorm', {weight: NO_TENSOR, bias: NO_TENSOR, training: false, momentum: 0.1, eps: 1e-5}, given);
  if (!training && runningMean && runningVar) return x.normalize(runningMean, runningVar, eps, weight, bias);
  if (!training) throw wrong('batchNorm: without running statistics it is for training alone');
  const axes = [...x.shape.keys()].filter((axis) => axis !== 1);
  const count = x.size / (x.shape[1] ?? 1);
  if (count < 2) throw wrong(`batchNorm: ${count} value a channel of shape [${x.shape.join(', ')}]; more than 1 is needed`);
  const mean = x.mean(axes, true);
  const centered = x.sub(mean);
  const variance = centered.square().mean(axes, true);
  traced(false, () => {
    move(runningMean, mean.detach(), momentum);
    // Fed, so that other batches are the same program.
    move(runningVar, variance.detach().mul(new Tensor(count / (count - 1), {device: x.device})), momentum);
  });
  let normal = centered.mul(variance.add(eps).rsqrt());
  if (weight) normal = normal.mul(channels(weight, x.ndim));
  return bias ? normal.add(channels(bias, x.ndim)) : normal;
}

/** Channels of each sample normalised, by their own statistics or, unless `useInputStats`, by running ones. */
export function instanceNorm(
  x: Tensor, runningMean?: Tensor | null, runningVar?: Tensor | null,
  ...given: Given<Omit<StatisticsOptions, 'training'> & {readonly useInputStats?: boolean}, [weight?: Tensor | null, bias?: Tensor | null, useInputStats?: boolean, momentum?: number, eps?: number]>
): Tensor {
  const known = {weight: NO_TENSOR, bias: NO_TENSOR, useInputStats: true, momentum: 0.1, eps: 1e-5};
  const {weight, bias, useInputStats, momentum, eps} = optionsOf('instanceNorm', known, given);
  if (!useInputStats) return batchNorm(x, runningMean ?? null, runningVar ?? null, {weight, bias, eps});
  const axes = [...x.shape.keys()].slice(2);
  const count = axes.reduce((all, axis) => all * (x.shape[axis] ?? 1), 1);
  if (count < 2) throw wrong(`instanceNorm: ${count} value a channel of shape [${x.shape.join(', ')}]; more than 1 is needed`);
  if (runningMean && runningVar) {
    traced(false, () => {
      move(runningMean, x.detach().mean(axes).mean(0), momentum);
      move(runningVar, x.detach().var(axes).mean(0), momentum);
    });
  }
  return x.groupNorm(x.shape[1] ?? 1, weight, bias, eps);
}


export interface AttentionOptions {
  /** Added to the scores, or, of bool, where to look. */
  readonly mask?: Tensor | null | undefined;
  readonly dropout?: number | undefined;
  /** Only at what came before. */
  readonly causal?: boolean | undefined;
  readonly scale?: number | undefined;
}

/** PyTorch's names of these. */
export interface PyTorchAttentionOptions {
  readonly attnMask?: Tensor | null | undefined;
  readonly dropoutP?: number | undefined;
  readonly isCausal?: boolean | undefined;
}

/** softmax(q k^T * scale + mask) as weights: [..., targets, sources]. */
export function attentionWeights(q: Tensor, k: Tensor, {mask, causal, scale}: AttentionOptions): Tensor {
  const factor = scale ?? 1 / Math.sqrt(q.shape.at(-1) ?? 1);
  let scores = q.mul(factor).matmul(k.transpose(-2, -1));
  if (mask?.dtype === 'bool') scores = scores.maskedFill(mask.logicalNot(), -Infinity);
  else if (mask) scores = scores.add(mask);
  if (causal) {
    const [targets = 1, sources = 1] = scores.shape.slice(-2);
    const later = Tensor.where(Tensor.ones([targets, sources], {dtype: 'bool', device: q.device}).tril(), 0, -Infinity);
    scores = scores.add(later.cast(scores.dtype));
  }
  return scores.softmax(-1);
}

/** softmax(q k^T * scale + mask) v over the last two axes. */
export function scaledDotProductAttention(
  q: Tensor, k: Tensor, v: Tensor,
  ...given: Given<AttentionOptions & PyTorchAttentionOptions, [mask?: Tensor | null, dropout?: number, causal?: boolean, scale?: number]>
): Tensor {
  const known = {mask: undefined as Tensor | undefined, dropout: 0, causal: false, scale: undefined as number | undefined};
  const options = optionsOf('scaledDotProductAttention', known, given, {attnMask: 'mask', dropoutP: 'dropout', isCausal: 'causal'});
  broadcastShapes(q.shape.slice(0, -2), k.shape.slice(0, -2), 'scaledDotProductAttention');
  return dropout(attentionWeights(q, k, options), options.dropout).matmul(v);
}

