/** Regular expressions as JavaScript writes them, without what is not regular. */
import {choice, GrammarError, type Part, repeat, sequence} from './automaton.ts';
import {ANY, type CodePoints, charactersOf, except, unite} from './code_points.ts';

type Node =
  | {readonly kind: 'set'; readonly set: CodePoints}
  | {readonly kind: 'sequence' | 'choice'; readonly parts: readonly Node[]}
  | {readonly kind: 'repeat'; readonly part: Node; readonly least: number; readonly most: number};

/** An alternative of a whole pattern: `^` begins and `$` ends it. */
interface Branch {
  readonly begins: boolean;
  readonly ends: boolean;
  readonly node: Node;
}

const DIGITS: CodePoints = [[0x30, 0x39]];
const WORD = unite(DIGITS, [[0x41, 0x5a]], [[0x5f, 0x5f]], [[0x61, 0x7a]]);
const SPACE = charactersOf('\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff');
const LINE_ENDS = charactersOf('\n\r\u2028\u2029');
const CLASSES: Readonly<Record<string, CodePoints>> = {d: DIGITS, D: except(DIGITS), w: WORD, W: except(WORD), s: SPACE, S: except(SPACE)};
const CONTROLS: Readonly<Record<string, string>> = {t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', 0: '\0'};

/** Characters with a property of Unicode, as JavaScript knows it. */
function property(escape: string): CodePoints | undefined {
  let test: RegExp;
  try {
    test = new RegExp(`^${escape}$`, 'u');
  } catch {
    return undefined;
  }
  const found: [number, number][] = [];
  for (const [first, last] of ANY) {
    for (let point = first; point <= last; ++point) {
      if (!test.test(String.fromCodePoint(point))) continue;
      const open = found.at(-1);
      if (open && open[1] === point - 1) open[1] = point;
      else found.push([point, point]);
    }
  }
  return found;
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  #fail(message: string): never {
    throw new GrammarError(`the pattern ${JSON.stringify(this.#text)} at ${this.#at}: ${message}`);
  }

  /** Takes what an expression finds here. */
  #take(what: RegExp): RegExpExecArray | undefined {
    const sticky = new RegExp(what.source, 'yu');
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text);
    if (found) this.#at = sticky.lastIndex;
    return found ?? undefined;
  }

  branches(): Branch[] {
    const made: Branch[] = [];
    do {
      const begins = this.#take(/\^/) !== undefined;
      const node = this.#series();
      made.push({begins, node, ends: this.#take(/\$/) !== undefined});
    } while (this.#take(/\|/));
    if (this.#at < this.#text.length) this.#fail(this.#text[this.#at] === ')' ? 'a ")" without its "("' : '^ and $ are supported only where the pattern, or an alternative of it, begins and ends');
    return made;
  }

  #alternatives(): Node {
    const parts = [this.#series()];
    while (this.#take(/\|/)) parts.push(this.#series());
    return parts.length === 1 ? (parts[0] as Node) : {kind: 'choice', parts};
  }

  #series(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#text.length && !/[|)^$]/.test(this.#text[this.#at] as string)) parts.push(this.#repeated());
    return {kind: 'sequence', parts};
  }

  #repeated(): Node {
    const part = this.#atom();
    const found = this.#take(/[*+?]|\{(\d+)(,(\d*))?\}/);
    if (!found) return part;
    // Lazy ones accept the same texts.
    this.#take(/\?/);
    const [sign, first, range, second] = found;
    const least = first === undefined ? Number(sign === '+') : Number(first);
    const most = first === undefined ? (sign === '?' ? 1 : Infinity) : range === undefined ? least : second ? Number(second) : Infinity;
    if (least > most) this.#fail(`{${least},${most}} has its greater number first`);
    if (this.#take(/[*+?]|\{\d/)) this.#fail('a repetition of a repetition: put the first into parentheses');
    return {kind: 'repeat', part, least, most};
  }

  #atom(): Node {
    if (this.#take(/\(\?(=|!|<=|<!)/)) this.#fail('conditions on the text around (?=, ?!, ?<=, ?<!) are not supported');
    if (this.#take(/\((\?:|\?<[\w$]+>)?/)) {
      const inner = this.#alternatives();
      if (!this.#take(/\)/)) this.#fail(this.#text[this.#at] ? '^ and $ are supported only where the pattern, or an alternative of it, begins and ends' : 'a "(" without its ")"');
      return inner;
    }
    if (this.#take(/\[/)) return {kind: 'set', set: this.#class()};
    if (this.#take(/\./)) return {kind: 'set', set: except(LINE_ENDS)};
    if (/[*+?]/.test(this.#text[this.#at] as string)) this.#fail('nothing to repeat');
    if (this.#take(/\\/)) return {kind: 'set', set: this.#escape()};
    return {kind: 'set', set: charactersOf((this.#take(/[^]/) as RegExpExecArray)[0])};
  }

  /** After the backslash. */
  #escape(): CodePoints {
    const code = this.#take(/x([\da-fA-F]{2})|u([\da-fA-F]{4})|u\{([\da-fA-F]+)\}/);
    if (code) return charactersOf(String.fromCodePoint(parseInt(code[1] ?? code[2] ?? (code[3] as string), 16)));
    const unicode = this.#take(/[pP]\{[^}]*\}/);
    if (unicode) return property(`\\${unicode[0]}`) ?? this.#fail(`no property \\${unicode[0]} is known`);
    const each = this.#take(/[^]/)?.[0];
    if (each === undefined) return this.#fail('a "\\" at the end');
    if (CLASSES[each]) return CLASSES[each];
    if (CONTROLS[each] !== undefined) return charactersOf(CONTROLS[each]);
    if (/[1-9kbBcA-Za-z]/.test(each)) this.#fail(`\\${each} is not supported`);
    return charactersOf(each);
  }

  /** After the bracket. */
  #class(): CodePoints {
    const isInverse = this.#take(/\^/) !== undefined;
    const sets: CodePoints[] = [];
    const one = (): CodePoints => {
      if (this.#take(/\\b/)) return charactersOf('\b');
      if (this.#take(/\\/)) return this.#escape();
      return charactersOf((this.#take(/[^]/) ?? this.#fail('a "[" without its "]"'))[0]);
    };
    while (!this.#take(/\]/)) {
      const low = one();
      if (!this.#take(/-(?!\])/)) {
        sets.push(low);
        continue;
      }
      const high = one();
      const [from, to] = [low[0]?.[0], high[0]?.[0]];
      const isSingle = (set: CodePoints): boolean => set.length === 1 && set[0]?.[0] === set[0]?.[1];
      if (!isSingle(low) || !isSingle(high) || from === undefined || to === undefined || from > to) this.#fail('a range of characters has no order');
      sets.push(unite([[from, to]]));
    }
    return isInverse ? except(sets.flat()) : unite(...sets);
  }
}

const ANYTHING: Node = {kind: 'repeat', part: {kind: 'set', set: ANY}, least: 0, most: Infinity};

function partOf(node: Node, character: (set: CodePoints) => Part): Part {
  if (node.kind === 'set') return character(node.set);
  if (node.kind === 'repeat') return repeat(partOf(node.part, character), node.least, node.most);
  const parts = node.parts.map((each) => partOf(each, character));
  return node.kind === 'choice' ? choice(...parts) : sequence(...parts);
}

/**
 * `character`: how a character of the text is written. `isWhole`: the pattern is that of a whole text; otherwise the text has it anywhere,
 * unless ^ and $ say where. Throws a GrammarError.
 */
export function pattern(source: string, character: (set: CodePoints) => Part, isWhole: boolean): Part {
  const branches = new Parser(source).branches().map(({begins, ends, node}) => {
    const parts = [...(begins || isWhole ? [] : [ANYTHING]), node, ...(ends || isWhole ? [] : [ANYTHING])];
    return partOf({kind: 'sequence', parts}, character);
  });
  return choice(...branches);
}
