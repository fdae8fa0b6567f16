// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- users of src need it too
/// <reference path="../../runtime/src/globals.d.ts" />
/** Compilations and searches in a worker. */
import type {CallResult, NamedFile, Progress} from './call.ts';
import type {Call} from './compile_in.ts';
import type {Place} from './beside.ts';
import type {Message, Request, Work} from './worker.ts';
import script from 'worker:./worker.ts';

interface Waiting {
  readonly progress: Progress;
  readonly resolve: (result: CallResult) => void;
  readonly reject: (problem: unknown) => void;
}

/** A worker that has the module; rejects where none can be started. */
async function start(module: WebAssembly.Module): Promise<Worker> {
  for (;;) {
    let worker: Worker | undefined;
    try {
      worker = await script.start();
      await new Promise<void>((resolve, reject) => {
        const begun = worker as Worker;
        begun.onmessage = () => resolve();
        begun.onerror = (event) => reject(new Error(event.message));
        begun.postMessage({module} satisfies Request);
      });
      return worker;
    } catch (problem) {
      worker?.terminate();
      if (!script.otherwise()) throw problem;
    }
  }
}

/** Rejects where no worker can be started. */
export async function inWorker(module: WebAssembly.Module): Promise<Place> {
  const worker = await start(module);
  const waiting = new Map<number, Waiting>();
  let calls = 0;
  let over: Error | undefined;
  const end = (problem: Error): void => {
    over ??= problem;
    worker.terminate();
    for (const {reject} of waiting.values()) reject(over);
    waiting.clear();
  };
  worker.onerror = (event) => end(new Error(`the compiler's worker failed: ${event.message}`));
  worker.onmessage = ({data}: MessageEvent<Message>) => {
    const call = waiting.get(data.call);
    if (data.kind === 'progress') {
      call?.progress(data.step, data.fraction, data.kernel);
      return;
    }
    waiting.delete(data.call);
    if (data.kind === 'done') call?.resolve(data.result);
    else call?.reject(new Error(data.message));
  };
  const post = (work: Work, progress: Progress = () => undefined, transfer: ArrayBuffer[] = []): Promise<CallResult> => {
    if (over) return Promise.reject(over);
    const call = ++calls;
    return new Promise((resolve, reject) => {
      waiting.set(call, {progress, resolve, reject});
      worker.postMessage({call, ...work} satisfies Request, transfer);
    });
  };
  // A message clones whole buffers: bytes of part of one go as a copy of their own.
  const own = (call: Call): [Call, ArrayBuffer[]] => {
    const external = call.external.map(([name, file]): NamedFile => [name, file instanceof Uint8Array ? file.slice() : file]);
    return [{...call, external}, external.flatMap(([, file]) => (file instanceof Uint8Array ? [file.buffer as ArrayBuffer] : []))];
  };
  return {
    compile(call, progress) {
      const [given, transfer] = own(call);
      return post({given}, progress, transfer);
    },
    search(call, search) {
      const [given, transfer] = own(call);
      return post({given, search}, undefined, transfer);
    },
    answer: (answer) => post({answer}),
    stop: () => end(new Error('the compiler was disposed')),
  };
}
