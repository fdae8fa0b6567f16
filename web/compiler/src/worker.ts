/** The compiler in a worker: one compilation after the other, until it is terminated with all its memory. */
import {type CallResult, type NamedFile, type NativeOptions} from './call.ts';
import {besideCaller, type Place} from './beside.ts';

/** First the module, which a 'ready' answers, then calls. */
export type Request =
  | {readonly module: WebAssembly.Module}
  | {
      readonly call: number;
      readonly model: Uint8Array;
      readonly options: NativeOptions;
      readonly external: readonly NamedFile[];
    };

export type Message = {readonly call: number} & (
  | {readonly kind: 'progress'; readonly step: string; readonly fraction: number}
  | {readonly kind: 'done'; readonly result: CallResult}
  | {readonly kind: 'failed'; readonly message: string}
);

const post = (message: Message, transfer: ArrayBuffer[] = []): void =>
  (self as unknown as Worker).postMessage(message, transfer);

let place: Place | undefined;

async function work(request: Request): Promise<void> {
  if ('module' in request) {
    place = besideCaller(request.module);
    (self as unknown as Worker).postMessage('ready');
    return;
  }
  const {call} = request;
  try {
    const result = (await place?.compile(request, (step, fraction) =>
      post({call, kind: 'progress', step, fraction}),
    )) as CallResult;
    const transfer = 'files' in result ? result.files.map(([, bytes]) => bytes.buffer) : [];
    post({call, kind: 'done', result}, transfer);
  } catch (problem) {
    post({call, kind: 'failed', message: String(problem)});
  }
}

self.onmessage = (event: MessageEvent<Request>) => void work(event.data);
