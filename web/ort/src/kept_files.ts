/** Compiled models by their keys: in Cache Storage, or in a folder where there is a file system. */
import {addressOf, openCache} from '../../compiler/src/kept.ts';
import {builtin} from './builtin.ts';

export type Files = Map<string, Uint8Array>;

export interface KeptFiles {
  isEmpty(): Promise<boolean>;
  /** Undefined: nothing usable is kept. */
  get(key: string): Promise<Files | undefined>;
  /** Also removes the oldest entries. Does nothing where there is no room. Cache Storage goes on after it: sessions need not wait. */
  put(key: string, files: Files): Promise<void>;
  delete(key: string): Promise<unknown>;
}

/** The oldest make room for more. */
export const MOST = 32;

const CACHE = 'gossamer-compiled';
const encoder = new TextEncoder();

/** What an entry begins with: the length of a list, and the list of names and sizes. The files follow. */
export function headOf(files: Files): Uint8Array<ArrayBuffer> {
  const list = encoder.encode(JSON.stringify([...files].map(([name, bytes]) => [name, bytes.length])));
  const head = new Uint8Array(4 + list.length);
  new DataView(head.buffer).setUint32(0, list.length, true);
  head.set(list, 4);
  return head;
}

export const lengthOfList = (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
export const listOf = (bytes: Uint8Array): [name: string, size: number][] => JSON.parse(new TextDecoder().decode(bytes)) as [string, number][];

function unpacked(buffer: ArrayBuffer): Files {
  const bytes = new Uint8Array(buffer);
  let at = 4 + lengthOfList(bytes);
  return new Map(listOf(bytes.subarray(4, at)).map(([name, size]) => [name, new Uint8Array(buffer, (at += size) - size, size)]));
}

/** Entries that the browser still writes; it has their bytes. */
const written = new Map<string, Promise<void>>();

async function write(cache: Cache, key: string, files: Files): Promise<void> {
  try {
    await cache.put(addressOf(key), new Response(new Blob([headOf(files), ...files.values()] as BlobPart[])));
    const all = await cache.keys();
    await Promise.all(all.slice(0, Math.max(0, all.length - MOST)).map((request) => cache.delete(request)));
  } catch {
    // No room for it: it is compiled each time.
  }
}

const inStorage = (cache: Cache): KeptFiles => ({
  isEmpty: async () => (await cache.keys()).length === 0,
  async get(key) {
    await written.get(key);
    try {
      const found = await cache.match(addressOf(key));
      return found && unpacked(await found.arrayBuffer());
    } catch {
      return undefined; // what is broken there is made again
    }
  },
  put(key, files) {
    const writing = write(cache, key, files).finally(() => written.delete(key));
    written.set(key, writing);
    return Promise.resolve();
  },
  delete: (key) => cache.delete(addressOf(key)),
});

/** `cache`: whether, or a folder; `setting`: what callers know it as. Undefined where nothing is to be kept, or can be. Rejects where a folder is named that cannot be written. */
export async function openKept(cache: boolean | string, setting: string): Promise<KeptFiles | undefined> {
  if (!cache) return undefined;
  const storage = typeof cache === 'string' ? undefined : await openCache(CACHE);
  if (storage) return inStorage(storage);
  return builtin('node:fs/promises') ? (await import('./folder.ts')).openFolder(typeof cache === 'string' ? cache : undefined, setting) : undefined;
}
