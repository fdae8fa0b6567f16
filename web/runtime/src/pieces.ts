/** A file as the pieces in which it arrived. */

import {discard} from './discard.ts';

/** A file that goes away as it is taken: a large one never lies in memory twice. */
export class Pieces {
  readonly length: number;
  #kept: {readonly begin: number; readonly bytes: Uint8Array; left: number}[] = [];

  readonly #own: boolean;

  /** `own`: nobody else has these arrays. `length`: where the last is not full. */
  constructor(pieces: readonly Uint8Array[], own: boolean, length?: number) {
    this.#own = own;
    let begin = 0;
    for (const bytes of pieces) {
      this.#kept.push({begin, bytes, left: bytes.length});
      begin += bytes.length;
    }
    this.length = length ?? begin;
  }

  /** What is left of it, in parts that are to be read at once. */
  *parts(most: number): Iterable<Uint8Array> {
    let left = this.length;
    for (const {bytes} of this.#kept) {
      const end = Math.min(bytes.length, left);
      for (let at = 0; at < end; at += most) yield bytes.subarray(at, Math.min(at + most, end));
      left -= end;
    }
  }

  /** A copy of a range. Each may be taken once, none that overlap. */
  take(begin = 0, end = this.length): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(end - begin);
    this.#kept = this.#kept.filter((piece) => {
      const from = Math.max(begin - piece.begin, 0);
      const to = Math.min(end - piece.begin, piece.bytes.length);
      if (from >= to) return true;
      taken.set(piece.bytes.subarray(from, to), piece.begin + from - begin);
      piece.left -= to - from;
      if (piece.left === 0 && this.#own) discard(piece.bytes);
      return piece.left > 0;
    });
    return taken;
  }

  /** Lets go of the rest. */
  dispose(): void {
    if (this.#own) this.#kept.forEach(({bytes}) => discard(bytes));
    this.#kept = [];
  }
}
