/** JSON as it is written here: on one line, with one space after each colon and comma. */
import {choice, type Grammar, type Part, repeat, rule, sequence, text} from './automaton.ts';
import {character, type CodePoints, charactersOf, contains, except, subtract} from './code_points.ts';
import {compact, without} from './deterministic.ts';
import {anyNumber} from './numbers.ts';

/** What strings have to escape. */
const ESCAPED: CodePoints = [[0, 0x1f], ...charactersOf('"\\')];

const escapeOf = (point: number): Part => text(JSON.stringify(String.fromCodePoint(point)).slice(1, -1));

/** A character of the set within a string, in one way: escapes only where JSON asks for them, as JSON.stringify() does. */
export function quoted(set: CodePoints): Part {
  const parts = [character(subtract(set, ESCAPED))];
  for (const [low, high] of ESCAPED) for (let point = low; point <= high; ++point) if (contains(set, point)) parts.push(escapeOf(point));
  return choice(...parts);
}

const hexadecimal = character(charactersOf('0123456789abcdefABCDEF'));
/** A character by its number. Halves of pairs are left out: what is beyond U+FFFF is written as it is. */
const numbered = sequence(text('\\u'), choice(
  sequence(character(charactersOf('0123456789abcefABCEF')), hexadecimal, hexadecimal, hexadecimal),
  sequence(character(charactersOf('dD')), character(charactersOf('01234567')), hexadecimal, hexadecimal)));

/** Any character within a string, with all escapes of JSON. */
export const anyQuoted: Part = compact(choice(character(except(ESCAPED)), ...[...'"\\/bfnrt'].map((each) => text(`\\${each}`)), numbered));

/** A string of characters. `banned`: what its text must not have. */
export const stringOf = (content: Part, banned?: string): Part => {
  const whole = sequence(text('"'), content, text('"'));
  if (banned === undefined) return whole;
  const any = repeat(character(except([])), 0);
  return without(whole, sequence(any, text(banned), any));
};

/** A value, as JSON.stringify() writes it, with the spaces. */
export function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${written(each)}`).join(', ')}}`;
}

export const list = (item: Part): Part => sequence(text('['), choice(sequence(item, repeat(sequence(text(', '), item), 0)), text('')), text(']'));

/** Rules of values of any form. */
export interface AnyJson {
  readonly value: Part;
  readonly object: Part;
  readonly array: Part;
  readonly string: Part;
  readonly number: Part;
}

export function anyJson(grammar: Grammar, banned?: string): AnyJson {
  const [value, object, array, string, number] = ['value', 'object', 'array', 'string', 'number'].map((name) => grammar.declare(name)) as [number, number, number, number, number];
  grammar.define(string, stringOf(repeat(anyQuoted, 0), banned));
  grammar.define(number, anyNumber);
  const pair = sequence(rule(string), text(': '), rule(value));
  grammar.define(object, sequence(text('{'), choice(sequence(pair, repeat(sequence(text(', '), pair), 0)), text('')), text('}')));
  grammar.define(array, list(rule(value)));
  grammar.define(value, choice(...[object, array, string, number].map(rule), ...['true', 'false', 'null'].map(text)));
  return {value: rule(value), object: rule(object), array: rule(array), string: rule(string), number: rule(number)};
}
