/** What this page or program can run packages on. */

/** An adapter in words, where the browser says some. */
async function adapterText(): Promise<string | undefined> {
  const {gpu} = (globalThis.navigator as Navigator | undefined) ?? {};
  const adapter = await gpu?.requestAdapter().catch(() => null);
  if (!adapter) return undefined;
  const {vendor, architecture, description} = adapter.info;
  return [vendor, architecture, description].filter(Boolean).join(' ') || 'an adapter without a name';
}

function hasWebGL(): boolean {
  if (typeof OffscreenCanvas === 'undefined') return false;
  return new OffscreenCanvas(1, 1).getContext('webgl2') !== null;
}

export async function findTargets(): Promise<{targets: string[]; about: string}> {
  const adapter = await adapterText();
  const targets = [...(adapter === undefined ? [] : ['webgpu']), ...(hasWebGL() ? ['webgl'] : []), 'wasm'];
  const agent = (globalThis.navigator as Navigator | undefined)?.userAgent ?? '';
  const browser = /(Chrome|Firefox|Version|Node\.js)\/[\d.]+/.exec(agent)?.[0] ?? agent;
  return {targets, about: [browser, adapter].filter(Boolean).join(', ')};
}
