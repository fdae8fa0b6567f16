/** Compilations beside the caller, and where else they may happen. */
import {type CallResult, Instance, type NamedFile, type NativeOptions} from './call.ts';
import {compileIn} from './compile_in.ts';

export interface Call {
  readonly model: Uint8Array;
  readonly options: NativeOptions;
  readonly external: readonly NamedFile[];
}

export type Progress = (step: string, fraction: number) => void;

export interface Place {
  compile(call: Call, progress: Progress): Promise<CallResult>;
  stop(): void;
}

/** Memory that a compilation took is never given back: an instance with more than this makes room for another. */
const MOST_BYTES = 256 * 2 ** 20;

/** Compilations one after the other, on the calling thread. */
export function besideCaller(module: WebAssembly.Module): Place {
  let instance: Promise<Instance> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const compile = async ({model, options, external}: Call, progress: Progress): Promise<CallResult> => {
    const mine = await (instance ??= Instance.create(module));
    const result = await compileIn(mine, model, options, external, progress);
    if (result.trapped || mine.size > MOST_BYTES) instance = undefined;
    return result;
  };
  return {
    compile(call, progress) {
      const result = last.then(() => compile(call, progress));
      last = result.catch(() => undefined);
      return result;
    },
    stop() {
      instance = undefined;
    },
  };
}
