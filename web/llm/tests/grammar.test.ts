import assert from 'node:assert/strict';
import {test} from 'node:test';

import type {ResponseFormat} from '../src/index.ts';
import {APIError} from '../src/index.ts';
import {Grammar} from '../src/grammar/automaton.ts';
import {character} from '../src/grammar/code_points.ts';
import {Machine} from '../src/grammar/machine.ts';
import {pattern} from '../src/grammar/patterns.ts';
import {type Wanted, Structures} from '../src/grammar/structure.ts';
import {hasBit, Vocabulary} from '../src/grammar/vocabulary.ts';
import {forms} from './forms.ts';
import {END, tokenizer} from './scripted.ts';
import {problemOf} from './validate.ts';

const WORDS = 284;
const structures = new Structures(tokenizer, WORDS, [END]);
const encoder = new TextEncoder();

/** Numbers of 0 to 1 from a seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) / 0x800000;
  };
}

/** Random tokens that are allowed, until the text ends. */
function said(wanted: Wanted, next: () => number, most = 2000): string | undefined {
  const constraint = structures.constraint(wanted, 'response_format');
  const ids: number[] = [];
  while (ids.length < most) {
    const bits = constraint.allowed();
    if (!bits) return tokenizer.decode(ids);
    const allowed = Array.from({length: WORDS}, (_, id) => id).filter((id) => hasBit(bits, id));
    const id = allowed.includes(END) && next() < 0.3 ? END : (allowed[Math.floor(next() * allowed.length)] as number);
    if (id === END) return tokenizer.decode(ids);
    constraint.accept(id);
    ids.push(id);
  }
  return undefined;
}

const schemaFormat = (schema: object, strict?: boolean): ResponseFormat => ({type: 'json_schema', json_schema: {name: 'test', schema: schema as Readonly<Record<string, unknown>>, strict}});

for (const [name, {format, problemOf: check, isBounded}] of Object.entries(forms)) {
  test(`random tokens meet: ${name}`, () => {
    const next = random(name.length);
    const texts = new Set<string>();
    for (let at = 0; at < 60; ++at) {
      const text = said({format}, next);
      assert.ok(text !== undefined || !isBounded, 'no end');
      if (text === undefined) continue;
      assert.equal(check(text), undefined);
      texts.add(text);
    }
    assert.ok(texts.size > 2, [...texts].join('\n'));
  });
}

test('any JSON object', () => {
  const next = random(5);
  let whole = 0;
  for (let at = 0; at < 60; ++at) {
    const text = said({format: {type: 'json_object'}}, next);
    if (text === undefined) continue;
    ++whole;
    assert.equal(problemOf(JSON.parse(text), {type: 'object'}), undefined);
  }
  assert.ok(whole > 20, String(whole));
});

/** A pattern's machine for single bytes, and whether it accepts a text. */
function acceptor(source: string): (text: string) => boolean {
  const grammar = new Grammar();
  const root = grammar.declare('root');
  grammar.define(root, pattern(source, character, true));
  const machine = new Machine(grammar, root, new Vocabulary(Array.from({length: 256}, (_, byte) => Uint8Array.of(byte))), []);
  return (text) => {
    const state = machine.after(machine.start(), encoder.encode(text));
    return state >= 0 && machine.mayEnd(state);
  };
}

test('patterns accept what those of JavaScript accept', () => {
  const sources = ['a*b', '(a|b)*abb', 'a{2,3}|b{2}', '[^a]b?', 'a.c', '\\d+(\\.\\d+)?', '[a-c]+?1', '(?:ab|a)(c|bcd)', 'é|\\u{1F600}', '[\\w-]+', 'a?b?c?', '()', 'x*|[]', '\\S\\s\\D', '(?<n>a)\\.', '[\\]a-]{2}', '[é-ü]*', '\\x61\\u0062\\t?', '\\p{Lu}+', '(a{0,2}b){2}'];
  const letters = [...'abc1.x-é😀 d\tA]ü\n'];
  const next = random(9);
  for (const source of sources) {
    const accepts = acceptor(source);
    const wanted = new RegExp(`^(?:${source})$`, 'u');
    let met = 0;
    for (let at = 0; at < 3000; ++at) {
      const most = at % 2 ? letters.length : 3;
      const text = Array.from({length: Math.floor(next() * 6)}, () => letters[Math.floor(next() ** 2 * most)]).join('');
      assert.equal(accepts(text), wanted.test(text), `${source}: ${JSON.stringify(text)}`);
      met += Number(wanted.test(text));
    }
    assert.ok(met > 0, source);
  }
});

