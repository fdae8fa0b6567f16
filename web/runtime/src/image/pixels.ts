/** The bytes of what has pixels. */
import {GossamerError} from '../values/types.ts';
import type {Picture} from './preprocess.ts';
import type {ImageSource} from './work.ts';

const wrong = (message: string): GossamerError => new GossamerError('input', message);

/** Throws 'input' where there are no pixels. */
export function sizeOf(source: ImageSource): {width: number; height: number} {
  const any = source as Partial<Record<'naturalWidth' | 'naturalHeight' | 'videoWidth' | 'videoHeight' | 'displayWidth' | 'displayHeight' | 'width' | 'height', number>>;
  const width = any.naturalWidth ?? any.videoWidth ?? any.displayWidth ?? any.width ?? 0;
  const height = any.naturalHeight ?? any.videoHeight ?? any.displayHeight ?? any.height ?? 0;
  if (width > 0 && height > 0) return {width, height};
  throw wrong(`the picture is ${width} x ${height}: it has not arrived yet, or is none`);
}

/** Its bytes, where they are at hand or can be had from a canvas. */
export function pictureOf(source: ImageSource): Picture {
  const size = sizeOf(source);
  if ('rgba' in source) return source;
  if ('data' in source) return {...size, rgba: new Uint8Array(source.data.buffer, source.data.byteOffset, source.data.byteLength)};
  if ('texture' in source) throw wrong('a texture is on another device');
  const canvas = new OffscreenCanvas(size.width, size.height);
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (!context) throw new GossamerError('unsupported', 'there is no canvas here');
  context.drawImage(source, 0, 0, size.width, size.height);
  return {...size, rgba: context.getImageData(0, 0, size.width, size.height).data};
}
