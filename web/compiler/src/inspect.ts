/** Views of a model, as `gossamer inspect` prints them: by tuner.wasm, on the calling thread. For @gossamer/cli. */
import type {CompileOptions} from './compile_options.ts';
import type {ExternalData} from './given.ts';
import {inspectIn, type InspectProgress, type InspectRequest} from './inspect_in.ts';
import {getModule, type WasmSource} from './module.ts';

export type {InspectRequest} from './inspect_in.ts';

interface Where {
  readonly wasm: WasmSource;
  readonly onProgress?: InspectProgress | undefined;
}

/** The file "text", and with `dump` others by their names. Throws a CompileError. */
export const inspect = async (model: Uint8Array, options: Partial<CompileOptions>, externalData: ExternalData, request: InspectRequest, {wasm, onProgress}: Where): Promise<Map<string, Uint8Array<ArrayBuffer>>> =>
  inspectIn(await getModule(wasm), model, options, externalData, request, onProgress);
