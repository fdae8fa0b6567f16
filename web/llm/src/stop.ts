/** Ends a text at the first of some strings, wherever these begin and end in the pieces that the text comes in. */
export class StopStrings {
  readonly #stops: readonly string[];
  /** Text that may be the beginning of a stop string. */
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** What can be said of the text so far, and whether a stop string ended it. */
  push(piece: string): {text: string; stopped: boolean} {
    const all = this.#held + piece;
    const found = this.#stops.map((stop) => all.indexOf(stop)).filter((at) => at >= 0);
    if (found.length > 0) {
      this.#held = '';
      return {text: all.slice(0, Math.min(...found)), stopped: true};
    }
    const from = all.length - Math.max(0, ...this.#stops.map((stop) => overlap(all, stop)));
    this.#held = all.slice(from);
    return {text: all.slice(0, from), stopped: false};
  }

  /** The text was not the beginning of a stop string after all: it ends here. */
  end(): string {
    const text = this.#held;
    this.#held = '';
    return text;
  }
}

/** How many characters at the end of a text are the beginning of a string that is not whole. */
export function overlap(text: string, string: string): number {
  for (let length = Math.min(text.length, string.length - 1); length > 0; --length) {
    if (text.endsWith(string.slice(0, length))) return length;
  }
  return 0;
}
