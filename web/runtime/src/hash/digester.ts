import {hexOf} from './hex.ts';

/** A block and its SHA-256. */
export interface Digested {
  readonly block: Uint8Array<ArrayBuffer>;
  readonly hash: string;
}

/** By the platform's SHA-256. Of copies: what a platform has had it holds until some collection, whoever discards it. */
export function digester(): (block: Uint8Array<ArrayBuffer>) => Promise<Digested> {
  const idle: Uint8Array<ArrayBuffer>[] = [];
  return async (block) => {
    const spare = idle.pop();
    // The last block of a file that is longer than listed may exceed the others.
    const copy = spare && spare.length >= block.length ? spare : new Uint8Array(block.length);
    copy.set(block);
    const hash = hexOf(await crypto.subtle.digest('SHA-256', copy.subarray(0, block.length)));
    idle.push(copy);
    return {block, hash};
  };
}
