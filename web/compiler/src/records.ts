/** What tuning found, kept in the origin's storage by the model, how it is compiled, and the device. */
import {findAdapter, nameOf} from '../../runtime/src/webgpu/adapter.ts';
import type {Call} from './compile_in.ts';

const CACHE = 'gossamer-records';

/** Undefined where nothing can be kept: no secure context, or storage that the user refuses. */
async function openCache(): Promise<Cache | undefined> {
  return (globalThis as {caches?: CacheStorage}).caches?.open(CACHE).catch(() => undefined);
}

/** As the run time calls the GPU of webgpu; the other targets have one device in an origin. */
async function adapterOf(target: string): Promise<string> {
  const adapter = target === 'webgpu' ? await findAdapter() : '';
  return typeof adapter === 'string' ? '' : nameOf(adapter.info);
}

/** The model's own bytes decide, and how it is compiled for what; weights in other files change no kernel. */
async function addressOf({model, options}: Call): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', model as Uint8Array<ArrayBuffer>));
  const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `https://gossamer.invalid/${hash}?${encodeURIComponent(JSON.stringify([options, await adapterOf(options.target)]))}`;
}

/** Records of this model on this device, a line each; undefined: there are none. */
export async function keptRecords(call: Call): Promise<string | undefined> {
  const cache = await openCache();
  const found = await (cache && cache.match(await addressOf(call)))?.catch(() => undefined);
  return found?.text();
}

/** Where there is no room, nothing is kept. */
export async function keepRecords(call: Call, records: string): Promise<void> {
  const cache = await openCache();
  await (cache && cache.put(await addressOf(call), new Response(records)))?.catch(() => undefined);
}
