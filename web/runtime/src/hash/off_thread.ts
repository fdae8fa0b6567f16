/** The SHA-256 of blocks on a thread of its own, which ends when nothing more is asked of it. */
import {discard} from '../discard.ts';
import type {Thread} from '../wasm/thread.ts';
import {type Digested, digester} from './digester.ts';

/** It ends after so many ms without a question. */
const IDLE_MS = 1000;

let thread: Promise<Thread> | undefined;
let asked = 0;
const here = digester();
let idle: ReturnType<typeof setTimeout> | undefined;

async function start(): Promise<Thread> {
  const {startThread} = await import('../wasm/device.ts');
  return startThread(true, (started) => started);
}

async function stop(): Promise<void> {
  const ended = thread;
  thread = undefined;
  (await ended)?.stop();
}

/** `passes`: the block may come back in other memory. On this thread where a page may have no other. Rejects where one ends that has the block. */
export async function digest(given: Uint8Array<ArrayBuffer>, passes: boolean): Promise<Digested> {
  const block = passes ? given : given.slice();
  clearTimeout(idle);
  ++asked;
  try {
    thread ??= start();
    const found = (await (await thread).call('digest', [block], [block.buffer])) as Digested;
    if (passes) return found;
    discard(found.block);
    return {block: given, hash: found.hash};
  } catch (problem) {
    if (given.length === 0) throw problem;
    return await here(given);
  } finally {
    if (--asked === 0) idle = setTimeout(() => void stop().catch(() => undefined), IDLE_MS);
  }
}
