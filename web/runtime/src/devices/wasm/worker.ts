/**
 * What runs in a worker: an engine that answers calls, or a thread of one that is elsewhere. Bundled as a classic
 * script (worker_script.ts).
 */
import {discard} from '../../values/discard.ts';
import {type Digested, digester} from '../../hash/digester.ts';
import {GossamerError, messageOf} from '../../values/types.ts';
import {WasmEngine} from './engine.ts';
import {giveScratch, help, type KernelFunction, type Kernels, Pool, type SharedKernels} from './pool.ts';
import type {Table} from './table.ts';
import type {CallMessage, ReplyMessage} from './thread.ts';

type Post = (replies: readonly ReplyMessage[], transfer?: ArrayBuffer[]) => void;

let engine: WasmEngine | undefined;
let pool: Pool | undefined;
/** Of all programs on a memory that is elsewhere. */
const kernels: Kernels = [];
let post: Post = () => undefined;

/** What a thread understands besides the methods of its engine. */
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
  start(elsewhere: boolean) {
    if (!elsewhere) engine = new WasmEngine(false);
    return engine?.limits;
  },
  async lead(shared: SharedKernels, threads: number) {
    await learn(shared, threads);
    pool ??= new Pool(shared.memory, kernels);
    pool.threads = threads;
  },
  digest: digester(),
  compute: (tables: Table[]) => (pool ?? engine)?.compute(tables),
  write(block: number, data: Uint8Array) {
    engine?.write(block, data);
    discard(data);
  },
};

/** As the thread of this number; 0 is the engine's. */
async function learn({memory, module, entries, first, room, gone}: SharedKernels, number: number): Promise<void> {
  for (const [from, count] of gone) kernels.fill(undefined, from, from + count);
  const instance = await WebAssembly.instantiate(module, {env: {memory}});
  giveScratch(instance.exports, (bytes) => room + bytes * number);
  entries.forEach((entry, at) => (kernels[first + at] = instance.exports[entry] as KernelFunction));
}

async function answer(calls: readonly CallMessage[]): Promise<void> {
  let replies: ReplyMessage[] = [];
  const transfer: ArrayBuffer[] = [];
  for (const {id, method, args} of calls) {
    try {
      if (method === 'help') {
        const [shared, calls, number] = args as [SharedKernels, number, number];
        await learn(shared, number);
        post([...replies, {id}]);
        replies = [];
        help(shared.memory, kernels, calls);
        continue;
      }
      const known = methods[method] ? methods : (engine as unknown as typeof methods);
      const result = await known[method]?.(...(args as never[]));
      if (method === 'read') transfer.push((result as Uint8Array<ArrayBuffer>).buffer);
      if (method === 'digest') transfer.push((result as Digested).block.buffer);
      replies.push({id, result});
    } catch (problem) {
      const code = problem instanceof GossamerError ? problem.code : undefined;
      replies.push({id, error: {message: messageOf(problem), code}});
    }
  }
  if (replies.length > 0) post(replies, transfer);
}

// One call after the other, also across those that wait.
let last: Promise<void> = Promise.resolve();
const receive = (calls: readonly CallMessage[]): void => {
  last = last.then(() => answer(calls));
};

const garbled = (): never => {
  throw new Error('a message to it could not be read');
};

if (typeof WorkerGlobalScope !== 'undefined') {
  post = (replies, transfer = []) => (self as unknown as Worker).postMessage(replies, transfer);
  self.onmessage = (event: MessageEvent<CallMessage[]>) => receive(event.data);
  self.onmessageerror = garbled;
} else {
  const {parentPort} = process.getBuiltinModule('node:worker_threads');
  post = (replies, transfer = []) => parentPort?.postMessage(replies, transfer);
  parentPort?.on('message', receive);
  parentPort?.on('messageerror', garbled);
}

declare const WorkerGlobalScope: unknown;
