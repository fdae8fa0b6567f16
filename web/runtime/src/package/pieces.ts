/** A file as the pieces in which it arrives. */

import {release} from './blocks.ts';

interface Piece {
  readonly begin: number;
  readonly bytes: Uint8Array;
  /** Bytes that are not taken. */
  left: number;
}

/** A file that goes away as it is taken: a large one is never in memory twice. */
export class Pieces {
  readonly length: number;
  /** Pieces that are here. */
  kept: Piece[] = [];
  #own: boolean;
  /** Bytes that are here or were. */
  #size = 0;
  /** Pieces that are here or were. */
  #count = 0;
  #copied = Infinity;
  /** When a second reader has all of it. */
  isCopied: Promise<void> | undefined;
  /** What more bytes should wait for. */
  hold: (() => Promise<void>) | undefined;
  #isDisposed = false;
  #failure: {readonly problem: unknown} | undefined;
  #waiting: (() => void)[] = [];

  /** `own`: the arrays are this file's alone. `length`: of the whole file, where more pieces follow or the last is not full. */
  constructor(pieces: readonly Uint8Array[], own: boolean, length?: number) {
    this.#own = own;
    pieces.forEach((bytes) => this.push(bytes));
    this.length = length ?? this.#size;
  }

  get count(): number {
    return this.#count;
  }

  push(bytes: Uint8Array): void {
    this.kept.push({begin: this.#size, bytes, left: this.#isDisposed ? 0 : bytes.length});
    this.#size += bytes.length;
    ++this.#count;
    this.#settle();
  }

  /** The whole file is this one, which goes. */
  become(other: Pieces): void {
    this.#own = other.#own;
    this.kept = [];
    this.#size = 0;
    for (const {bytes} of other.kept) this.push(bytes);
  }

  /** No more comes. */
  fail(problem: unknown): void {
    this.#failure = {problem};
    this.#settle();
  }

  #settle(): void {
    if (this.#isDisposed) this.#drop();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Waits for the first `least` bytes, and gives how many there are. Rejects where they do not come. */
  async here(least = this.length): Promise<number> {
    while (this.#size < Math.min(least, this.length)) {
      if (this.#failure) throw this.#failure.problem;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return Math.min(this.#size, this.length);
  }

  /** Bytes that a second reader has had; Infinity: there is none. What it has not had stays in memory. To be set before anything is taken. */
  set copied(count: number) {
    this.#copied = count;
    this.#drop();
  }

  /** A copy of the first bytes, which can still be taken. */
  peek(count: number): Uint8Array<ArrayBuffer> {
    const first = new Uint8Array(count);
    for (const {begin, bytes} of this.kept) if (begin < count) first.set(bytes.subarray(0, count - begin), begin);
    return first;
  }

  /** A copy of a range that is here. Each may be taken once, none that overlap. */
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
    for (const piece of this.kept) {
      const from = Math.max(begin - piece.begin, 0);
      const to = Math.min(end - piece.begin, piece.bytes.length);
      if (from >= to) continue;
      yield piece.bytes.subarray(from, to);
      piece.left -= to - from;
      if (piece.left === 0) this.#drop();
    }
  }

  /** Whether all parts of a range but the last are words. Pieces that are still to come begin at words of the file. */
  inWords(begin: number, end: number): boolean {
    const isWord = (at: number): boolean => at <= begin || at >= end || (at - begin) % 4 === 0;
    return this.kept.every((piece) => isWord(piece.begin)) && (this.#size >= end || begin % 4 === 0);
  }

  /** Lets go of the rest. */
  dispose(): void {
    this.#isDisposed = true;
    for (const piece of this.kept) piece.left = 0;
    this.#drop();
  }

  #drop(): void {
    this.kept = this.kept.filter(({begin, bytes, left}) => {
      const stays = left > 0 || begin + bytes.length > this.#copied;
      if (!stays && this.#own) release(bytes as Uint8Array<ArrayBuffer>);
      return stays;
    });
  }
}
