/** Sets of characters, and their bytes in UTF-8. */
import {bytesOfText, type Part} from './automaton.ts';

/** Code points from and to, both included: sorted, apart from each other, without surrogates. */
export type CodePoints = readonly (readonly [low: number, high: number])[];

const LAST = 0x10ffff;
const SURROGATES = [0xd800, 0xdfff] as const;

function joined(ranges: CodePoints): [number, number][] {
  const made: [number, number][] = [];
  for (const [low, high] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = made.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else made.push([low, high]);
  }
  return made;
}

const inverse = (ranges: CodePoints): [number, number][] => {
  const made: [number, number][] = [];
  let from = 0;
  for (const [low, high] of joined(ranges)) {
    if (low > from) made.push([from, low - 1]);
    from = high + 1;
  }
  if (from <= LAST) made.push([from, LAST]);
  return made;
};

/** All characters except these. */
export const except = (ranges: CodePoints): CodePoints => inverse([...ranges, SURROGATES]);
export const unite = (...sets: readonly CodePoints[]): CodePoints => except(inverse(sets.flat()));
export const subtract = (from: CodePoints, what: CodePoints): CodePoints => except([...inverse(from), ...what]);
export const ANY: CodePoints = except([]);

/** The set of single characters of a text. */
export const charactersOf = (text: string): CodePoints => unite(...[...text].map((each) => [[each.codePointAt(0) as number, each.codePointAt(0) as number] as const]));
export const contains = (set: CodePoints, point: number): boolean => set.some(([low, high]) => point >= low && point <= high);

/** Sequences of ranges of bytes that encode the characters of a range. */
function* sequences(low: number, high: number): Generator<readonly (readonly [number, number])[]> {
  for (const most of [0x7f, 0x7ff, 0xffff]) {
    if (low <= most && most < high) {
      yield* sequences(low, most);
      yield* sequences(most + 1, high);
      return;
    }
  }
  // Where the last bytes do not have their whole range, the range is divided.
  for (let bits = 6; high > 0x7f && bits < 24; bits += 6) {
    const mask = (1 << bits) - 1;
    if ((low & ~mask) === (high & ~mask)) break;
    const cut = (low & mask) !== 0 ? (low | mask) + 1 : (high & mask) !== mask ? high & ~mask : low;
    if (cut === low) continue;
    yield* sequences(low, cut - 1);
    yield* sequences(cut, high);
    return;
  }
  const last = bytesOfText(String.fromCodePoint(high));
  yield Array.from(bytesOfText(String.fromCodePoint(low)), (byte, at) => [byte, last[at] as number] as const);
}

/** One character of the set. */
export const character = (set: CodePoints): Part => (grammar, from) => {
  const end = grammar.state();
  for (const [low, high] of set) {
    for (const sequence of sequences(low, high)) {
      let at = from;
      sequence.forEach(([first, last], place) => {
        const next = place === sequence.length - 1 ? end : grammar.state();
        grammar.bytes(at, first, last, next);
        at = next;
      });
    }
  }
  return end;
};
