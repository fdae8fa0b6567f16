/** The memory of files on their way here, in blocks. */
import {discard} from '../values/discard.ts';

/**
 * Bytes of a block. Allocators return memory of this size to the system when it is freed; they keep smaller pieces. Manifests
 * list the SHA-256 of each block (`pieces`).
 */
export const BLOCK = 1 << 22;

/** Streams that are being read. Chromium drops the stream of a kept file that nothing refers to, and what waits for its end does so for ever. */
export const underWay = new Set<object>();

/** For the next blocks, two a stream: the system takes longer to give a page fresh memory than to fill it. */
const spare: Uint8Array<ArrayBuffer>[] = [];

/** Memory for `bytes`, at most BLOCK, with anything in it. */
export const takeBlock = (bytes: number): Uint8Array<ArrayBuffer> => (bytes === BLOCK && spare.pop()) || new Uint8Array(bytes);

/** A block's memory is free. */
export function release(block: Uint8Array<ArrayBuffer>): void {
  if (block.length === BLOCK && spare.length < 2 * underWay.size) spare.push(block);
  else discard(block);
}

/** One of `underWay` has ended. */
export function ended(stream: object): void {
  underWay.delete(stream);
  spare.splice(2 * underWay.size).forEach(discard);
}
