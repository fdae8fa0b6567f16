/** The compiler in a worker: one compilation, then the worker is thrown away with all its memory. */
import {callCompiler, type CallResult, type NamedFile, type NativeOptions} from './call.ts';

export interface Request {
  readonly module: WebAssembly.Module;
  readonly model: Uint8Array;
  readonly options: NativeOptions;
  readonly external: readonly NamedFile[];
}

export type Message =
  | {readonly kind: 'progress'; readonly step: string; readonly fraction: number}
  | {readonly kind: 'done'; readonly result: CallResult}
  | {readonly kind: 'failed'; readonly message: string};

const post = (message: Message, transfer: ArrayBuffer[] = []): void =>
  (self as unknown as Worker).postMessage(message, transfer);

async function work({module, model, options, external}: Request): Promise<void> {
  try {
    const result = await callCompiler(module, model, options, external, (step, fraction) =>
      post({kind: 'progress', step, fraction}),
    );
    const transfer = 'files' in result ? result.files.map(([, bytes]) => bytes.buffer) : [];
    post({kind: 'done', result}, transfer);
  } catch (problem) {
    post({kind: 'failed', message: String(problem)});
  }
}

self.onmessage = (event: MessageEvent<Request>) => void work(event.data);
