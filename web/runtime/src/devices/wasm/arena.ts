import {GossamerError} from '../../values/types.ts';

/** Vector loads may read this far past a tensor's end; also the alignment. */
const SLACK = 64;

const roundUp = (bytes: number): number => Math.ceil(bytes / SLACK) * SLACK;

/** First fit over a memory that grows: few, large and long-lived blocks. */
export class Arena {
  /** Free ranges by address; neighbours are merged. */
  #free: {begin: number; end: number}[];
  readonly #sizes = new Map<number, number>();
  readonly #limit: number;
  readonly #grow: (end: number) => void;

  /** `grow(end)` makes the memory reach to `end` or throws. */
  constructor(begin: number, end: number, limit: number, grow: (end: number) => void) {
    this.#free = begin < end ? [{begin, end}] : [];
    this.#limit = limit;
    this.#grow = grow;
    this.#end = end;
  }
  #end: number;

  /** From here on nobody had memory yet. */
  fresh = 0;

  allocate(bytes: number): number {
    const size = roundUp(bytes) + SLACK;
    let at = this.#free.findIndex(({begin, end}) => end - begin >= size);
    if (at < 0) {
      this.#extend(size, bytes);
      at = this.#free.length - 1;
    }
    const range = this.#free[at] as {begin: number; end: number};
    const address = range.begin;
    range.begin += size;
    if (range.begin === range.end) this.#free.splice(at, 1);
    this.#sizes.set(address, size);
    this.fresh = Math.max(this.fresh, range.begin);
    return address;
  }

  #extend(size: number, wanted: number): void {
    const last = this.#free.at(-1);
    const tail = last?.end === this.#end ? last : undefined;
    const begin = tail ? tail.begin : this.#end;
    const end = Math.ceil((begin + size) / 65536) * 65536;
    try {
      if (end > this.#limit) throw new RangeError();
      this.#grow(end);
    } catch (problem) {
      throw new GossamerError(
        'out-of-memory',
        `no room for ${wanted} bytes`,
        {cause: problem},
      );
    }
    if (tail) tail.end = end;
    else this.#free.push({begin, end});
    this.#end = end;
  }

  free(address: number): void {
    const size = this.#sizes.get(address);
    if (size === undefined) return;
    this.#sizes.delete(address);
    const ranges = [...this.#free, {begin: address, end: address + size}];
    ranges.sort((a, b) => a.begin - b.begin);
    this.#free = [];
    for (const range of ranges) {
      const last = this.#free.at(-1);
      if (last?.end === range.begin) last.end = range.end;
      else this.#free.push(range);
    }
  }
}
