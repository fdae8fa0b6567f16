import type {Extent} from './device.ts';

/** In bytes. */
export const sizeOf = (extent: Extent): number =>
  'bytes' in extent ? extent.bytes : extent.width * extent.height * extent.layers * 16;

/** A size class: eight to each power of two, so that what is of about one size shares memory. */
export function classOf(bytes: number): number {
  const step = Math.max(256, 2 ** (Math.ceil(Math.log2(Math.max(1, bytes))) - 3));
  return Math.ceil(bytes / step) * step;
}
