/** What tuning found, kept in the origin's storage by the model, how it is compiled, and the device. */
import {findAdapter, nameOf} from '../../runtime/src/devices/webgpu/adapter.ts';
import type {Call} from './compile_in.ts';
import {addressOf, hashOf, openCache} from './kept.ts';

const CACHE = 'gossamer-records';

/** As the run time calls the GPU of webgpu; the other targets have one device in an origin. */
async function adapterOf(target: string): Promise<string> {
  const adapter = target === 'webgpu' ? await findAdapter() : '';
  return typeof adapter === 'string' ? '' : nameOf(adapter.info);
}

/** The model's own bytes decide, and how it is compiled for what; weights in other files change no kernel. */
async function placeOf({model, options}: Call): Promise<string> {
  const how = encodeURIComponent(JSON.stringify([options, await adapterOf(options.target)]));
  return addressOf(`${await hashOf(model)}?${how}`);
}

/** Records of this model on this device, a line each; undefined: there are none. */
export async function keptRecords(call: Call): Promise<string | undefined> {
  const cache = await openCache(CACHE);
  const found = await (cache && cache.match(await placeOf(call)))?.catch(() => undefined);
  return found?.text();
}

/** Where there is no room, nothing is kept. */
export async function keepRecords(call: Call, records: string): Promise<void> {
  const cache = await openCache(CACHE);
  await (cache && cache.put(await placeOf(call), new Response(records)))?.catch(() => undefined);
}
