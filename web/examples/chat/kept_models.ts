/** Compiled models that @gossamer/llm keeps in this browser (README of the package, "gossamer-compiled"). */

const CACHE = 'gossamer-compiled';

/** Undefined where this page has no Cache Storage: it needs https or localhost. */
export async function keptModels(): Promise<{readonly count: number; readonly bytes: number} | undefined> {
  if (!('caches' in globalThis)) return undefined;
  if (!(await caches.has(CACHE))) return {count: 0, bytes: 0};
  const cache = await caches.open(CACHE);
  const entries = await cache.matchAll();
  const sizes = await Promise.all(entries.map(async (entry) => (await entry.blob()).size));
  return {count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0)};
}

export async function forgetModels(): Promise<void> {
  await caches.delete(CACHE);
}
