/** Grammars in the GBNF dialect of EBNF, which llama.cpp defines. */
import {choice, Grammar, GrammarError, type Part, repeat, rule, sequence, text} from './automaton.ts';
import {ANY, character, type CodePoints, charactersOf, except, unite} from './code_points.ts';

const ESCAPES: Readonly<Record<string, string>> = {n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', '[': '[', ']': ']', '-': '-', '^': '^'};

class Parser {
  readonly grammar = new Grammar();
  readonly #text: string;
  readonly #rules = new Map<string, number>();
  readonly #bodies = new Map<string, Part>();
  #at = 0;

  constructor(source: string) {
    this.#text = source;
  }

  #fail(message: string): never {
    const before = this.#text.slice(0, this.#at).split('\n');
    throw new GrammarError(`the grammar, line ${before.length}, column ${(before.at(-1) as string).length + 1}: ${message}`);
  }

  #take(what: RegExp): RegExpExecArray | undefined {
    const sticky = new RegExp(what.source, 'yu');
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text);
    if (found) this.#at = sticky.lastIndex;
    return found ?? undefined;
  }

  /** Skips spaces and comments. */
  #skip(): void {
    this.#take(/(\s|#[^\n]*)*/);
  }

  #number(name: string): number {
    const known = this.#rules.get(name);
    if (known !== undefined) return known;
    const made = this.grammar.declare(name);
    this.#rules.set(name, made);
    return made;
  }

  /** Gives the number of the rule `root`. */
  rules(): number {
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      const name = this.#take(/([\w-]+)\s*::=/)?.[1] ?? this.#fail('a rule is expected: name ::= ...');
      if (this.#bodies.has(name)) this.#fail(`the rule "${name}" is there twice`);
      this.#number(name);
      this.#bodies.set(name, this.#alternatives());
    }
    const missing = [...this.#rules.keys()].find((name) => !this.#bodies.has(name));
    if (missing !== undefined) throw new GrammarError(`the grammar has no rule "${missing}", which another one names`);
    const root = this.#rules.get('root');
    if (root === undefined) throw new GrammarError('the grammar has no rule "root", with which texts begin');
    for (const [name, body] of this.#bodies) this.grammar.define(this.#rules.get(name) as number, body);
    return root;
  }

  #alternatives(): Part {
    const parts = [this.#series()];
    while (this.#take(/\|/)) parts.push(this.#series());
    return choice(...parts);
  }

  #series(): Part {
    const parts: Part[] = [];
    for (;;) {
      this.#skip();
      const part = this.#atom();
      if (!part) return sequence(...parts);
      parts.push(this.#repeated(part));
    }
  }

  #repeated(part: Part): Part {
    this.#skip();
    const found = this.#take(/[*+?]|\{\s*(\d+)\s*(,\s*(\d*)\s*)?\}/);
    if (!found) return part;
    const [sign, first, range, second] = found;
    const least = first === undefined ? Number(sign === '+') : Number(first);
    const most = first === undefined ? (sign === '?' ? 1 : Infinity) : range === undefined ? least : second ? Number(second) : Infinity;
    if (least > most) this.#fail(`{${least},${most}} has its greater number first`);
    return this.#repeated(repeat(part, least, most));
  }

  /** Undefined at the end of a series. */
  #atom(): Part | undefined {
    if (this.#take(/"/)) return this.#quoted();
    if (this.#take(/\[/)) return character(this.#class());
    if (this.#take(/\./)) return character(ANY);
    if (this.#take(/\(/)) {
      const inner = this.#alternatives();
      if (!this.#take(/\)/)) this.#fail('a "(" without its ")"');
      return inner;
    }
    // A name with ::= begins the next rule.
    const name = this.#take(/([\w-]+)(?!\s*::=)(?![\w-])/)?.[1];
    return name === undefined ? undefined : rule(this.#number(name));
  }

  #character(end: string): string {
    const code = this.#take(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/);
    if (code) return String.fromCodePoint(parseInt(code[1] ?? code[2] ?? (code[3] as string), 16));
    if (this.#take(/\\/)) {
      const each = this.#take(/[^]/)?.[0] ?? '';
      return ESCAPES[each] ?? this.#fail(`the escape \\${each} is not known`);
    }
    return this.#take(/[^]/)?.[0] ?? this.#fail(`${end} is missing`);
  }

  #quoted(): Part {
    let content = '';
    while (!this.#take(/"/)) content += this.#character('"');
    return text(content);
  }

  #class(): CodePoints {
    const isInverse = this.#take(/\^/) !== undefined;
    const sets: CodePoints[] = [];
    while (!this.#take(/\]/)) {
      const low = this.#character(']');
      const high = this.#take(/-(?!\])/) ? this.#character(']') : low;
      const range = [low.codePointAt(0) as number, high.codePointAt(0) as number] as const;
      if (range[0] > range[1]) this.#fail('a range of characters has no order');
      sets.push(low === high ? charactersOf(low) : unite([range]));
    }
    return isInverse ? except(sets.flat()) : unite(...sets);
  }
}

/** The grammar and its first rule. Throws a GrammarError. */
export function ebnf(source: string): {grammar: Grammar; root: number} {
  const parser = new Parser(source);
  const root = parser.rules();
  return {grammar: parser.grammar, root};
}
