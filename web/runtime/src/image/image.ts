/**
 * Pictures that become tensors where these lie: resized and normalised as docs/specs/preprocessing.md has it, on GPUs in 32-bit
 * floats. What ComputeDevice.image() loads.
 */
import type {Home} from '../devices/home.ts';
import type {Tensor} from '../values/tensor.ts';
import {type DType, GossamerError, shapeText} from '../values/types.ts';
import type {WebGlDevice} from '../devices/webgl/device.ts';
import type {WebGpuDevice} from '../devices/webgpu/device.ts';
import {defaultNormal, fit, type Fitted, imageTensor, LIMITS, type Layout, tapsOf} from './preprocess.ts';
import {prepare as onWebGl} from './webgl_image.ts';
import {prepare as onWebGpu} from './webgpu_image.ts';
import {pictureOf, sizeOf} from './pixels.ts';
import type {ImageSource, Work} from './work.ts';

export type {ImageSource, TextureSource} from './work.ts';

export interface ImageOptions {
  /** Of the tensor; the picture's larger side is cut so that its proportions are these. */
  readonly height: number;
  readonly width: number;
  /** 1 (luma), 3 or 4; default 3. */
  readonly channels?: 1 | 3 | 4 | undefined;
  /** The tensor is [1, channels, height, width] or [1, height, width, channels]. */
  readonly layout?: Layout | undefined;
  /** f32 if not said; integers are rounded half up and kept within their type. */
  readonly dtype?: DType | undefined;
  /** (byte * scale - mean) / std, mean and std one for all or one a channel; defaults as in docs/specs/preprocessing.md. */
  readonly scale?: number | undefined;
  readonly mean?: number | readonly number[] | undefined;
  readonly std?: number | readonly number[] | undefined;
}

const wrong = (message: string): GossamerError => new GossamerError('input', message);

function tableOf(from: number, step: number, to: number): {table: Float32Array<ArrayBuffer>; most: number; begin: number; end: number} {
  const taps = tapsOf(from, (from - step * to) / 2, step, to);
  const most = Math.max(...taps.map(({weights}) => weights.length)) + 2;
  const table = new Float32Array(most * to);
  taps.forEach(({first, weights}, at) => table.set([first, weights.length, ...weights], at * most));
  const last = taps.at(-1);
  return {table, most, begin: taps[0]?.first ?? 0, end: last ? last.first + last.weights.length : 0};
}

const all = (value: number | readonly number[] | undefined, otherwise: number): readonly number[] =>
  value === undefined ? [otherwise] : typeof value === 'number' ? [value] : value;

interface Wanted {
  readonly normal: {readonly scale: number; readonly mean: readonly number[]; readonly std: readonly number[]};
  readonly channels: 1 | 3 | 4;
  readonly layout: Layout;
  readonly dtype: DType;
}

function wantedOf({height, width, channels = 3, layout = 'nchw', dtype = 'f32', scale, mean, std}: ImageOptions): Wanted {
  if (![height, width].every((each) => Number.isInteger(each) && each > 0 && each <= 2 ** 14)) {
    throw wrong(`${shapeText([height, width])} is no size of an image`);
  }
  if (![1, 3, 4].includes(channels)) throw wrong(`${channels} channels are no image's: 1, 3 or 4 are`);
  if (layout !== 'nchw' && layout !== 'nhwc') throw wrong(`"${String(layout)}" is no layout: nchw and nhwc are`);
  const whole = LIMITS[dtype] !== undefined;
  if (!whole && !/^b?f(16|32|64)$/.test(dtype)) throw wrong(`an image cannot become ${dtype}`);
  const said = scale ?? mean ?? std;
  const normal =
    said === undefined
      ? defaultNormal(dtype, channels)
      : {scale: scale ?? (whole ? 1 : 1 / 255), mean: all(mean, 0), std: all(std, 1)};
  for (const name of ['mean', 'std'] as const) {
    const {length} = normal[name];
    if (length !== 1 && length !== channels) throw wrong(`${name}: ${length} values, the image has ${channels} channels`);
  }
  if (normal.std.includes(0)) throw wrong('std: 0 divides by nothing');
  return {normal, channels, layout, dtype};
}

/** What the tensor is to be, and how it comes about: its values, or what writes them to its memory. */
export interface Made {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** On the host. */
  readonly tensor?: Tensor;
  /** By the GPU, with everything that it needs at hand. */
  readonly draw?: (buffer: unknown, storage: DType) => void;
}

/** Throws 'input' and what the device says. */
export async function prepare({backend}: Home, source: ImageSource, options: ImageOptions): Promise<Made> {
  const {normal, channels, layout, dtype} = wantedOf(options);
  const {height, width} = options;
  const planes = layout === 'nchw';
  const axes = planes ? {channels, channelAxis: 1, rowAxis: 2} : {channels, channelAxis: 3, rowAxis: 1};
  const shape = planes ? [1, channels, height, width] : [1, height, width, channels];
  const picture = sizeOf(source);
  const limits = LIMITS[dtype];
  // 64 bits, and wide integers that f32 has not, are the host's.
  if (backend.kind === 'wasm' || dtype === 'f64' || (limits && limits[1] > 65535)) {
    const fitted: Fitted = fit(pictureOf(source), channels, height, width);
    return {dtype, shape, tensor: imageTensor(fitted, axes, 4, dtype, normal)};
  }
  const step = Math.min(picture.width / width, picture.height / height);
  const columns = tableOf(picture.width, step, width);
  const rows = tableOf(picture.height, step, height);
  const wide = (values: readonly number[]): number[] => [0, 1, 2, 3].map((at) => values[values.length === 1 ? 0 : at] ?? 1);
  const work: Work = {
    picture, height, width, channels, planes,
    columns: columns.table, rows: rows.table, mostColumns: columns.most, mostRows: rows.most,
    begin: rows.begin, lines: rows.end - rows.begin,
    scale: normal.scale, mean: wide(normal.mean), std: wide(normal.std), limits,
  };
  const draw =
    backend.kind === 'webgpu'
      ? await onWebGpu((backend as WebGpuDevice).gpu.device, source, work)
      : onWebGl((backend as WebGlDevice).context.gl, source, work);
  return {dtype, shape, draw};
}
