/** Files of weights that are kept, by the SHA-256 of their content; a bundle of its own, which load() fetches for such packages. */
import {Arrival} from '../package/arrival.ts';
import {hexOf} from '../hash/hex.ts';
import type {FileEntry} from '../package/manifest.ts';
import type {Pieces} from '../package/pieces.ts';
import {copyOf} from './copy.ts';

/** Where they are kept. */
const CACHE = 'gossamer-weights';

/**
 * A key says what the content is, so a file is kept once, wherever it comes from. It is made of all hashes that load() may check: of a
 * file that was checked by its pieces `sha256` may be another model's, and the other way round.
 */
async function keyOf({sha256, pieces}: FileEntry): Promise<string> {
  if (pieces.length === 0) return `https://sha256.invalid/${sha256}`;
  const all = new TextEncoder().encode([sha256, ...pieces].join());
  return `https://sha256.invalid/pieces/${hexOf(await crypto.subtle.digest('SHA-256', all))}`;
}

/** Undefined where there is none, or this page may not use it. */
const openCache = (): Promise<Cache | undefined> =>
  'caches' in globalThis ? caches.open(CACHE).catch(() => undefined) : Promise.resolve(undefined);

/**
 * The file, if it is kept. It had its SHA-256 when it was put there; xxh3, which is faster, tells what has become of it: whoever
 * can write there is of this origin.
 */
async function find(cache: Cache, key: string, entry: FileEntry): Promise<Pieces | undefined> {
  try {
    const body = (await cache.match(key))?.body;
    if (!body) return undefined;
    const hash = await (await import('../hash/xxh3.ts')).Xxh3.create();
    const arrival = new Arrival({expected: entry.bytes, arrived: (part) => hash.update(part)});
    await arrival.collect(body, undefined);
    if (arrival.size === entry.bytes && hash.digest() === entry.xxh3) return arrival.pieces;
    await cache.delete(key);
  } catch {
    // What cannot be read is fetched.
  }
  return undefined;
}

/**
 * A file of weights from where it is kept, else what `read` gives, which has that SHA-256 and is kept meanwhile. Where the browser
 * gives no more room, nothing more is kept.
 */
export async function readKept(
  entry: FileEntry,
  read: () => Pieces,
  arrived: (bytes: number) => void,
): Promise<Pieces> {
  const cache = await openCache();
  if (!cache) return read();
  const key = await keyOf(entry);
  const kept = await find(cache, key, entry);
  if (kept) {
    arrived(entry.bytes);
    return kept;
  }
  const file = read();
  const {stream, end} = copyOf(file);
  file.isCopied = cache.put(key, new Response(stream)).catch(() => undefined).finally(end);
  return file;
}
