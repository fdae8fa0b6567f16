/**
 * What runs in a worker: an engine that answers calls, or a helper thread of one. Bundled as a classic
 * script and carried as text by the wasm backend, so that no second file has to be found.
 */
import type {PlanSize} from '../device.ts';
import {discard} from '../discard.ts';
import {GossamerError, messageOf} from '../types.ts';
import {WasmEngine, type WasmLaunch} from './engine.ts';
import {helpForever, type KernelFunction, type SharedKernels} from './pool.ts';
import type {CallMessage, ReplyMessage} from './thread.ts';

type Post = (message: ReplyMessage, transfer?: ArrayBuffer[]) => void;

let engine: WasmEngine | undefined;
let post: Post = () => undefined;

const running = (): WasmEngine => {
  if (!engine) throw new Error('no engine was started');
  return engine;
};

/** Every call a thread understands. */
const methods: Record<string, (...args: never[]) => unknown> = {
  /** Has the lock of this name until the worker ends. */
  hold: (name: string) =>
    new Promise<void>((resolve, reject) => {
      const held = (): Promise<void> => {
        resolve();
        return new Promise(() => undefined);
      };
      navigator.locks.request(name, held).catch(reject);
    }),
  start(threads: number) {
    engine = new WasmEngine(threads);
    return engine.limits;
  },
  load: (module: Uint8Array, entries: string[], plan: PlanSize | undefined) =>
    running().load(module, entries, plan),
  join: () => running().join(),
  plan: (segment: number, dims: number[]) => running().plan(segment, dims),
  allocate: (sizes: number[]) => running().allocate(sizes),
  free: (block: number) => running().free(block),
  record: (id: number, launches: WasmLaunch[]) => running().record(id, launches),
  forget: (id: number) => running().forget(id),
  write(block: number, data: Uint8Array) {
    running().write(block, data);
    discard(data);
  },
  submit: (id: number) => running().submit(id),
  read: (block: number, bytes: number) => running().read(block, bytes),
};

async function help(id: number, args: readonly unknown[]): Promise<void> {
  const {memory, module, entries} = args[0] as SharedKernels;
  const instance = await WebAssembly.instantiate(module, {env: {memory}});
  post({id});
  helpForever(memory, entries.map((entry) => instance.exports[entry] as KernelFunction));
}

async function answer({id, method, args}: CallMessage): Promise<void> {
  try {
    if (method === 'help') return await help(id, args);
    const result = await methods[method]?.(...(args as never[]));
    const transfer = method === 'read' ? [(result as Uint8Array<ArrayBuffer>).buffer] : [];
    post({id, result}, transfer);
  } catch (problem) {
    const code = problem instanceof GossamerError ? problem.code : undefined;
    post({id, error: {message: messageOf(problem), code}});
  }
}

// One call after the other, also across those that wait.
let last: Promise<void> = Promise.resolve();
const receive = (message: CallMessage): void => {
  last = last.then(() => answer(message));
};

const garbled = (): never => {
  throw new Error('a message to it could not be read');
};

if (typeof WorkerGlobalScope !== 'undefined') {
  post = (message, transfer = []) => (self as unknown as Worker).postMessage(message, transfer);
  self.onmessage = (event: MessageEvent<CallMessage>) => receive(event.data);
  self.onmessageerror = garbled;
} else {
  const {parentPort} = process.getBuiltinModule('node:worker_threads');
  post = (message, transfer = []) => parentPort?.postMessage(message, transfer);
  parentPort?.on('message', receive);
  parentPort?.on('messageerror', garbled);
}

declare const WorkerGlobalScope: unknown;
