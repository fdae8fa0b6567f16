/** Whether a file is the one that its manifest lists. */
import {BLOCK} from '../arrival.ts';
import type {FileEntry} from '../manifest.ts';
import type {Digested} from './digester.ts';
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
export const hasNodeHash = (): boolean => 'process' in globalThis && 'getBuiltinModule' in process;

/** Where blocks are passed on, a worker sees to them: copying and asking take as long as all else that a load does on this thread. */
function checkBlocks({bytes, sha256, pieces}: FileEntry, passes: boolean): Check {
  const wanted = bytes > BLOCK ? pieces : [sha256];
  const found: Promise<Digested>[] = [];
  const digest = async (block: Uint8Array<ArrayBuffer>): Promise<Digested> =>
    bytes > BLOCK
      ? (await import('./off_thread.ts')).digest(block, passes)
      : {block, hash: hexOf(await crypto.subtle.digest('SHA-256', block.slice()))}; // The memory may be shared.
  const filled = async (block: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const digested = digest(block);
    const at = found.push(digested) - 1;
    const {block: whole, hash} = await digested;
    return hash === wanted[at] ? whole : undefined;
  };
  const wrong = async (): Promise<string | undefined> => {
    if (bytes === 0) void filled(new Uint8Array());
    const all = await Promise.all(found);
    const at = wanted.findIndex((hash, place) => hash !== all[place]?.hash);
    if (at < 0) return undefined;
    const where = bytes > BLOCK ? ` in the ${BLOCK} bytes from ${at * BLOCK} on` : '';
    return `has hash ${all[at]?.hash} instead of ${wanted[at]}${where}`;
  };
  return {filled, wrong};
}

/** `passes`: the blocks' memory may change hands. Where the manifest lists blocks and the page is secure, by these; else in one pass, as in Node.js, whose own hash takes streams. */
export async function openCheck(entry: FileEntry, passes: boolean): Promise<Check> {
  const listed = entry.sha256 && (entry.bytes <= BLOCK || entry.pieces.length > 0);
  if (listed && !hasNodeHash() && (globalThis as {crypto?: Crypto}).crypto?.subtle) return checkBlocks(entry, passes);
  return (await import('./streamed.ts')).checkStream(entry);
}
