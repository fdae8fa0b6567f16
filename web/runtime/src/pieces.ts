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
    let at = 0;
    for (const part of this.takeParts(begin, end)) {
      taken.set(part, at);
      at += part.length;
    }
    return taken;
  }

  /** The same without a copy, in parts that are to be read before the next is asked for. */
  *takeParts(begin: number, end: number): Iterable<Uint8Array> {
    for (const piece of this.#kept) {
      const from = Math.max(begin - piece.begin, 0);
      const to = Math.min(end - piece.begin, piece.bytes.length);
      if (from >= to) continue;
      yield piece.bytes.subarray(from, to);
      piece.left -= to - from;
      if (piece.left === 0 && this.#own) discard(piece.bytes);
    }
    this.#kept = this.#kept.filter(({left}) => left > 0);
  }

  /** Whether all parts of a range but the last are words. */
  inWords(begin: number, end: number): boolean {
    return this.#kept.every((piece) => piece.begin <= begin || piece.begin >= end || (piece.begin - begin) % 4 === 0);
  }

  /** Lets go of the rest. */
  dispose(): void {
    if (this.#own) this.#kept.forEach(({bytes}) => discard(bytes));
    this.#kept = [];
  }
}
