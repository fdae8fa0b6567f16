/** What there is to learn: points of a curve over [-1, 1]. */
import {numbers} from '../page/numbers.ts';

export interface Points {
  /** Ascending. */
  readonly x: readonly number[];
  readonly y: readonly number[];
}

export const FUNCTIONS: Readonly<Record<string, (x: number) => number>> = {
  sine: (x) => 0.8 * Math.sin(2 * Math.PI * x),
  corner: (x) => 1.6 * Math.abs(x) - 0.8,
  step: (x) => (x < 0 ? -0.6 : 0.6),
  bell: (x) => 1.5 * Math.exp(-12 * x * x) - 0.7,
  chirp: (x) => 0.8 * Math.sin(5 * (x + 1) ** 2),
};

/** Where the network is looked at. */
export const GRID = Array.from({length: 201}, (_, at) => at / 100 - 1);

/** `count` points, evenly spaced, off the curve by at most `noise`. */
export function sampled(name: string, count: number, noise: number, seed: number): Points {
  const curve = FUNCTIONS[name];
  if (!curve) throw new Error(`there is no function "${name}"`);
  const random = numbers(seed);
  const x = Array.from({length: count}, (_, at) => (2 * at + 1) / count - 1);
  return {x, y: x.map((each) => curve(each) + noise * (2 * random() - 1))};
}

/** Points that a pen leaves: a later one takes the place of those near it. */
export class Drawing {
  readonly #points = new Map<number, number>();

  add(x: number, y: number): void {
    if (Math.abs(x) <= 1) this.#points.set(Math.round(x * 50), Math.min(1, Math.max(-1, y)));
  }

  get points(): Points {
    const all = [...this.#points].sort(([a], [b]) => a - b);
    return {x: all.map(([x]) => x / 50), y: all.map(([, y]) => y)};
  }
}
