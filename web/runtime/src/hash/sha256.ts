import {SHA256_WASM} from './sha256_wasm.ts';
import {wasmOf} from './wasm.ts';

interface Exports {
  readonly memory: WebAssembly.Memory;
  state(): number;
  update(address: number, blocks: number): void;
}

const BLOCK = 64;
const CHUNK = 1 << 16;

let compiled: Promise<WebAssembly.Module> | undefined;

/** SHA-256 (FIPS 180-4) of bytes that arrive in pieces. */
export class Sha256 {
  readonly #exports: Exports;
  /** A place for CHUNK bytes, of which the first are there. */
  readonly #place: number;
  #has = 0;
  #bytes = 0;

  private constructor(exports: Exports) {
    this.#exports = exports;
    this.#place = exports.memory.grow(CHUNK >> 16) << 16;
  }

  static async create(): Promise<Sha256> {
    compiled ??= wasmOf(SHA256_WASM);
    return new Sha256((await WebAssembly.instantiate(await compiled)).exports as unknown as Exports);
  }

  update(bytes: Uint8Array): void {
    const memory = new Uint8Array(this.#exports.memory.buffer, this.#place);
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + CHUNK - this.#has);
      memory.set(part, this.#has);
      at += part.length;
      this.#has += part.length;
      if (this.#has < CHUNK) break;
      this.#exports.update(this.#place, CHUNK / BLOCK);
      this.#has = 0;
    }
  }

  /** 64 lower-case hexadecimal digits. Nothing can follow. */
  digest(): string {
    const bits = BigInt(this.#bytes) * 8n;
    // 5.1.1: a one, zeros to the last eight bytes of a block, and the number of bits.
    const end = new Uint8Array(BLOCK + 8 - ((this.#has + 8) % BLOCK));
    end[0] = 0x80;
    new DataView(end.buffer).setBigUint64(end.length - 8, bits);
    this.update(end);
    this.#exports.update(this.#place, this.#has / BLOCK);
    const state = new DataView(this.#exports.memory.buffer, this.#exports.state(), 32);
    return Array.from({length: 8}, (_, at) => state.getUint32(4 * at, true).toString(16).padStart(8, '0')).join('');
  }
}
