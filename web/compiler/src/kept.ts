/** What the origin's storage keeps by the hash of what it is of. */
import {hexOf} from '../../runtime/src/hash/hex.ts';

/** Undefined where nothing can be kept: no secure context, or storage that the user refuses. */
export async function openCache(name: string): Promise<Cache | undefined> {
  return (globalThis as {caches?: CacheStorage}).caches?.open(name).catch(() => undefined);
}

/** The SHA-256 of bytes in hexadecimal; undefined in pages that are not secure. */
export async function hashOf(bytes: Uint8Array): Promise<string | undefined> {
  const subtle = (globalThis as {crypto?: Crypto}).crypto?.subtle;
  if (!subtle) return undefined;
  // Digests do not take shared memory.
  return hexOf(await subtle.digest('SHA-256', (bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice()) as BufferSource));
}

/** Where it is kept. */
export const addressOf = (key: string): string => `https://gossamer.invalid/${key}`;
