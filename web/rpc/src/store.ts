/** Files that came over the wire, by the SHA-256 of their content: what is here need not be sent again. */
import {Sha256} from '../../runtime/src/hash/sha256.ts';

/** More than this is not kept, the oldest go first; what is being loaded may take more. */
const MOST_BYTES = 2 ** 31;

interface Arriving {
  readonly bytes: Uint8Array;
  has: number;
}

export class Store {
  readonly #files = new Map<string, Uint8Array>();
  readonly #arriving = new Map<string, Arriving>();
  #bytes = 0;

  has(hash: string): boolean {
    return this.#files.has(hash);
  }

  /** Of files that load() names; throws where one is not here. */
  get(hash: string): Uint8Array {
    const bytes = this.#files.get(hash);
    if (!bytes) throw new Error(`the file ${hash.slice(0, 12)}... has not been sent`);
    // It was used last.
    this.#files.delete(hash);
    this.#files.set(hash, bytes);
    return bytes;
  }

  /** A piece of a file of `total` bytes; pieces come in order. Throws where the whole has another hash. */
  async put(hash: string, at: number, total: number, piece: Uint8Array): Promise<void> {
    if (!(total <= MOST_BYTES)) throw new Error(`a file of ${total} bytes is more than this device takes`);
    if (at === 0) this.#arriving.set(hash, {bytes: new Uint8Array(total), has: 0});
    const file = this.#arriving.get(hash);
    if (file?.has !== at || at + piece.length > file.bytes.length) throw new Error('a piece of a file came out of order');
    file.bytes.set(piece, at);
    file.has += piece.length;
    if (file.has < file.bytes.length) return;
    this.#arriving.delete(hash);
    const sha256 = await Sha256.create();
    sha256.update(file.bytes);
    if (sha256.digest() !== hash) throw new Error('a file arrived with other bytes than were sent');
    this.#files.set(hash, file.bytes);
    this.#bytes += file.bytes.length;
    for (const [oldest, bytes] of this.#files) {
      if (this.#bytes <= MOST_BYTES || oldest === hash) break;
      this.#files.delete(oldest);
      this.#bytes -= bytes.length;
    }
  }
}
