/** .png and .jpg files as tensors: docs/specs/preprocessing.md. */
import {readFile} from 'node:fs/promises';
import {extname} from 'node:path';
import type {DType, Tensor} from '@gossamer/runtime';
import {defaultNormal, fit, imageAxes, imageTensor, LIMITS, type Layout, type Normal, type Picture} from '../../runtime/src/image/preprocess.ts';
import {Failure} from './failure.ts';
import {orientationOf, upright} from './orientation.ts';

export interface ImageOptions {
  readonly mean?: readonly number[];
  readonly std?: readonly number[];
  readonly scale?: number;
  readonly layout?: Layout;
  readonly height?: number;
  readonly width?: number;
}

export const isPicture = (file: string): boolean => /^\.(png|jpe?g)$/i.test(extname(file));

/** Throws a Failure. */
export async function readPicture(file: string): Promise<Picture> {
  const bytes = await readFile(file);
  let picture: Picture;
  try {
    // By content: many .png files are JPEG.
    if (bytes[0] === 0xff) {
      const {default: {decode}} = await import('jpeg-js');
      const {width, height, data} = decode(bytes, {useTArray: true, maxMemoryUsageInMB: 4096, maxResolutionInMP: 1000});
      picture = {width, height, rgba: data};
    } else {
      const {default: {PNG}} = await import('pngjs');
      const {width, height, data} = PNG.sync.read(bytes);
      picture = {width, height, rgba: data};
    }
  } catch (problem) {
    throw new Failure(file, `is not a PNG or JPEG image that can be read: ${(problem as Error).message}`);
  }
  return upright(picture, orientationOf(bytes));
}

function normalOf({mean, std, scale}: ImageOptions, where: string, dtype: DType, channels: number): Normal {
  for (const given of [mean, std]) {
    if (given && given.length > 1 && given.length !== channels) throw new Failure(where, `has ${channels} channels: give --mean and --std as many values`);
  }
  if (std?.includes(0)) throw new Failure(where, '--std 0 divides by nothing');
  if (!mean && !std && scale === undefined) return defaultNormal(dtype, channels);
  return {scale: scale ?? (LIMITS[dtype] ? 1 : 1 / 255), mean: mean ?? [0], std: std ?? [1]};
}

/** The tensor of an input. Throws a Failure. */
export async function pictureTensor(file: string, port: {readonly name: string; readonly dtype: DType | 'string'; readonly shape: readonly (number | string)[]}, options: ImageOptions): Promise<Tensor> {
  const {name, dtype, shape} = port;
  const where = `input "${name}"`;
  const axes = imageAxes(shape, dtype, options.layout);
  if (!axes || dtype === 'string') throw new Failure(where, `has shape [${shape.join(', ')}] of ${dtype}, which is not an image's`, 'choose the layout by --layout, or give it as .npy or .pb');
  const picture = await readPicture(file);
  const extent = (at: number, given: number | undefined, own: number): number => {
    const known = shape[at];
    return typeof known === 'number' ? known : (given ?? own);
  };
  const height = extent(axes.rowAxis, options.height, picture.height);
  const width = extent(axes.rowAxis + 1, options.width, picture.width);
  return imageTensor(fit(picture, axes.channels, height, width), axes, shape.length, dtype, normalOf(options, where, dtype, axes.channels));
}
