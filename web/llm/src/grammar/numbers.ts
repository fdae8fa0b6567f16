/** Numbers between bounds, as JSON writes them. */
import {both} from './deterministic.ts';
import {choice, never, nothing, optional, type Part, repeat, sequence, text} from './automaton.ts';

/** More digits than these would not survive a double. */
const DIGITS = 15;
const MOST = 10n ** BigInt(DIGITS) - 1n;

const digits = (low: string, high: string): Part => (grammar, from) => {
  const end = grammar.state();
  grammar.bytes(from, low.charCodeAt(0), high.charCodeAt(0), end);
  return end;
};
const digit = digits('0', '9');
const next = (each: string, by: number): string => String(Number(each) + by);

/** Digits from `low` to `high`, which are as many. */
function between(low: string, high: string): Part {
  if (low === high) return text(low);
  const [first, last] = [low[0] as string, high[0] as string];
  const rest = low.length - 1;
  if (/^0*$/.test(low.slice(1)) && /^9*$/.test(high.slice(1))) return sequence(digits(first, last), repeat(digit, rest, rest));
  if (first === last) return sequence(text(first), between(low.slice(1), high.slice(1)));
  const parts = [
    sequence(text(first), between(low.slice(1), '9'.repeat(rest))),
    sequence(text(last), between('0'.repeat(rest), high.slice(1))),
  ];
  if (Number(last) - Number(first) > 1) parts.push(sequence(digits(next(first, 1), next(last, -1)), repeat(digit, rest, rest)));
  return choice(...parts);
}

/** Integers of at least 0. */
function naturals(low: bigint, high: bigint): Part {
  const parts: Part[] = [];
  for (let from = low; from <= high;) {
    const last = 10n ** BigInt(String(from).length) - 1n;
    const to = last < high ? last : high;
    parts.push(between(String(from), String(to)));
    from = to + 1n;
  }
  return choice(...parts);
}

export interface Bound {
  readonly value: number;
  /** Whether the value itself is left out. */
  readonly isOpen: boolean;
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Of up to 15 digits, unless a bound has more. */
export function integers(least?: Bound, most?: Bound): Part {
  const low = least && BigInt(Math.ceil(least.value)) + BigInt(least.isOpen && Number.isInteger(least.value));
  const high = most && BigInt(Math.floor(most.value)) - BigInt(most.isOpen && Number.isInteger(most.value));
  const from = low ?? smaller(-MOST, high ?? 0n);
  const to = high ?? larger(MOST, low ?? 0n);
  if (from > to) return never;
  const parts: Part[] = [];
  if (from < 0n) parts.push(sequence(text('-'), naturals(larger(1n, -to), -from)));
  if (to >= 0n) parts.push(naturals(larger(0n, from), to));
  return choice(...parts);
}

const WHOLE = choice(text('0'), sequence(digits('1', '9'), repeat(digit, 0, DIGITS - 1)));
const FRACTION = sequence(text('.'), repeat(digit, 1, DIGITS));
const SIGNS = optional(choice(text('+'), text('-')));

/** Any number: 15 digits before and after the point, and two of the exponent, at most. */
export const anyNumber: Part = sequence(
  optional(text('-')), WHOLE, optional(FRACTION), optional(sequence(choice(text('e'), text('E')), SIGNS, repeat(digit, 1, 2))));

/** Digits before the point and after it, of a number of at least 0. */
function decimalOf(value: number): readonly [bigint, string] {
  const [, whole = '0', part = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  const shift = Number(exponent);
  const all = shift < 0 ? '0'.repeat(-shift) + whole + part : whole + part.padEnd(shift, '0');
  const place = shift < 0 ? whole.length : whole.length + shift;
  return [BigInt(all.slice(0, place)), all.slice(place).replace(/0+$/, '')];
}

const someDigits = repeat(digit, 0);
const notZero = sequence(repeat(text('0'), 0), digits('1', '9'), someDigits);

/** Decimals of at least 0 that are at least the bound, of any length. */
function atLeast({value, isOpen}: Bound): Part {
  const [whole, part] = decimalOf(value);
  const anyFraction = optional(sequence(text('.'), digit, someDigits));
  const greater = [...part].flatMap((each, at) => (each === '9' ? [] : [sequence(text(part.slice(0, at)), digits(next(each, 1), '9'), someDigits)]));
  const equal = sequence(text(part), isOpen ? notZero : someDigits);
  const fraction = part === '' && !isOpen ? anyFraction : sequence(text('.'), choice(...greater, equal));
  const more = sequence(choice(naturals(whole + 1n, larger(MOST, whole + 1n))), anyFraction);
  return choice(more, sequence(text(String(whole)), fraction));
}

/** The same for at most the bound. */
function atMost({value, isOpen}: Bound): Part {
  const [whole, part] = decimalOf(value);
  const anyFraction = optional(sequence(text('.'), digit, someDigits));
  const parts: Part[] = whole > 0n ? [sequence(naturals(0n, whole - 1n), anyFraction)] : [];
  const zeros = repeat(text('0'), 0);
  const less = [...part].flatMap((each, at) => [
    ...(each === '0' ? [] : [sequence(text(part.slice(0, at)), digits('0', next(each, -1)), someDigits)]),
    ...(at > 0 ? [text(part.slice(0, at))] : []),
  ]);
  const equal = sequence(text(part), zeros);
  if (part !== '') parts.push(sequence(text(String(whole)), choice(nothing, sequence(text('.'), choice(...less, ...(isOpen ? [] : [equal]))))));
  else if (!isOpen) parts.push(sequence(text(String(whole)), optional(sequence(text('.'), text('0'), zeros))));
  return choice(...parts);
}

/** Decimals without an exponent, of at least 0. */
function positives(least: Bound | undefined, most: Bound | undefined): Part {
  const digitsOf = (bound: Bound | undefined): number => (bound ? String(decimalOf(bound.value)[0]).length : 0);
  const length = Math.max(DIGITS, digitsOf(least) + 1, digitsOf(most));
  let part: Part = sequence(choice(text('0'), sequence(digits('1', '9'), repeat(digit, 0, length - 1))), optional(FRACTION));
  if (least) part = both(part, atLeast(least));
  if (most) part = both(part, atMost(most));
  return part;
}

const negated = (bound: Bound | undefined): Bound | undefined => bound && {value: -bound.value, isOpen: bound.isOpen};

/** Decimals within the bounds: 15 digits after the point at most. */
export function decimals(least?: Bound, most?: Bound): Part {
  if (!least && !most) return anyNumber;
  if (least && most && (least.value > most.value || (least.value === most.value && (least.isOpen || most.isOpen)))) return never;
  const parts: Part[] = [];
  if (!least || least.value < 0) {
    const from = most && most.value < 0 ? negated(most) : {value: 0, isOpen: true};
    parts.push(sequence(text('-'), positives(from, negated(least))));
  }
  if (!most || most.value >= 0) parts.push(positives(least && least.value > 0 ? least : least?.value === 0 ? least : undefined, most));
  return choice(...parts);
}
