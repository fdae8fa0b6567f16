// Addresses below the folder that is served: bench/, now/, before/, peers/, packages/ (lib/layout.mjs).
const base = new URL('../../', import.meta.url);

export const at = (path) => new URL(path, base).href;
