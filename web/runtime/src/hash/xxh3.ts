import {wasmOf} from './wasm.ts';
import {XXH3_WASM} from './xxh3_wasm.ts';

interface Exports {
  readonly memory: WebAssembly.Memory;
  reset(): void;
  update(address: number, count: number): void;
  digest(): bigint;
}

const CHUNK = 1 << 18;

let compiled: Promise<WebAssembly.Module> | undefined;

/** XXH3 (64 bits, seed 0) of bytes that arrive in pieces. */
export class Xxh3 {
  readonly #exports: Exports;
  readonly #buffer: number;

  private constructor(exports: Exports) {
    this.#exports = exports;
    this.#buffer = exports.memory.grow(CHUNK >> 16) << 16;
    exports.reset();
  }

  static async create(): Promise<Xxh3> {
    compiled ??= wasmOf(XXH3_WASM);
    const instance = await WebAssembly.instantiate(await compiled);
    return new Xxh3(instance.exports as unknown as Exports);
  }

  update(bytes: Uint8Array): void {
    const memory = new Uint8Array(this.#exports.memory.buffer);
    for (let at = 0; at < bytes.length; at += CHUNK) {
      const piece = bytes.subarray(at, at + CHUNK);
      memory.set(piece, this.#buffer);
      this.#exports.update(this.#buffer, piece.length);
    }
  }

  /** 16 lower-case hexadecimal digits. */
  digest(): string {
    return BigInt.asUintN(64, this.#exports.digest()).toString(16).padStart(16, '0');
  }
}
