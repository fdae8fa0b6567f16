/** load(): in a worker where that is possible, otherwise on the caller's thread. */
import {HAS_WORKERS} from '../../runtime/src/devices/wasm/worker_script.ts';
import type {GivenFiles} from './folder.ts';
import type {LanguageModel, LoadOptions} from './language_model.ts';

/** Only a page has a document: workers and Node.js are no places to keep responsive. */
const wantsWorker = ({worker, fetch}: LoadOptions): boolean | Worker => worker ?? (HAS_WORKERS && typeof document !== 'undefined' && !fetch);

/**
 * Loads a folder of Hugging Face form (tokenizer.json, config.json and ONNX files), which is compiled, or one of a compiled package with
 * the tokenizer's files next to it. `from` is a path (Node.js), a URL, or files. Rejects for files that are missing or wrong, with the
 * errors of compile() and of the run time's load(), and with the signal's reason.
 */
export async function load(from: string | URL | GivenFiles, options: LoadOptions = {}): Promise<LanguageModel> {
  options.signal?.throwIfAborted();
  if (wantsWorker(options)) {
    const {openWorker} = await import('./remote.ts');
    // Policies may refuse workers; unless one is asked for, the page does the work.
    const worker = await openWorker(options.worker).catch((problem: unknown) => {
      if (options.worker) throw problem;
    });
    if (worker) return worker.load(from, options);
  }
  return (await import('./local.ts')).loadHere(from, options);
}