/** Whether a schema accepts a text, token by token of single bytes. */
function schemaAcceptor(schema: object): (text: string) => boolean {
  return (text) => {
    const constraint = structures.constraint({format: schemaFormat(schema)}, 'response_format');
    for (const byte of encoder.encode(text)) {
      const id = tokenizer.encode(String.fromCharCode(byte), {special: false})[0] as number;
      const bits = constraint.allowed();
      if (!bits || !hasBit(bits, id)) return false;
      constraint.accept(id);
    }
    return constraint.isWhole;
  };
}

test('numbers between bounds are all those and no others', () => {
  const bounds = [{minimum: 0}, {minimum: -3, maximum: 12}, {exclusiveMinimum: 0, maximum: 1}, {minimum: 1.05, exclusiveMaximum: 10.2}, {maximum: -0.5}, {minimum: 9.99, maximum: 100}, {exclusiveMinimum: -2, exclusiveMaximum: -1}, {minimum: 7, maximum: 7}, {minimum: 1e-3, maximum: 0.02}];
  const next = random(4);
  const digit = (): string => '0125901'[Math.floor(next() * 7)] as string;
  const texts = Array.from({length: 400}, () => (next() < 0.4 ? '-' : '') + Array.from({length: 1 + Math.floor(next() * 3)}, digit).join('') + (next() < 0.6 ? `.${Array.from({length: 1 + Math.floor(next() * 3)}, digit).join('')}` : ''));
  for (const bound of bounds) {
    for (const type of ['number', 'integer']) {
      if (type === 'integer' && 'exclusiveMinimum' in bound && bound.exclusiveMaximum === -1) continue;
      if (type === 'integer' && bound.maximum === 0.02) continue;
      const schema = {type, ...bound};
      const accepts = schemaAcceptor(schema);
      for (const text of [...texts, ...[bound.minimum, bound.maximum].filter((each) => each !== undefined).map(String)]) {
        const isJson = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) && !(type === 'integer' && text.includes('.'));
        // -0 is left out, as it is 0.
        const wanted = isJson && !/^-0(\.0*)?$/.test(text) && problemOf(Number(text), schema) === undefined;
        assert.equal(accepts(text), wanted, `${text} of ${JSON.stringify(schema)}`);
      }
    }
  }
});

test('dates are those of the calendar', () => {
  const accepts = schemaAcceptor({type: 'string', format: 'date'});
  for (const year of [1900, 1999, 2000, 2023, 2024, 2100, 2400]) {
    for (let month = 0; month <= 13; ++month) {
      for (const day of [0, 1, 9, 10, 28, 29, 30, 31, 32]) {
        const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
        const date = new Date(Date.UTC(year, month - 1, day));
        const isDate = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
        assert.equal(accepts(JSON.stringify(text)), isDate, text);
      }
    }
  }
});

test('masks have the tokens whose bytes may follow, and the end where a text may end', () => {
  const next = random(8);
  for (const [name, {format}] of Object.entries(forms)) {
    // Single bytes are tokens of the model, so what may follow them may be completed.
    const constraint = structures.constraint({format}, 'response_format');
    const before: number[] = [];
    for (let step = 0; step < 25; ++step) {
      const bits = constraint.allowed();
      if (!bits) break;
      for (let id = 0; id < WORDS; ++id) {
        if (id === END) {
          assert.equal(hasBit(bits, id), constraint.isWhole, name);
          continue;
        }
        const other = structures.constraint({format}, 'response_format');
        for (const each of before) other.accept(each);
        const bytes = tokenizer.isShown(id) ? tokenizer.pieceOf(id).bytes : undefined;
        const steps = [...(bytes ?? [])].map((byte) => tokenizer.encode(String.fromCharCode(byte), {special: false})[0] ?? -1);
        // Bytes above 127 are characters of their own in this text: such tokens are single bytes here.
        if (!bytes || bytes.length < 2) continue;
        const isPossible = steps.every((each) => {
          const now = other.allowed();
          if (!now || !hasBit(now, each)) return false;
          other.accept(each);
          return true;
        });
        assert.equal(hasBit(bits, id), isPossible, `${name}: token ${id}`);
      }
      const allowed = Array.from({length: WORDS}, (_, id) => id).filter((id) => id !== END && hasBit(bits, id));
      if (allowed.length === 0) break;
      const id = allowed[Math.floor(next() * allowed.length)] as number;
      constraint.accept(id);
      before.push(id);
    }
  }
});

