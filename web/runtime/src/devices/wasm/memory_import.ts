/**
 * Rewrites the limits of a module's memory import. The compiler writes one module for every page; the
 * shared bit, which must equal the memory's, is only known here (WebAssembly core specification 5.5.5).
 */
import {GossamerError} from '../../values/types.ts';

export interface MemoryLimits {
  readonly minimum: number;
  /** In pages of 64 KiB. */
  readonly maximum: number;
  readonly shared: boolean;
}

function leb(value: number): number[] {
  const low = value & 127;
  return value > 127 ? [low | 128, ...leb(value >>> 7)] : [low];
}

const IMPORT_SECTION = 2;
const MEMORY = 2;

/** The module with its imported memory's limits replaced; itself when it imports nothing. */
export function withMemoryLimits(module: Uint8Array, {minimum, maximum, shared}: MemoryLimits): Uint8Array {
  const damaged = (what: string): never => {
    throw new GossamerError('damaged', what);
  };
  let at = 8; // Whether it is a module at all is told by who compiles it.
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = module[at++] ?? damaged('the wasm module ends too early');
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  while (at < module.length) {
    const section = at;
    const id = number();
    const size = number();
    const start = at;
    if (id !== IMPORT_SECTION) {
      at += size;
      continue;
    }
    const count = number();
    const skipName = (): void => void (at = number() + at);
    skipName();
    skipName();
    if (count !== 1 || number() !== MEMORY) damaged('kernels import one memory');
    const from = at;
    for (let left = number() & 1 ? 2 : 1; left > 0; --left) number();
    const changed = [shared ? 3 : 1, ...leb(minimum), ...leb(maximum)];
    const parts = [
      module.subarray(0, section),
      [id, ...leb(size + changed.length - (at - from))],
      module.subarray(start, from),
      changed,
      module.subarray(at),
    ];
    const result = new Uint8Array(parts.reduce((all, part) => all + part.length, 0));
    let to = 0;
    for (const part of parts) {
      result.set(part, to);
      to += part.length;
    }
    return result;
  }
  return module;
}
