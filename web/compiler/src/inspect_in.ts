/** Views of a model by an instance of tuner.wasm, on the calling thread; in a worker, too. */
import {CompileError, type Exports, Instance} from './call.ts';
import type {CompileOptions} from './compile_options.ts';
import {type ExternalData, namedFiles} from './given.ts';
import {nativeOptions} from './native_options.ts';

interface InspectExports extends Exports {
  gs_inspect(model: number, size: number, options: number, optionsSize: number, files: number, count: number, request: number, requestSize: number): number;
}

/** As web/compiler/tuner/inspect_entry.cc reads it. */
export interface InspectRequest {
  readonly targets: readonly CompileOptions['target'][];
  /** Lines by target. */
  readonly records?: Readonly<Record<string, string>> | undefined;
  readonly stages?: boolean | undefined;
  readonly kernels?: boolean | undefined;
  readonly space?: boolean | undefined;
  readonly points?: number | undefined;
  readonly json?: boolean | undefined;
  readonly dump?: boolean | undefined;
  /** The text is the document that web/inspector shows. */
  readonly document?: boolean | undefined;
}

export type InspectProgress = (step: string, fraction: number) => void;

/** The file "text", and with `dump` others by their names. Throws a CompileError. */
export async function inspectIn(module: WebAssembly.Module, model: Uint8Array, options: Partial<CompileOptions>, externalData: ExternalData, request: InspectRequest, onProgress?: InspectProgress): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const instance = await Instance.create(module);
  if (onProgress) instance.progress = onProgress;
  const words: number[] = [];
  for (const [name, file] of namedFiles(externalData)) {
    const bytes = file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer());
    words.push(...instance.putText(name), instance.put(bytes), bytes.length);
  }
  const list = instance.put(new Uint8Array(Uint32Array.from(words).buffer));
  const made = ((): ReturnType<Instance['take']> => {
    try {
      return instance.take((instance.exports as InspectExports).gs_inspect(
        instance.put(model), model.length, ...instance.putText(JSON.stringify(nativeOptions(options))), list, words.length / 4, ...instance.putText(JSON.stringify(request)),
      ));
    } catch (problem) {
      return {error: instance.stopped(problem)};
    }
  })();
  if ('error' in made) throw new CompileError(made.error);
  return new Map(made.files);
}
