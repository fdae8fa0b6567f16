/** What layers compute, as functions (PyTorch's torch.nn.functional). */
import {codeOf} from '../dtype.ts';
import {constant, recordNode, type Recorded} from '../recording.ts';
import {words} from '../random.ts';
import {type Given, optionsOf} from '../options.ts';
import {type AvgPoolOptions, type AvgPoolPlaces, CONV_TRANSPOSE, type ConvOptions, type ConvPlaces, type PerAxis, type PoolOptions, type PoolPlaces, type ResizeOptions, type ResizePlaces} from '../products.ts';
import type {PadMode} from '../layout.ts';
import {broadcastShapes, getSize, type Shape, wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';

export * from './losses.ts';

export const relu = (x: Tensor): Tensor => x.relu();
export const relu6 = (x: Tensor): Tensor => x.relu6();
export const leakyRelu = (x: Tensor, slope = 0.01): Tensor => x.leakyRelu(slope);
export const elu = (x: Tensor, alpha = 1): Tensor => x.elu(alpha);
export const celu = (x: Tensor, alpha = 1): Tensor => x.celu(alpha);
export const selu = (x: Tensor): Tensor => x.selu();
export const gelu = (x: Tensor, approximate: 'none' | 'tanh' = 'none'): Tensor => x.gelu(approximate);
export const silu = (x: Tensor): Tensor => x.silu();
export const mish = (x: Tensor): Tensor => x.mish();
export const softplus = (x: Tensor): Tensor => x.softplus();
export const softsign = (x: Tensor): Tensor => x.softsign();
export const sigmoid = (x: Tensor): Tensor => x.sigmoid();
export const hardsigmoid = (x: Tensor): Tensor => x.hardSigmoid();
export const hardswish = (x: Tensor): Tensor => x.hardSwish();
export const tanh = (x: Tensor): Tensor => x.tanh();
export const softmax = (x: Tensor, axis = -1): Tensor => x.softmax(axis);
export const logSoftmax = (x: Tensor, axis = -1): Tensor => x.logSoftmax(axis);

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

export function convTranspose2d(
  x: Tensor, weight: Tensor, bias?: Tensor | null,
  ...given: Given<ConvTransposeOptions, [stride?: PerAxis, padding?: PerAxis, outputPadding?: PerAxis, groups?: number, dilation?: PerAxis]>
): Tensor {
  const {stride, padding, dilation, groups, outputPadding} = optionsOf('convTranspose2d', CONV_TRANSPOSE, given);
  const ends = list(padding, 2, 0);
  return x.convTranspose(weight, bias, list(dilation, 2, 1), groups, [...ends, ...ends], list(stride, 2, 1), list(outputPadding, 2, 0));
}

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
export const avgPool1d = pool('avgPool1d', 1, average);
export const avgPool2d = pool('avgPool2d', 2, average);
export const adaptiveAvgPool2d = pool('adaptiveAvgPool2d', 2, (x, size: PerAxis) => x.adaptivePool(size));
export const adaptiveMaxPool2d = pool('adaptiveMaxPool2d', 2, (x, size: PerAxis) => x.adaptivePool(size, 'max'));
export const interpolate = (x: Tensor, ...given: Given<ResizeOptions, ResizePlaces>): Tensor => x.interpolate(...given);

/** `pads` names the last axis first: [before, after] of it, then of the one before. */
export function pad(x: Tensor, pads: Shape, mode: PadMode = 'constant', value = 0): Tensor {
  const [begins, ends] = [new Array<number>(x.ndim).fill(0), new Array<number>(x.ndim).fill(0)];
  for (let at = 0; at < pads.length; at += 2) {
    begins[x.ndim - 1 - at / 2] = pads[at] ?? 0;
    ends[x.ndim - 1 - at / 2] = pads[at + 1] ?? 0;
  }
  return x.pad([...begins, ...ends], mode, value);
}

export const oneHot = (x: Tensor, classes: number): Tensor => x.oneHot(classes);

/** Rows of a table. The row `paddingIndex` gets no gradient. */
export function embedding(places: Tensor, weight: Tensor, paddingIndex?: number): Tensor {
  if (paddingIndex === undefined) return weight.indexSelect(0, places);
  const row = Tensor.where(Tensor.arange(weight.shape[0] ?? 0, undefined, 1, {device: weight.device}).eq(paddingIndex).unsqueeze(1), weight.detach(), weight);
  return row.indexSelect(0, places);
}

/**
 * 32 bits of each place of a shape, hashed with a seed that is fed: the same numbers on every target, other ones in each call, and
 * one program for all calls. The hash is C. Wellons' lowbias32.
 */
export function randomBits(shape: Shape, like: Tensor): Tensor {
  const count = getSize(shape);
  const node = (op: string, ...inputs: Recorded[]): Recorded => recordNode(op, inputs, op === 'Cast' ? {to: codeOf('u32')} : undefined)[0] as Recorded;
  const places = node('Cast', node('Range', ...[0, count, 1].map((each) => constant('i64', [], [each]))));
  const seed = new Tensor([words(1)[0] ?? 0], {shape: [], dtype: 'u32', device: like.device});
  const mixed = (x: Tensor, shift: number, factor: number): Tensor => {
    const y = x.bitwiseXor(x.bitwiseRightShift(shift));
    return factor ? y.mul(factor) : y;
  };
  const spread = seed.apply('Add', [seed, node('Mul', places, constant('u32', [], [0x9e3779b9]))]);
  return mixed(mixed(mixed(spread, 16, 0x7feb352d), 15, 0x846ca68b), 16, 0).reshape(shape);
}

/** While training, zeros a share p of the elements (of channels: axes from 2 on are alike) and scales the rest by 1 / (1 - p). */
export function dropout(x: Tensor, p = 0.5, training = true, channels = false): Tensor {
  if (!(p >= 0 && p <= 1)) throw wrong(`dropout: a probability of ${p}`);
  if (!training || p === 0) return x;
  if (p === 1) return x.mul(0);
  const shape = channels ? x.shape.map((extent, axis) => (axis < 2 ? extent : 1)) : x.shape;
  const kept = randomBits(shape, x).bitwiseRightShift(8).cast('f32').ge(p * 2 ** 24);
  return x.mul(kept.cast(x.dtype)).mul(1 / (1 - p));
}

export const layerNorm = (x: Tensor, shape: Shape, weight?: Tensor | null, bias?: Tensor | null, epsilon = 1e-5): Tensor =>
  x.layerNorm(shape, weight, bias, epsilon);
export const groupNorm = (x: Tensor, groups: number, weight?: Tensor | null, bias?: Tensor | null, epsilon = 1e-5): Tensor =>
  x.groupNorm(groups, weight, bias, epsilon);
export const instanceNorm = (x: Tensor, weight?: Tensor | null, bias?: Tensor | null, epsilon = 1e-5): Tensor =>
  x.groupNorm(x.shape[1] ?? 1, weight, bias, epsilon);
export const batchNorm = (x: Tensor, mean: Tensor, variance: Tensor, weight?: Tensor | null, bias?: Tensor | null, epsilon = 1e-5): Tensor =>
  x.normalize(mean, variance, epsilon, weight, bias);

/** x over its p-norm along an axis. */
export const normalize = (x: Tensor, p = 2, axis = 1, epsilon = 1e-12): Tensor => x.div(x.norm(p, axis, true).clamp(epsilon));

/** The cosine of the angle between vectors along an axis; each norm is at least epsilon. */
export function cosineSimilarity(a: Tensor, b: Tensor, axis = 1, epsilon = 1e-8): Tensor {
  const direction = (x: Tensor): Tensor => normalize(x, 2, axis, epsilon);
  return direction(a).mul(direction(b)).sum(axis);
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

