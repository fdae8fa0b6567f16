/** The tokens of a model as a tree of their bytes. */

export class Vocabulary {
  /** How many tokens there are, with those that are never allowed. */
  readonly words: number;
  /** Bytes of the longest token. */
  readonly longest: number;
  /** Nodes in depth-first order; node 0 is the root. */
  readonly byte: Uint8Array;
  readonly depth: Uint16Array;
  /** The first node after those below each node. */
  readonly end: Int32Array;
  /** A token that ends at each node, or -1. */
  readonly token: Int32Array;
  /** By token: another one of the same bytes, or -1. */
  readonly twin: Int32Array;
  readonly #bytes: (Uint8Array | undefined)[];
  /** Bytes that tokens have, and those that are tokens by themselves. */
  readonly used = new Uint8Array(256);
  readonly single = new Uint8Array(256);

  /** `bytes`: by token; undefined for one that is not text, such as one that ends a text. */
  constructor(bytes: readonly (Uint8Array | undefined)[]) {
    this.words = bytes.length;
    this.#bytes = [...bytes];
    this.twin = new Int32Array(this.words).fill(-1);
    // As strings, which are sorted fast.
    const tokens: {readonly text: string; readonly id: number}[] = [];
    const texts = bytes.map((each) => each && String.fromCharCode(...each));
    texts.forEach((text, id) => text && tokens.push({text, id}));
    tokens.sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : a.id - b.id));
    const [byte, depth, token, end] = [[0], [0], [-1], [0]];
    const open = [0];
    let before = '';
    let longest = 0;
    const close = (to: number): void => {
      while (open.length > to + 1) end[open.pop() as number] = byte.length;
    };
    for (const {text, id} of tokens) {
      let shared = 0;
      while (shared < before.length && before[shared] === text[shared]) ++shared;
      close(shared);
      for (let at = shared; at < text.length; ++at) {
        const value = text.charCodeAt(at);
        open.push(byte.push(value) - 1);
        depth.push(at + 1);
        token.push(-1);
        end.push(0);
        this.used[value] = 1;
      }
      const node = open.at(-1) as number;
      this.twin[id] = token[node] as number;
      token[node] = id;
      if (text.length === 1) this.single[text.charCodeAt(0)] = 1;
      longest = Math.max(longest, text.length);
      before = text;
    }
    close(-1);
    this.longest = longest;
    this.byte = Uint8Array.from(byte);
    this.depth = Uint16Array.from(depth);
    this.token = Int32Array.from(token);
    this.end = Int32Array.from(end);
  }

  bytesOf(id: number): Uint8Array | undefined {
    return this.#bytes[id];
  }
}

/** A bit for each token. */
export const bitsOf = (words: number): Int32Array => new Int32Array(Math.ceil(words / 32));
export const setBit = (bits: Int32Array, id: number): void => void ((bits[id >> 5] as number) |= 1 << (id & 31));
export const hasBit = (bits: Int32Array, id: number): boolean => (((bits[id >> 5] as number) >> (id & 31)) & 1) === 1;
