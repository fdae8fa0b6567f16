/** Records that come with the compiler for classes of devices (src/shipped): files beside this script, fetched where the page's device is of a class. */
import {packageFile} from '../../runtime/src/devices/wasm/package_file.ts';
import {findAdapter, nameOf} from '../../runtime/src/devices/webgpu/adapter.ts';
import {nodeFiles} from './module.ts';

interface Row {
  readonly target: string;
  /** Of names of adapters, as src/shipped/shipped.cc has them. */
  readonly words: RegExp;
  readonly address: () => URL;
}

/** Those of classes that have records for targets of pages; the tests hold them against the files. */
export const CLASSES: Readonly<Record<string, Row>> = {
  nvidia: {target: 'webgpu', words: /nvidia|geforce|tesla/i, address: () => new URL('./records/nvidia.jsonl', import.meta.url)},
  swiftshader: {target: 'webgpu', words: /swiftshader/i, address: () => new URL('./records/swiftshader.jsonl', import.meta.url)},
  wasmtime: {target: 'wasm', words: /wasmtime/i, address: () => new URL('./records/wasmtime.jsonl', import.meta.url)},
};

/** The class of a device by its adapter's name; undefined: none that has records. */
export function classOf(target: string, adapter: string): string | undefined {
  return Object.keys(CLASSES).find((name) => CLASSES[name]?.target === target && CLASSES[name].words.test(adapter));
}

async function classHere(target: string): Promise<string | undefined> {
  // The engine of a page is the browser's.
  if (target === 'wasm' || !Object.values(CLASSES).some((row) => row.target === target)) return undefined;
  const adapter = await findAdapter();
  return typeof adapter === 'string' ? undefined : classOf(target, nameOf(adapter.info));
}

async function read(url: URL): Promise<string> {
  const files = url.protocol === 'file:' ? nodeFiles() : undefined;
  if (files) return new TextDecoder().decode(await files.readFile(url));
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.href}: the server answered ${response.status}`);
  return response.text();
}

const texts = new Map<string, Promise<string | undefined>>();

/**
 * Lines for the class that is named, or else for that of the page's device; undefined: there are none. Where they cannot be fetched the
 * compiler goes without.
 */
export async function shippedRecords(target: string, deviceClass: string | undefined): Promise<string | undefined> {
  const name = deviceClass ?? (await classHere(target));
  const row = name === undefined ? undefined : CLASSES[name];
  if (name === undefined || row?.target !== target) return undefined;
  let text = texts.get(name);
  if (!text) {
    text = packageFile(row.address()).then(read).catch(() => undefined);
    texts.set(name, text);
  }
  return text;
}
