/** Compilations beside the caller, and where else they may happen. */
import {type CallResult, Instance, type Progress} from './call.ts';
import {answerIn, type Beginning, type Call, compileIn} from './compile_in.ts';

export interface Place {
  compile(call: Call, progress: Progress): Promise<CallResult>;
  /** In tuner.wasm: begins a search (the place has one), and goes on with it; both give the next request. */
  search(call: Call, beginning: Beginning): Promise<CallResult>;
  answer(json: string): Promise<CallResult>;
  stop(): void;
}

/** Memory that a compilation took is never given back: an instance with more than this makes room for another. */
const MOST_BYTES = 256 * 2 ** 20;

/** Compilations one after the other, on the calling thread. */
export function besideCaller(module: WebAssembly.Module): Place {
  let instance: Promise<Instance> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let searching: Instance | undefined;
  const compile = async (call: Call, progress: Progress): Promise<CallResult> => {
    // A search's instance knows most kernels of what it found.
    const mine = searching ?? (await (instance ??= Instance.create(module)));
    const result = await compileIn(mine, call, progress);
    if (result.trapped || mine.size > MOST_BYTES) instance = searching = undefined;
    return result;
  };
  return {
    compile(call, progress) {
      const result = last.then(() => compile(call, progress));
      last = result.catch(() => undefined);
      return result;
    },
    async search(call, beginning) {
      searching = await Instance.create(module);
      return compileIn(searching, call, () => undefined, beginning);
    },
    answer: (json) => searching
      ? Promise.resolve(answerIn(searching, json))
      : Promise.reject(new Error('there is no search')),
    stop() {
      instance = searching = undefined;
    },
  };
}
