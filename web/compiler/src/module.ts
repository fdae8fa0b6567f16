/** compiler.wasm as a module. */
import {packageFile} from '../../runtime/src/devices/wasm/package_file.ts';

/** compiler.wasm, or where it is. */
export type WasmSource = string | URL | WebAssembly.Module | BufferSource;

const modules = new Map<string, Promise<WebAssembly.Module>>();

interface NodeFiles {
  readFile(path: URL): Promise<Uint8Array<ArrayBuffer>>;
}

/** Node's fetch does not read files; asked for so that bundlers see no import. */
export function nodeFiles(): NodeFiles | undefined {
  const {process} = globalThis as {process?: {getBuiltinModule?: (name: string) => NodeFiles}};
  return process?.getBuiltinModule?.('node:fs/promises');
}

async function fetchModule(url: string): Promise<WebAssembly.Module> {
  const files = url.startsWith('file:') ? nodeFiles() : undefined;
  if (files) return WebAssembly.compile(await files.readFile(new URL(url)));
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: the server answered ${response.status}`);
  // While it arrives, and from the browser's cache of machine code the next time. Many static servers send another content type.
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Bundles for others than pages that tune have no tuner.wasm, nor words by which bundlers would look for it. */
declare const NO_TUNER: boolean | undefined;

const besideThis = (name: string): URL =>
  typeof NO_TUNER === 'undefined' && name === 'tuner.wasm' ? new URL('./tuner.wasm', import.meta.url) : new URL('./compiler.wasm', import.meta.url);

/** Compiled once for a page and address. By default the one of this name beside this script. */
export function getModule(wasm: WasmSource | undefined, name = 'compiler.wasm'): Promise<WebAssembly.Module> {
  if (wasm instanceof WebAssembly.Module) return Promise.resolve(wasm);
  if (wasm !== undefined && typeof wasm !== 'string' && !(wasm instanceof URL)) {
    return WebAssembly.compile(wasm);
  }
  const nextTo = besideThis(name);
  const url = String(wasm ?? nextTo);
  let module = modules.get(url);
  if (!module) {
    module = wasm === undefined ? packageFile(nextTo).then(({href}) => fetchModule(href)) : fetchModule(url);
    modules.set(url, module);
    module.catch(() => modules.delete(url));
  }
  return module;
}