test('calls of tools: forced ones, and those of strict tools', () => {
  const parameters = {type: 'object', properties: {place: {type: 'string', maxLength: 30}, days: {type: 'integer', minimum: 1, maximum: 14}}, required: ['place', 'days'], additionalProperties: false};
  const tools = [{type: 'function', function: {name: 'weather', parameters, strict: true}}, {type: 'function', function: {name: 'time'}}] as const;
  const next = random(3);
  const check = (text: string, names: readonly string[], most: number): number => {
    const calls = [...text.matchAll(/<tool_call>\n(.*?)\n<\/tool_call>/g)].map(([, call]) => JSON.parse(call as string) as {name: string; arguments: unknown});
    assert.ok(calls.length <= most);
    for (const {name, arguments: given} of calls) {
      assert.ok(names.includes(name));
      assert.equal(problemOf(given, name === 'weather' ? parameters : {type: 'object', additionalProperties: false}), undefined);
    }
    return calls.length;
  };
  for (let at = 0; at < 40; ++at) {
    const forced = said({tools: {all: tools, isForced: true, isParallel: true}}, next) as string;
    assert.ok(check(forced, ['weather', 'time'], Infinity) > 0, forced);
    const one = said({tools: {all: tools.slice(0, 1), isForced: true, isParallel: false}}, next) as string;
    assert.equal(check(one, ['weather'], 1), 1);
    const free = said({tools: {all: tools, isForced: false, isParallel: true}}, next);
    if (free !== undefined) check(free, ['weather', 'time'], Infinity);
    const either = said({format: schemaFormat({enum: [1, 2]}), tools: {all: tools, isForced: false, isParallel: false}}, next) as string;
    assert.ok(['1', '2'].includes(either) || check(either, ['weather', 'time'], 1) === 1, either);
  }
});

