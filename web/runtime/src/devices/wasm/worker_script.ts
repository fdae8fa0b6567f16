/** Scripts that workers run, in the two forms that builds give them (build/bundle.mjs). */
import type * as Threads from 'node:worker_threads';
import {packageFile} from './package_file.ts';

export interface WorkerScript {
  /** A worker of browsers, Deno or Bun. */
  start(): Promise<Worker>;
  startIn(threads: typeof Threads): Threads.Worker;
  /** A worker did not start: whether there is another way, which is the one from here on. */
  otherwise(): boolean;
}

/** Workers of the web; other libraries make Node's a global of the same name. */
export const HAS_WORKERS = typeof Worker !== 'undefined' && 'addEventListener' in Worker.prototype;

/** Deno has no classic workers. */
const MODULE = 'Deno' in globalThis ? ({type: 'module'} as const) : undefined;

const ofBlob = (text: string): Worker => {
  const url = URL.createObjectURL(new Blob([text], {type: 'text/javascript'}));
  const worker = new Worker(url, MODULE);
  // Fetched before its first event: some browsers are late where it is revoked at once.
  worker.addEventListener('message', () => URL.revokeObjectURL(url), {once: true});
  return worker;
};

/** A text in the bundle. */
export const scriptOfText = (text: string): WorkerScript => ({
  start: () => Promise.resolve(ofBlob(text)),
  startIn: (threads) => new threads.Worker(text, {eval: true}),
  otherwise: () => false,
});

/**
 * A file. Where it may not be a worker (it is on another origin, or was sent without the embedder policy that an isolated
 * page has) a blob that imports it is, if the page's policy has blobs.
 */
export function scriptOfFile(address: () => URL): WorkerScript {
  let imported = false;
  return {
    async start() {
      const url = await packageFile(address());
      try {
        if (!imported) return new Worker(url, MODULE);
      } catch {
        imported = true;
      }
      const name = JSON.stringify(url.href);
      return ofBlob(MODULE ? `import ${name}` : `importScripts(${name})`);
    },
    startIn: (threads) => new threads.Worker(address()),
    otherwise: () => !imported && (imported = true),
  };
}
