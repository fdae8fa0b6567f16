/** Checks large files by the SHA-256 of their blocks, on a thread of its own: copying and asking take as long as all else that a load does. A bundle of its own. */
import {BLOCK} from '../package/blocks.ts';
import {discard} from '../values/discard.ts';
import type {FileEntry} from '../package/manifest.ts';
import type {Thread} from '../devices/wasm/thread.ts';
import {type Digested, digester} from './digester.ts';
import type {Check} from './check.ts';

/** The thread ends when it is idle for this time, in ms. */
const IDLE_MS = 1000;

let thread: Promise<Thread> | undefined;
let asked = 0;
const here = digester();
let idle: ReturnType<typeof setTimeout> | undefined;

async function start(): Promise<Thread> {
  const {startThread} = await import('../devices/wasm/device.ts');
  return startThread(true, (started) => started);
}

async function stop(): Promise<void> {
  const ended = thread;
  thread = undefined;
  (await ended)?.stop();
}

/** `passes`: the block may come back in other memory. On this thread where a page may have no other. Rejects where one ends that has the block. */
async function digest(given: Uint8Array<ArrayBuffer>, passes: boolean): Promise<Digested> {
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

export function checkBlocks({pieces}: FileEntry, passes: boolean): Required<Pick<Check, 'filled' | 'wrong'>> {
  const found: Promise<Digested>[] = [];
  const filled: Required<Check>['filled'] = async (block) => {
    const digested = digest(block, passes);
    const at = found.push(digested) - 1;
    const {block: whole, hash} = await digested;
    return hash === pieces[at] ? whole : undefined;
  };
  const wrong = async (): Promise<string | undefined> => {
    const all = await Promise.all(found);
    const at = pieces.findIndex((hash, place) => hash !== all[place]?.hash);
    return at < 0 ? undefined : `has hash ${all[at]?.hash} instead of ${pieces[at]} in the ${BLOCK} bytes from ${at * BLOCK} on`;
  };
  return {filled, wrong};
}
