/** Pictures as tensors and back, with onnxruntime-web's options: a value is (byte + bias) / mean, by default a byte / 255. */
import type {Data} from './element_types.ts';
import type {ImageFormat, ImageSource, TensorFromImageOptions, TensorToImageDataOptions} from './tensor_options.ts';

const CHANNELS: Readonly<Record<ImageFormat, readonly number[]>> = {RGB: [0, 1, 2], RGBA: [0, 1, 2, 3], BGR: [2, 1, 0], RBG: [0, 2, 1]};

const all = (given: number | readonly number[] | undefined, otherwise: number, channel: number): number =>
  typeof given === 'number' ? given : (given?.[channel] ?? otherwise);

function canvasOf(width: number, height: number): [OffscreenCanvas, OffscreenCanvasRenderingContext2D] {
  if (typeof OffscreenCanvas === 'undefined') throw new Error('pictures need an engine with OffscreenCanvas; give ImageData of the tensor\'s size');
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (!context) throw new Error('this engine gives no canvas');
  return [canvas, context];
}

async function pixelsOf(source: ImageSource, {resizedWidth, resizedHeight}: TensorFromImageOptions): Promise<ImageData> {
  if (typeof source === 'string') {
    const response = await fetch(source);
    if (!response.ok) throw new Error(`${source}: the server answered ${response.status}`);
    const bitmap = await createImageBitmap(await response.blob());
    try {
      return await pixelsOf(bitmap, {resizedWidth, resizedHeight} as TensorFromImageOptions);
    } finally {
      bitmap.close();
    }
  }
  const {naturalWidth, naturalHeight} = source as Partial<HTMLImageElement>;
  const width = resizedWidth ?? naturalWidth ?? source.width;
  const height = resizedHeight ?? naturalHeight ?? source.height;
  if (!(width > 0 && height > 0)) throw new Error(`the picture is ${width} x ${height}: it has not arrived yet, or is none`);
  if ('data' in source) {
    if (source.width === width && source.height === height) return source;
    const [canvas, context] = canvasOf(source.width, source.height);
    context.putImageData(source, 0, 0);
    return pixelsOf(canvas, {resizedWidth: width, resizedHeight: height});
  }
  const [, context] = canvasOf(width, height);
  context.drawImage(source, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

/** What a tensor has, as far as pictures need it. */
export interface Values {
  readonly type: 'float32' | 'uint8';
  readonly dims: readonly number[];
  readonly data: Float32Array | Uint8Array;
}

export async function fromImage(source: ImageSource, options: TensorFromImageOptions = {}): Promise<Values> {
  const {tensorFormat = 'RGB', tensorLayout = 'NCHW', dataType = 'float32', norm} = options;
  const order = CHANNELS[tensorFormat] as readonly number[] | undefined;
  if (!order) throw new TypeError(`Tensor.fromImage: there is no format "${tensorFormat}"`);
  const {data, width, height} = await pixelsOf(source, options);
  const plane = width * height;
  const nchw = tensorLayout === 'NCHW';
  const values = dataType === 'uint8' ? new Uint8Array(order.length * plane) : new Float32Array(order.length * plane);
  order.forEach((from, to) => {
    const bias = all(norm?.bias, 0, to);
    const mean = all(norm?.mean, dataType === 'uint8' ? 1 : 255, to);
    for (let at = 0; at < plane; ++at) {
      values[nchw ? to * plane + at : at * order.length + to] = ((data[4 * at + from] as number) + bias) / mean;
    }
  });
  const dims = nchw ? [1, order.length, height, width] : [1, height, width, order.length];
  return {type: dataType, dims, data: values};
}

type Picture = {readonly type: string; readonly dims: readonly number[]; readonly size: number; readonly data: Data};

export function toImageData(tensor: Picture, {format = 'RGB', tensorLayout = 'NCHW', norm}: TensorToImageDataOptions = {}): ImageData {
  const order = CHANNELS[format] as readonly number[] | undefined;
  if (!order) throw new TypeError(`toImageData: there is no format "${format}"`);
  const nchw = tensorLayout === 'NCHW';
  const [channels = 0, height = 0, width = 0] = nchw ? tensor.dims.slice(-3) : [tensor.dims.at(-1), ...tensor.dims.slice(-3, -1)];
  if (![1, 3, 4].includes(channels) || channels * height * width !== tensor.size) {
    throw new RangeError(`toImageData: [${tensor.dims.join(', ')}] is no picture's: one of 1, 3 or 4 channels is`);
  }
  const plane = width * height;
  const pixels = new Uint8ClampedArray(4 * plane).fill(255);
  const values = tensor.data as unknown as ArrayLike<number | bigint>;
  const bytes = tensor.type === 'uint8';
  const places = channels === 1 ? [0, 1, 2] : order.length < channels ? [...order, 3] : order.slice(0, channels);
  places.forEach((to, from) => {
    const channel = channels === 1 ? 0 : from;
    const bias = all(norm?.bias, 0, channel);
    const mean = all(norm?.mean, bytes ? 1 : 255, channel);
    for (let at = 0; at < plane; ++at) {
      pixels[4 * at + to] = (Number(values[nchw ? channel * plane + at : at * channels + channel]) - bias) * mean;
    }
  });
  return new ImageData(pixels, width, height);
}

export function toDataURL(tensor: Picture, options?: TensorToImageDataOptions): string {
  if (typeof document === 'undefined') throw new Error('toDataURL is for pages; toImageData works in workers');
  const pixels = toImageData(tensor, options);
  const canvas = Object.assign(document.createElement('canvas'), {width: pixels.width, height: pixels.height});
  canvas.getContext('2d')?.putImageData(pixels, 0, 0);
  return canvas.toDataURL();
}
