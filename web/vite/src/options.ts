/** What plugins of bundlers have in common. */
import {type Compiled, type CompileSettings, compiled, type Target} from './compiled.ts';
import {writeTypes} from './declarations.ts';

export interface ModelOptions {
  /** What pages may run models with, the best first. Each takes its own copy of the weights. Default: webgpu, webgl and wasm. */
  readonly targets?: readonly Target[] | undefined;
  /** Options of compile(), for all models or by a model's file. */
  readonly compile?: CompileSettings | ((file: string) => CompileSettings) | undefined;
  /** True: writes NAME.d.onnx.ts next to each NAME.onnx, which names its inputs and outputs (TypeScript's allowArbitraryExtensions). */
  readonly types?: boolean | undefined;
}

/** Without these, pages have one thread. */
export const HEADERS = {'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp'};

/** Compiles what an application imports. `cache`: the folder of packages that are kept; `from`: the plugin's package. Rejects with the file and the compiler's message. */
export async function imported(model: Uint8Array, file: string, {targets = ['webgpu', 'webgl', 'wasm'], compile = {}, types = false}: ModelOptions, cache: string, from: string): Promise<Compiled> {
  const settings = typeof compile === 'function' ? compile(file) : compile;
  const made = await compiled(model, file, targets, settings, cache).catch((problem: unknown) => {
    throw new Error(`${file}: ${(problem as Error).message}`, {cause: problem});
  });
  if (types) await writeTypes(file, made, from);
  return made;
}
