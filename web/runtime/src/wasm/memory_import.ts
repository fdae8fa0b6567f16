/**
 * Rewrites the limits of a module's memory import. The compiler writes one module for every page; the
 * shared bit, which must equal the memory's, is only known here (WebAssembly core specification 5.5.5).
 */
import {GossamerError} from '../types.ts';

export interface MemoryLimits {
  readonly minimum: number;
  /** In pages of 64 KiB; required when shared. */
  readonly maximum: number | undefined;
  readonly shared: boolean;
}

class Reader {
  at: number;
  readonly #bytes: Uint8Array;
  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }
  byte(): number {
    const value = this.#bytes[this.at++];
    if (value === undefined) throw new GossamerError('damaged', 'the wasm module ends too early');
    return value;
  }
  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new GossamerError('damaged', 'the wasm module has a bad number');
  }
  skip(count: number): void {
    this.at += count;
  }
  limits(): MemoryLimits {
    const flags = this.byte();
    const minimum = this.u32();
    return {minimum, maximum: flags & 1 ? this.u32() : undefined, shared: (flags & 2) !== 0};
  }
}

function leb(value: number): number[] {
  const bytes: number[] = [];
  do {
    const low = value & 127;
    value >>>= 7;
    bytes.push(value ? low | 128 : low);
  } while (value);
  return bytes;
}

const encoded = (limits: MemoryLimits): number[] =>
  limits.maximum === undefined
    ? [0, ...leb(limits.minimum)]
    : [limits.shared ? 3 : 1, ...leb(limits.minimum), ...leb(limits.maximum)];

const IMPORT_SECTION = 2;

/** The module with its imported memory's limits replaced; itself when it imports no memory. */
export function withMemoryLimits(module: Uint8Array, limits: MemoryLimits): Uint8Array {
  const magic = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  if (!magic.every((byte, at) => module[at] === byte)) {
    throw new GossamerError('damaged', 'this is not a wasm module');
  }
  const reader = new Reader(module, 8);
  while (reader.at < module.length) {
    const section = reader.at;
    const id = reader.byte();
    const size = reader.u32();
    const start = reader.at;
    if (id !== IMPORT_SECTION) {
      reader.skip(size);
      continue;
    }
    for (let count = reader.u32(); count > 0; --count) {
      reader.skip(reader.u32()); // module name
      reader.skip(reader.u32()); // field name
      const kind = reader.byte();
      if (kind === 0) {
        reader.u32();
      } else if (kind === 2) {
        const from = reader.at;
        reader.limits();
        const to = reader.at;
        const changed = encoded(limits);
        const head = [id, ...leb(size + changed.length - (to - from))];
        const parts = [
          module.subarray(0, section),
          head,
          module.subarray(start, from),
          changed,
          module.subarray(to),
        ];
        const result = new Uint8Array(parts.reduce((all, part) => all + part.length, 0));
        let at = 0;
        for (const part of parts) {
          result.set(part, at);
          at += part.length;
        }
        return result;
      } else {
        throw new GossamerError('damaged', 'kernels import functions and one memory');
      }
    }
    return module;
  }
  return module;
}
