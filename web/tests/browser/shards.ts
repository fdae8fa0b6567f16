/** Weights in Cache Storage: a second load fetches none, and a load that was broken off goes on. */
import {load} from '../../runtime/src/index.ts';
import {check, rejects, same} from './check.ts';

const CACHE = 'gossamer-weights';

/** What the server was asked for since it was last asked that. */
const asked = async (): Promise<string[]> =>
  ((await (await fetch('/asked')).json()) as string[]).filter((name) => name.startsWith('weights')).sort();

async function right(url: string): Promise<void> {
  using model = await load(url);
  const out = await model.run({});
  for (const [at, {name}] of model.outputs.entries()) {
    same(Array.from((await out[name]?.data<Float32Array>()) ?? []), [0, 1, 2, 3].map((i) => 4 * (at + i)), name);
  }
}

async function keeps(): Promise<void> {
  await caches.delete(CACHE);
  await asked();
  // Without its last file.
  await rejects(load('/shards/broken/'), 'source', /weights\.4\.safetensors: the server answered 404/);
  same(await asked(), [1, 2, 3, 4].map((at) => `weights.${at}.safetensors`), 'all files');
  same((await (await caches.open(CACHE)).keys()).length, 3, 'kept');
  await right('/shards/whole/');
  same(await asked(), ['weights.4.safetensors'], 'what is missing');
  const cache = await caches.open(CACHE);
  // What was fetched last may still be on its way into the cache when the model is loaded.
  for (let left = 500; left > 0 && (await cache.keys()).length < 4; --left) await new Promise((resolve) => setTimeout(resolve, 20));
  await right('/shards/whole/');
  same(await asked(), [], 'nothing');
  const [key] = await cache.keys();
  check(key !== undefined, 'no key');
  await cache.put(key as Request, new Response('nonsense'));
  await right('/shards/whole/');
  same((await asked()).length, 1, 'what was spoilt');
  await caches.delete(CACHE);
}

/** The server cuts the second file off, once. */
async function resumes(): Promise<void> {
  await caches.delete(CACHE);
  await asked();
  await right('/shards/cut/');
  const names = await asked();
  check(names.some((name) => /^weights\.2\.safetensors from [1-9]/.test(name)), names.join());
  await caches.delete(CACHE);
}

/** Chromium drops streams of kept files that nothing in the page refers to, also those that are read. */
async function outlivesCollections(): Promise<void> {
  const {gc} = globalThis as unknown as {gc: () => void}; // by --expose-gc
  for (let turn = 0; turn < 6; ++turn) {
    if (turn % 3 === 0) await caches.delete(CACHE);
    let waits = true;
    const loaded = right('/shards/whole/').finally(() => (waits = false));
    const begin = performance.now();
    while (waits) {
      check(performance.now() - begin < 120_000, `load ${turn} does not end`);
      gc();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await loaded;
  }
  await caches.delete(CACHE);
}

export function addShards(tests: Map<string, () => Promise<void>>): void {
  tests.set('weights are kept in Cache Storage', keeps);
  tests.set('bare gc: kept weights are read while memory is collected', outlivesCollections);
  tests.set('a download of weights that is cut off goes on where it ended', resumes);
}
