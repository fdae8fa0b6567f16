/** The compiler in a worker: one compilation after the other, or a search, until it is terminated with all its memory. */
import type {CallResult, CompiledKernel, Progress} from './call.ts';
import type {Beginning, Call} from './compile_in.ts';
import {besideCaller, type Place} from './beside.ts';

/** First the module, which a 'ready' answers, then calls. */
export type Request =
  | {readonly module: WebAssembly.Module}
  | ({readonly call: number} & Work);

/** A search that begins with a call, or the answer to what it asked. */
export type Work = {readonly given: Call; readonly search?: Beginning | undefined} | {readonly answer: string};

export type Message = {readonly call: number} & (
  | {readonly kind: 'progress'; readonly step: string; readonly fraction: number; readonly kernel?: CompiledKernel | undefined}
  | {readonly kind: 'done'; readonly result: CallResult}
  | {readonly kind: 'failed'; readonly message: string}
);

const post = (message: Message, transfer: ArrayBuffer[] = []): void =>
  (self as unknown as Worker).postMessage(message, transfer);

let place: Place | undefined;

function done(work: Work, progress: Progress): Promise<CallResult> | undefined {
  if ('answer' in work) return place?.answer(work.answer);
  return work.search ? place?.search(work.given, work.search) : place?.compile(work.given, progress);
}

async function work(request: Request): Promise<void> {
  if ('module' in request) {
    place = besideCaller(request.module);
    (self as unknown as Worker).postMessage('ready');
    return;
  }
  const {call} = request;
  try {
    const result = (await done(request, (step, fraction, kernel) => post({call, kind: 'progress', step, fraction, kernel}))) as CallResult;
    const transfer = 'files' in result ? result.files.map(({bytes}) => bytes.buffer) : [];
    post({call, kind: 'done', result}, transfer);
  } catch (problem) {
    post({call, kind: 'failed', message: String(problem)});
  }
}

self.onmessage = (event: MessageEvent<Request>) => void work(event.data);
