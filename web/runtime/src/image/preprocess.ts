/**
 * A picture as the tensor that a model is fed with: docs/specs/preprocessing.md. tools/gossamer/runners/preprocess.cc
 * implements it with the same arithmetic, so a page and the command line give a model the same numbers.
 */
import {arrayOf, type Tensor} from '../values/tensor.ts';
import type {DType, TensorData} from '../values/types.ts';

/** R, G, B, A bytes, row-major from the top left, upright; alpha is not multiplied in. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array | Uint8ClampedArray;
}

/** Each value becomes (byte * scale - mean) / std; mean and std: one for all, or one a channel. */
export interface Normal {
  readonly scale: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export type Layout = 'nchw' | 'nhwc';

/** Which axes of an input are an image's. */
export interface ImageAxes {
  readonly channels: number;
  readonly channelAxis: number;
  readonly rowAxis: number;
}

/** Values [height, width, channels] on the scale 0..255. */
export interface Fitted {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly values: Float64Array;
}

/** Limits of the integers that an image can become. */
export const LIMITS: Readonly<Partial<Record<DType, readonly [number, number]>>> = {
  i8: [-128, 127], u8: [0, 255], i16: [-32768, 32767], u16: [0, 65535],
  i32: [-(2 ** 31), 2 ** 31 - 1], u32: [0, 2 ** 32 - 1],
  i64: [-(2 ** 53), 2 ** 53], u64: [0, 2 ** 53],
};
const FLOATS: readonly string[] = ['f32', 'f16', 'bf16', 'f64'];

const isChannels = (extent: number | string | undefined): boolean =>
  extent === 1 || extent === 3 || extent === 4;

/** undefined: an input of this shape and type is no image's. Names are dimensions known later. */
export function imageAxes(
  shape: readonly (number | string)[],
  dtype: string,
  layout?: Layout,
): ImageAxes | undefined {
  const base = shape.length - 3;
  if (base !== 0 && base !== 1) return undefined;
  if (!FLOATS.includes(dtype) && !Object.hasOwn(LIMITS, dtype)) return undefined;
  const first = layout === undefined ? isChannels(shape[base]) || !isChannels(shape[base + 2]) : layout === 'nchw';
  const channelAxis = first ? base : base + 2;
  const extent = shape[channelAxis] ?? 0;
  const channels = typeof extent === 'string' ? 3 : extent;
  const alone = base === 0 || shape[0] === 1 || typeof shape[0] === 'string';
  return isChannels(channels) && alone ? {channels, channelAxis, rowAxis: first ? base + 1 : base} : undefined;
}

export function defaultNormal(dtype: string, channels: number): Normal {
  if (!FLOATS.includes(dtype)) return {scale: 1, mean: [0], std: [1]};
  if (channels !== 3) return {scale: 1 / 255, mean: [0], std: [1]};
  return {scale: 1 / 255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]};
}

/** Four channels as they are; three over white; one is their luma (ITU-R BT.601, in 16 bits). */
function chooseChannels({rgba}: Picture, channels: number): Uint8Array | Uint8ClampedArray {
  if (channels === 4) return rgba;
  const values = new Uint8Array((rgba.length / 4) * channels);
  for (let from = 0, to = 0; from < rgba.length; from += 4) {
    const alpha = rgba[from + 3] ?? 255;
    const over = (at: number): number =>
      Math.floor(((rgba[from + at] ?? 0) * alpha + 255 * (255 - alpha) + 127) / 255);
    const [r, g, b] = [over(0), over(1), over(2)];
    if (channels === 1) {
      values[to++] = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
    } else {
      values[to++] = r;
      values[to++] = g;
      values[to++] = b;
    }
  }
  return values;
}

/** Which pixels of a line make one of the resized line, with their weights. */
export interface Taps {
  readonly first: number;
  readonly weights: Float64Array;
}

/** A triangle as wide as the step when shrinking, bilinear when growing. */
export function tapsOf(from: number, begin: number, step: number, to: number): Taps[] {
  const support = Math.max(1, step);
  return Array.from({length: to}, (_, at) => {
    const center = begin + (at + 0.5) * step;
    const first = Math.max(0, Math.floor(center - support));
    const last = Math.min(from - 1, Math.floor(center + support));
    const weights = new Float64Array(last - first + 1);
    let sum = 0;
    for (let pixel = first; pixel <= last; ++pixel) {
      const weight = Math.max(0, 1 - Math.abs(pixel + 0.5 - center) / support);
      weights[pixel - first] = weight;
      sum += weight;
    }
    for (let tap = 0; tap < weights.length; ++tap) weights[tap] = (weights[tap] ?? 0) / sum;
    return {first, weights};
  });
}

/** The largest part of the picture that has the wanted proportions, from its middle, resized. */
export function fit(picture: Picture, channels: number, height: number, width: number): Fitted {
  const source = chooseChannels(picture, channels);
  const step = Math.min(picture.width / width, picture.height / height);
  const columns = tapsOf(picture.width, (picture.width - step * width) / 2, step, width);
  const rows = tapsOf(picture.height, (picture.height - step * height) / 2, step, height);
  const rowSize = width * channels;
  const begin = rows[0]?.first ?? 0;
  const bottom = rows.at(-1);
  const end = bottom ? bottom.first + bottom.weights.length : 0;
  const across = new Float64Array((end - begin) * rowSize);
  let to = 0;
  for (let y = begin; y < end; ++y) {
    for (const {first, weights} of columns) {
      const from = (y * picture.width + first) * channels;
      for (let c = 0; c < channels; ++c) {
        let sum = 0;
        for (let tap = 0; tap < weights.length; ++tap) {
          sum += (weights[tap] as number) * (source[from + tap * channels + c] as number);
        }
        across[to++] = sum;
      }
    }
  }
  const values = new Float64Array(height * rowSize);
  to = 0;
  for (const {first, weights} of rows) {
    const from = (first - begin) * rowSize;
    for (let at = 0; at < rowSize; ++at) {
      let sum = 0;
      for (let tap = 0; tap < weights.length; ++tap) {
        sum += (weights[tap] as number) * (across[from + tap * rowSize + at] as number);
      }
      values[to++] = sum;
    }
  }
  return {height, width, channels, values};
}

/** The tensor of an input with these axes and this rank; the batch has one image. */
export function imageTensor(fitted: Fitted, axes: ImageAxes, rank: number, dtype: DType, normal: Normal): Tensor {
  const {height, width, channels, values} = fitted;
  const {scale, mean, std} = normal;
  const shape = new Array<number>(rank).fill(1);
  shape[axes.channelAxis] = channels;
  shape[axes.rowAxis] = height;
  shape[axes.rowAxis + 1] = width;
  const data: TensorData = arrayOf(dtype, values.length);
  const [low, high] = LIMITS[dtype] ?? [];
  const wide = dtype === 'i64' || dtype === 'u64';
  const pixels = height * width;
  const planes = axes.channelAxis < axes.rowAxis;
  const of = (each: readonly number[], channel: number): number => each[each.length === 1 ? 0 : channel] ?? 0;
  for (let at = 0; at < values.length; ++at) {
    const channel = at % channels;
    const to = planes ? channel * pixels + (at - channel) / channels : at;
    const value = ((values[at] as number) * scale - of(mean, channel)) / of(std, channel);
    if (low === undefined || high === undefined) data[to] = value;
    else {
      const whole = Math.min(high, Math.max(low, Math.floor(value + 0.5)));
      data[to] = wide ? BigInt(whole) : whole;
    }
  }
  return {data, shape, dtype};
}