test('what no answer can meet, and what is not supported, is an error at once', () => {
  const object = {type: 'object', properties: {a: {type: 'string'}}, required: ['a'], additionalProperties: false};
  const wrong: readonly (readonly [ResponseFormat, RegExp])[] = [
    [schemaFormat({type: 'integer', minimum: 5, maximum: 4}), /no text meets it/],
    [schemaFormat({type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 2}), /no text meets it/],
    [schemaFormat({type: 'number', minimum: 1, exclusiveMaximum: 1}), /no text meets it/],
    [schemaFormat({type: 'string', minLength: 5, maxLength: 4}), /no text meets it/],
    [schemaFormat({type: 'string', pattern: '^a{3}$', maxLength: 2}), /no text meets it/],
    [schemaFormat({type: 'array', minItems: 2, maxItems: 1}), /no text meets it/],
    [schemaFormat({enum: [1, 2], minimum: 3}), /no text meets it/],
    [schemaFormat({type: 'string', enum: [1, 2]}), /no text meets it/],
    [schemaFormat({enum: []}), /no text meets it/],
    [schemaFormat({enum: ['a', 'b'], pattern: '^c'}), /no text meets it/],
    [schemaFormat({const: '2023-02-29', format: 'date'}), /no text meets it/],
    [schemaFormat({const: 'a-b', pattern: '^a\\-c$'}), /no text meets it/],
    [schemaFormat({const: 'a', pattern: '('}), /not a regular expression/],
    [schemaFormat({...object, properties: {a: false}}), /no text meets it/],
    [schemaFormat({...object, required: ['b']}), /no text meets it/],
    [schemaFormat({allOf: [{type: 'string'}, {type: 'number'}]}), /no text meets it/],
    [schemaFormat({allOf: [{const: 1}, {const: 2}]}), /no text meets it/],
    [schemaFormat({$ref: '#/$defs/endless', $defs: {endless: {type: 'object', properties: {next: {$ref: '#/$defs/endless'}}, required: ['next']}}}), /no text meets it/],
    [schemaFormat({type: 'array', uniqueItems: true}), /not supported: uniqueItems/],
    [schemaFormat({properties: {a: {not: {}, if: {}}}}), /not supported: not, if/],
    [schemaFormat({type: 'number', multipleOf: 3}), /multipleOf/],
    [schemaFormat({type: 'string', format: 'iri'}), /format "iri"/],
    [schemaFormat({type: 'text'}), /type "text"/],
    [schemaFormat({$ref: '#/$defs/missing'}), /names nothing/],
    [schemaFormat({$ref: 'other.json'}), /not supported/],
    [schemaFormat({$ref: '#'}), /begins with itself/],
    [schemaFormat({type: 'string', pattern: '(?=a)'}), /conditions/],
    [schemaFormat({...object, additionalProperties: true}, true), /"additionalProperties": false/],
    [schemaFormat({...object, required: []}, true), /needs all properties/],
    [{type: 'regex', pattern: 'a('}, /without its "\)"/],
    [{type: 'regex', pattern: '(a)\\1'}, /\\1 is not supported/],
    [{type: 'regex', pattern: 'a^b'}, /\^ and \$/],
    [{type: 'regex', pattern: '[]'}, /no text meets it/],
    [{type: 'regex', pattern: 'a{900000}{2}'}, /repetition of a repetition/],
    [{type: 'regex', pattern: '(a{9000}){9000}'}, /too large/],
    [{type: 'grammar', grammar: 'start ::= "a"'}, /no rule "root"/],
    [{type: 'grammar', grammar: 'root ::= other'}, /no rule "other"/],
    [{type: 'grammar', grammar: 'root ::= root "a" | "b"'}, /begins with itself/],
    [{type: 'grammar', grammar: 'root ::= "a" root'}, /no text meets it/],
    [{type: 'grammar', grammar: 'root ::= "a\nb ::= [z-a]'}, /line/],
    [{type: 'grammar', grammar: 'root ::= [z-a]'}, /line 1, column \d+: a range/],
  ];
  for (const [format, message] of wrong) {
    assert.throws(() => structures.constraint({format}, 'response_format'), (problem) => {
      assert.ok(problem instanceof APIError, `${JSON.stringify(format)}: ${String((problem as Error).stack)}`);
      assert.match(problem.message, message, JSON.stringify(format));
      assert.deepEqual([problem.status, problem.param], [400, 'response_format']);
      return true;
    }, JSON.stringify(format));
  }
});

test('vocabularies without the bytes: an error, or only texts that they can write', () => {
  const few = (texts: readonly string[]): Vocabulary => new Vocabulary(texts.map((each) => encoder.encode(each)));
  const machine = (source: string, vocabulary: Vocabulary): Machine => {
    const grammar = new Grammar();
    const root = grammar.declare('root');
    grammar.define(root, pattern(source, character, true));
    return new Machine(grammar, root, vocabulary, []);
  };
  assert.throws(() => machine('[x-z]+', few(['a', 'b'])), /vocabulary lacks/);
  assert.throws(() => machine('caf', few(['ca', 'afe'])), /vocabulary lacks/);
  // Its characters are tokens, their bytes are not.
  const words = ['ca', 'f', 'é', 'fe', 'ü'];
  const cafe = machine('caf(é|e)', few(words));
  let state = cafe.start();
  for (const [text, allowed] of [['ca', ['ca']], ['f', ['f', 'fe']], ['é', ['é']]] as const) {
    assert.deepEqual(words.filter((_, id) => hasBit(cafe.mask(state), id)), allowed);
    state = cafe.after(state, encoder.encode(text));
  }
  // "ab" may not begin "abc", as "c" is not there.
  const dead = machine('abc|ad', few(['a', 'ab', 'd', 'b']));
  assert.deepEqual([0, 1, 2, 3].map((id) => hasBit(dead.mask(dead.start()), id)), [true, false, false, false]);
});
