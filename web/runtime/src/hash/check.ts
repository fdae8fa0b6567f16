/** Whether a file is the one that its manifest lists. */
import {BLOCK} from '../arrival.ts';
import type {FileEntry} from '../manifest.ts';
import {hexOf} from './hex.ts';

export interface Check {
  /** Called with all bytes in order, as they arrive. */
  readonly arrived?: (bytes: Uint8Array) => void;
  /** Called with each block of BLOCK bytes in order, the last one of fewer; gives whether it is as listed. */
  readonly filled?: (block: Uint8Array) => Promise<boolean>;
  /** At the end: what is wrong, to be read behind the file's name; undefined: nothing is. */
  readonly wrong: () => Promise<string | undefined>;
}

/** Whether node:crypto is there: Node.js, Deno, Bun. */
export const hasNodeHash = (): boolean => 'process' in globalThis && 'getBuiltinModule' in process;

/** By the platform's SHA-256, on other threads and four times as fast as any of ours. It takes whole blocks. */
function checkBlocks({bytes, sha256, pieces}: FileEntry): Check {
  const wanted = bytes > BLOCK ? pieces : [sha256];
  const hashes: Promise<string>[] = [];
  // Of copies: what a platform has had it holds until some collection, whoever discards it.
  const idle: Uint8Array<ArrayBuffer>[] = [];
  const filled = async (block: Uint8Array): Promise<boolean> => {
    const spare = idle.pop();
    // Of a file that is longer than listed, the last block may be, too.
    const copy = spare && spare.length >= block.length ? spare : new Uint8Array(block.length);
    copy.set(block);
    const hash = crypto.subtle.digest('SHA-256', copy.subarray(0, block.length)).then(hexOf);
    const at = hashes.push(hash) - 1;
    const found = await hash;
    idle.push(copy);
    return found === wanted[at];
  };
  const wrong = async (): Promise<string | undefined> => {
    if (bytes === 0) void filled(new Uint8Array());
    const found = await Promise.all(hashes);
    const at = wanted.findIndex((hash, place) => hash !== found[place]);
    if (at < 0) return undefined;
    const where = bytes > BLOCK ? ` in the ${BLOCK} bytes from ${at * BLOCK} on` : '';
    return `has hash ${found[at]} instead of ${wanted[at]}${where}`;
  };
  return {filled, wrong};
}

/** Where the manifest lists blocks and the page is secure, by these; else in one pass, as in Node.js, whose own hash takes streams. */
export async function openCheck(entry: FileEntry): Promise<Check> {
  const listed = entry.sha256 && (entry.bytes <= BLOCK || entry.pieces.length > 0);
  if (listed && !hasNodeHash() && (globalThis as {crypto?: Crypto}).crypto?.subtle) return checkBlocks(entry);
  return (await import('./streamed.ts')).checkStream(entry);
}
