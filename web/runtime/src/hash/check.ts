/** Whether a file is the one that its manifest lists. */
import {BLOCK} from '../package/blocks.ts';
import type {FileEntry} from '../package/manifest.ts';
import {hexOf} from './hex.ts';

export interface Check {
  /** Called with all bytes in order, as they arrive. */
  readonly arrived?: (bytes: Uint8Array) => void;
  /**
   * Called with each block of BLOCK bytes in order, the last one of fewer. Gives it, in its own memory or, where blocks are passed on,
   * perhaps in other memory; undefined where it is not as listed.
   */
  readonly filled?: (block: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** At the end: what is wrong, to be read behind the file's name; undefined: nothing is. */
  readonly wrong: () => Promise<string | undefined>;
}

/** Whether node:crypto is there: Node.js, Deno, Bun. */
export const hasNodeHash = (): boolean => !!(globalThis as {process?: Partial<NodeJS.Process>}).process?.getBuiltinModule;

/** `passes`: the blocks' memory may change hands. By the platform's SHA-256 where the manifest lists that of blocks and the page is secure; else in one pass, as in Node.js, whose own hash takes streams. */
export async function openCheck(entry: FileEntry, passes: boolean): Promise<Check> {
  const {sha256, bytes, pieces} = entry;
  if (!sha256 || bytes === 0 || (bytes > BLOCK && pieces.length === 0) || hasNodeHash() || !(globalThis as {crypto?: Crypto}).crypto?.subtle) {
    return (await import('./streamed.ts')).checkStream(entry);
  }
  if (bytes > BLOCK) {
    // No download waits for this.
    const check = import('./blocks.ts').then(({checkBlocks}) => checkBlocks(entry, passes));
    return {filled: (block) => check.then(({filled}) => filled(block)), wrong: () => check.then(({wrong}) => wrong())};
  }
  let hash: Promise<string> | undefined;
  return {
    filled: async (block) => {
      hash = crypto.subtle.digest('SHA-256', block.slice()).then(hexOf); // The memory may be shared.
      return (await hash) === sha256 ? block : undefined;
    },
    wrong: async () => {
      const found = await hash;
      return found === sha256 ? undefined : `has hash ${found} instead of ${sha256}`;
    },
  };
}
