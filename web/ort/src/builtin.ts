/** A module of Node.js, Deno or Bun; undefined in pages and workers. Asked for by a call, so that bundlers see no import. */
export const builtin = <T>(name: string): T | undefined =>
  typeof document === 'undefined' && typeof location === 'undefined'
    ? (globalThis as {process?: {getBuiltinModule?: (name: string) => T}}).process?.getBuiltinModule?.(name)
    : undefined;
