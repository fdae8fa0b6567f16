/** Workers of browsers and of Node behind one face: calls that travel as messages. */
import {type ErrorCode, GossamerError, messageOf} from '../../values/types.ts';
import {HAS_WORKERS, type WorkerScript} from './worker_script.ts';

export interface CallMessage {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

export interface ReplyMessage {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: {readonly message: string; readonly code: ErrorCode | undefined};
}

export interface Thread {
  call(method: string, args: readonly unknown[], transfer?: readonly ArrayBuffer[]): Promise<unknown>;
  /** Whether the thread keeps the process alive (Node); at first it does. */
  keep(alive: boolean): void;
  stop(): void;
  /** Called once, when the thread ends: by itself ('lost') or by stop() ('disposed'). */
  died?: ((failure: GossamerError) => void) | undefined;
}

interface Caller {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: Error) => void;
}

interface Wire {
  post(messages: readonly CallMessage[], transfer: readonly ArrayBuffer[]): void;
  keep(alive: boolean): void;
  stop(): void;
}

async function open(
  script: WorkerScript,
  receive: (replies: readonly ReplyMessage[]) => void,
  fail: (reason: string) => void,
): Promise<Wire> {
  if (HAS_WORKERS) {
    const worker = await script.start();
    worker.onmessage = (event: MessageEvent<ReplyMessage[]>) => receive(event.data);
    worker.onerror = (event) => fail(event.message || 'its script could not be started');
    worker.onmessageerror = () => fail('a message from it could not be read');
    return {
      post: (messages, transfer) => worker.postMessage(messages, [...transfer]),
      keep: () => undefined,
      stop: () => worker.terminate(),
    };
  }
  const worker = script.startIn(process.getBuiltinModule('node:worker_threads'));
  worker.on('message', receive);
  worker.on('error', (problem) => fail(String(problem)));
  worker.on('messageerror', (problem) => fail(String(problem)));
  worker.on('exit', (code) => fail(`it exited with code ${code}`));
  return {
    post: (messages, transfer) => worker.postMessage(messages, [...transfer]),
    keep: (alive) => (alive ? worker.ref() : worker.unref()),
    stop: () => void worker.terminate(),
  };
}

/** A thread that runs worker.ts. */
export async function spawn(script: WorkerScript): Promise<Thread> {
  const waiting = new Map<number, Caller>();
  let calls: CallMessage[] = [];
  let moved: ArrayBuffer[] = [];
  let next = 0;
  let failure: GossamerError | undefined;
  const fail = (reason: string, code: ErrorCode = 'lost'): void => {
    if (failure) return;
    failure = new GossamerError(code, reason);
    waiting.forEach(({reject}) => reject(failure as Error));
    waiting.clear();
    thread.died?.(failure);
  };
  const lost = (reason: string): void => fail(`a worker of the model stopped: ${reason}; load the model again`);
  const wire = await open(
    script,
    (replies) => {
      for (const {id, result, error} of replies) {
        const caller = waiting.get(id);
        waiting.delete(id);
        if (!error) caller?.resolve(result);
        else caller?.reject(error.code ? new GossamerError(error.code, error.message) : new Error(error.message));
      }
    },
    lost,
  );
  const flush = (): void => {
    try {
      wire.post(calls, moved);
    } catch (problem) {
      lost(messageOf(problem));
    }
    calls = [];
    moved = [];
  };
  const thread: Thread = {
    call(method, args, transfer = []) {
      if (failure) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        const id = next++;
        waiting.set(id, {resolve, reject});
        // What is asked for in one go travels as one message, and comes back as one.
        if (calls.length === 0) queueMicrotask(flush);
        calls.push({id, method, args});
        moved.push(...transfer);
      });
    },
    keep: (alive) => wire.keep(alive),
    stop() {
      wire.stop();
      fail('the model was disposed', 'disposed');
    },
  };
  // Browsers do not say when they end a worker, but its lock becomes free then. Without locks nothing tells a
  // worker that ended from one in a long kernel.
  if (HAS_WORKERS && navigator.locks) {
    const name = crypto.randomUUID();
    thread
      .call('hold', [name])
      .then(() => navigator.locks.request(name, () => lost('the browser ended it')))
      .catch(() => undefined);
  }
  return thread;
}
