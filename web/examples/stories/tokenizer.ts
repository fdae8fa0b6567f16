/** llama2.c's tokenizer files, and byte pairs as SentencePiece joins them. */

/** Begins every text, and ends one. */
export const BEGIN = 1;
/** Of the 256 single bytes, behind <unk>, <s> and </s>. */
const FIRST_BYTE = 3;

export class Tokenizer {
  readonly #pieces: readonly string[];
  readonly #scores: readonly number[];
  readonly #tokens: ReadonlyMap<string, number>;

  /**
   * tokenizer.bin: the longest piece's length (u32), then of each token a score (f32), a length (i32) and as many bytes. Throws for
   * what is no such file.
   */
  constructor(file: ArrayBuffer) {
    const view = new DataView(file);
    const text = new TextDecoder();
    const pieces: string[] = [];
    const scores: number[] = [];
    for (let at = 4; at < file.byteLength; ) {
      const length = at + 8 <= file.byteLength ? view.getInt32(at + 4, true) : -1;
      if (length < 0 || at + 8 + length > file.byteLength) throw new Error('the tokenizer is no tokenizer.bin of llama2.c, or it is cut off');
      scores.push(view.getFloat32(at, true));
      pieces.push(text.decode(new Uint8Array(file, at + 8, length)));
      at += 8 + length;
    }
    this.#pieces = pieces;
    this.#scores = scores;
    this.#tokens = new Map(pieces.map((piece, token) => [piece, token]));
  }

  get size(): number {
    return this.#pieces.length;
  }

  /** With BEGIN before it. The likeliest neighbours are joined until none can be. */
  encode(text: string): number[] {
    if (text === '') return [BEGIN];
    const tokens = [...` ${text}`].flatMap((letter) => {
      const known = this.#tokens.get(letter);
      return known === undefined ? [...new TextEncoder().encode(letter)].map((byte) => byte + FIRST_BYTE) : [known];
    });
    for (;;) {
      let best = {score: -Infinity, at: -1, token: -1};
      for (let at = 0; at + 1 < tokens.length; ++at) {
        const joined = this.#pieces[tokens[at] as number] as string + (this.#pieces[tokens[at + 1] as number] as string);
        const token = this.#tokens.get(joined);
        const score = token === undefined ? -Infinity : (this.#scores[token] as number);
        if (token !== undefined && score > best.score) best = {score, at, token};
      }
      if (best.at < 0) return [BEGIN, ...tokens];
      tokens.splice(best.at, 2, best.token);
    }
  }

  /** Takes tokens one by one and gives what they add to the text; a letter of several bytes comes with its last one. */
  decoder(): (token: number) => string {
    const bytes = new TextDecoder();
    let first = true;
    return (token) => {
      if (token === BEGIN) return '';
      const piece = this.#pieces[token] ?? '';
      const byte = /^<0x([0-9A-F]{2})>$/.exec(piece)?.[1];
      const text = byte === undefined ? piece : bytes.decode(Uint8Array.of(parseInt(byte, 16)), {stream: true});
      const begins = first;
      first = false;
      return begins ? text.replace(/^ /, '') : text;
    };
  }
}
