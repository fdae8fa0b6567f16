/** JSON schemas as grammars. */
import {choice, type Grammar, GrammarError, never, nothing, type Part, repeat, rule, sequence, text} from './automaton.ts';
import {ANY} from './code_points.ts';
import {both, compact, without} from './deterministic.ts';
import {FORMATS} from './formats.ts';
import {type AnyJson, anyJson, anyQuoted, quoted, stringOf, written} from './json_text.ts';
import {type Bound, decimals, integers} from './numbers.ts';
import {pattern} from './patterns.ts';
import {ANNOTATIONS, type Fields, merged, same, type Schema, type Type, TYPES, typesOf} from './schema_merge.ts';

/** By type: the keywords that restrict its values. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
};
const KNOWN: ReadonlySet<string> = new Set([...Object.values(KEYWORDS).flat(), 'type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref', 'nullable']);
/** Deeper ones refer to themselves without a value between. */
const DEEPEST = 100;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

function checked(schema: unknown): Schema {
  if (typeof schema === 'boolean') return schema;
  if (!isFields(schema)) throw new GrammarError(`a schema is an object or a boolean, not ${JSON.stringify(schema)}`);
  const unknown = Object.keys(schema).filter((name) => !KNOWN.has(name) && !ANNOTATIONS.has(name) && !name.startsWith('x-'));
  if (unknown.length > 0) throw new GrammarError(`the schema has keywords that are not supported: ${unknown.join(', ')}`);
  return schema;
}

/** A count such as minLength. */
function count(schema: Fields, name: string, none: number): number {
  const value = schema[name] ?? none;
  if (value === Infinity || (Number.isInteger(value) && (value as number) >= 0)) return value as number;
  throw new GrammarError(`"${name}" is ${JSON.stringify(value)}; an integer of at least 0 is expected`);
}

function boundOf(schema: Fields, side: 'Minimum' | 'Maximum'): Bound | undefined {
  const isLow = side === 'Minimum';
  const bounds = [{name: side.toLowerCase(), isOpen: false}, {name: `exclusive${side}`, isOpen: true}].flatMap(({name, isOpen}) => {
    const value = schema[name];
    if (value === undefined) return [];
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new GrammarError(`"${name}" is ${JSON.stringify(value)}; a number is expected`);
    return [{value, isOpen}];
  });
  // The tighter one; of two alike, the open one.
  return bounds.sort((a, b) => (isLow ? b.value - a.value : a.value - b.value) || Number(b.isOpen) - Number(a.isOpen))[0];
}

/** Some escapes are wrong with the flag u alone. */
function matches(source: string, text: string): boolean {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags).test(text);
    } catch {
      continue;
    }
  }
  throw new GrammarError(`"pattern" is ${JSON.stringify(source)}, which is not a regular expression`);
}

export class SchemaGrammar {
  readonly #grammar: Grammar;
  readonly #root: Schema;
  readonly #banned: string | undefined;
  readonly #any: AnyJson;
  readonly #rules = new Map<string, number>();
  #depth = 0;

  /** `root`: what references begin in. `banned`: a text that no string has. */
  constructor(grammar: Grammar, root: Schema, banned?: string) {
    this.#grammar = grammar;
    this.#root = root;
    this.#banned = banned;
    this.#any = anyJson(grammar, banned);
  }

  /** Values of a schema. Throws a GrammarError for one that is wrong or has what is not supported. */
  part(given: unknown): Part {
    const schema = checked(given);
    if (schema === true) return this.#any.value;
    if (schema === false) return never;
    if (++this.#depth > DEEPEST) throw new GrammarError('the schema is nested too deeply, or refers to itself without a value between');
    try {
      return this.#partOf(schema);
    } finally {
      --this.#depth;
    }
  }

  #partOf(schema: Fields): Part {
    const {$ref, allOf, anyOf, oneOf, nullable, ...rest} = schema;
    const restricts = (of: Fields): boolean => Object.keys(of).some((name) => !ANNOTATIONS.has(name));
    const siblings = {...rest, ...(allOf !== undefined && {allOf}), ...(anyOf !== undefined && {anyOf}), ...(oneOf !== undefined && {oneOf})};
    // As OpenAPI has it.
    if (nullable !== undefined) return choice(this.part({...siblings, ...($ref !== undefined && {$ref})}), ...(nullable === true ? [text('null')] : []));
    if ($ref !== undefined) {
      const target = this.#resolved($ref);
      return restricts(siblings) ? this.part(merged(this.#open(target), siblings)) : this.#ruled(target);
    }
    const branches = (name: string, value: unknown): readonly Schema[] => {
      if (!Array.isArray(value) || value.length === 0) throw new GrammarError(`"${name}" is an array of schemas, not ${JSON.stringify(value)}`);
      return value.map(checked);
    };
    if (allOf !== undefined) {
      const others = Object.fromEntries(Object.entries(siblings).filter(([name]) => name !== 'allOf'));
      return this.part(branches('allOf', allOf).reduce<Schema>((all, each) => merged(all, this.#open(each)), others));
    }
    if (anyOf !== undefined || oneOf !== undefined) {
      const name = anyOf === undefined ? 'oneOf' : 'anyOf';
      const {[name]: all, ...others} = siblings as Fields;
      return choice(...branches(name, all).map((each) => this.#ruled(restricts(others) ? merged(others, this.#open(each)) : each)));
    }
    if (schema['const'] !== undefined || schema['enum'] !== undefined) return this.#values(schema);
    const types = typesOf(schema) ?? this.#implied(schema);
    return choice(...types.map((type) => this.#ofType(type, schema)));
  }

  /** Types whose keywords a schema without types has; any type where it has none. */
  #implied(schema: Fields): readonly Type[] {
    const types = TYPES.filter((type) => KEYWORDS[type]?.some((name) => schema[name] !== undefined));
    return types.length > 0 ? types : TYPES.filter((type) => type !== 'integer');
  }

  /** The schema that a reference names, as #/$defs/name. */
  #resolved(reference: unknown): Schema {
    if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) throw new GrammarError(`the reference ${JSON.stringify(reference)} is not supported: only those within the schema are, such as #/$defs/name`);
    let at: unknown = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      at = typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Fields)[name] : undefined;
    }
    if (at === undefined) throw new GrammarError(`the reference ${JSON.stringify(reference)} names nothing in the schema`);
    return checked(at);
  }

  /** A schema of keywords instead of a reference, to be joined with others. */
  #open(given: Schema): Schema {
    let schema = checked(given);
    for (let depth = 0; typeof schema !== 'boolean' && schema['$ref'] !== undefined; ++depth) {
      if (depth > DEEPEST) throw new GrammarError(`the reference ${JSON.stringify(schema['$ref'])} leads to itself`);
      const {$ref, ...siblings} = schema;
      schema = merged(this.#resolved($ref), siblings);
    }
    return schema;
  }

  /** Values of a schema as a rule, which is made once for all schemas that say the same. */
  #ruled(schema: Schema): Part {
    if (typeof schema === 'boolean') return this.part(schema);
    const key = JSON.stringify(schema);
    let known = this.#rules.get(key);
    if (known === undefined) {
      known = this.#grammar.declare('value');
      this.#rules.set(key, known);
      const depth = this.#depth;
      this.#depth = 0;
      this.#grammar.define(known, this.part(schema));
      this.#depth = depth;
    }
    return rule(known);
  }

  #values(schema: Fields): Part {
    const {const: constant, enum: listed = [constant], ...others} = schema;
    if (!Array.isArray(listed)) throw new GrammarError(`"enum" is an array, not ${JSON.stringify(listed)}`);
    const values = listed.filter((value) => (constant === undefined || same(value, constant)) && this.#accepts(value, others));
    return choice(...values.map((value) => text(written(value))));
  }

  /** Whether a listed value meets the keywords next to the list, as far as these are about its type, size and characters. */
  #accepts(value: unknown, schema: Fields): boolean {
    const type: Type = value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as Type);
    const types = typesOf(schema);
    if (types && !types.includes(type) && !(type === 'number' && Number.isInteger(value) && types.includes('integer'))) return false;
    if (typeof value === 'number') {
      const [low, high] = [boundOf(schema, 'Minimum'), boundOf(schema, 'Maximum')];
      if (low && (value < low.value || (low.isOpen && value === low.value))) return false;
      return !(high && (value > high.value || (high.isOpen && value === high.value)));
    }
    if (typeof value !== 'string') return true;
    const {length} = [...value];
    if (length < count(schema, 'minLength', 0) || length > count(schema, 'maxLength', Infinity)) return false;
    const format = FORMATS[schema['format'] as string];
    const patterns = [...(schema['pattern'] === undefined ? [] : [schema['pattern']].flat()), ...(format === undefined ? [] : [`^(?:${format})$`])];
    return patterns.every((each) => matches(each as string, value));
  }

  #ofType(type: Type, schema: Fields): Part {
    if (type === 'null') return text('null');
    if (type === 'boolean') return choice(text('true'), text('false'));
    if (type === 'object') return this.#object(schema);
    if (type === 'array') return this.#array(schema);
    const keywords = Object.fromEntries((KEYWORDS[type === 'string' ? type : 'number'] as readonly string[]).flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])));
    if (type === 'string' && Object.keys(keywords).length === 0) return this.#any.string;
    if (type === 'number' && Object.keys(keywords).length === 0) return this.#any.number;
    // A rule, so that all properties of one kind share the masks of its places.
    const key = JSON.stringify([type, keywords]);
    let known = this.#rules.get(key);
    if (known === undefined) {
      known = this.#grammar.declare(type);
      this.#rules.set(key, known);
      this.#grammar.define(known, type === 'string' ? this.#string(keywords) : this.#number(type, keywords));
    }
    return rule(known);
  }

  #number(type: Type, schema: Fields): Part {
    const {multipleOf} = schema;
    if (multipleOf !== undefined && multipleOf !== 1) throw new GrammarError(`the keyword "multipleOf" is supported for 1 only, not for ${JSON.stringify(multipleOf)}`);
    const bounds = [boundOf(schema, 'Minimum'), boundOf(schema, 'Maximum')] as const;
    return type === 'integer' || multipleOf === 1 ? integers(...bounds) : decimals(...bounds);
  }

  #string(schema: Fields): Part {
    const [least, most] = [count(schema, 'minLength', 0), count(schema, 'maxLength', Infinity)];
    if (least > most) return never;
    const {format} = schema;
    const patterns = schema['pattern'] === undefined ? [] : [schema['pattern']].flat();
    if (format !== undefined && !Object.hasOwn(FORMATS, format as string)) throw new GrammarError(`the format ${JSON.stringify(format)} of strings is not supported; ${Object.keys(FORMATS).join(', ')} are`);
    const wrong = patterns.find((each) => typeof each !== 'string');
    if (wrong !== undefined) throw new GrammarError(`"pattern" is a string, not ${JSON.stringify(wrong)}`);
    const conditions: Part[] = (patterns as string[]).map((each) => pattern(each, quoted, false));
    if (format !== undefined) conditions.push(pattern(FORMATS[format as string] as string, quoted, true));
    if (conditions.length === 0) return this.#quotes(repeat(anyQuoted, least, most));
    // Written in one way, so that texts can be compared byte by byte.
    if (least > 0 || most < Infinity) conditions.push(repeat(compact(quoted(ANY)), least, most));
    return this.#quotes(conditions.reduce(both));
  }

  #quotes(content: Part): Part {
    return stringOf(content, this.#banned);
  }

  #array(schema: Fields): Part {
    const {items = true, prefixItems = []} = schema;
    if (!Array.isArray(prefixItems)) throw new GrammarError('"prefixItems" is an array of schemas');
    const [least, most] = [count(schema, 'minItems', 0), count(schema, 'maxItems', Infinity)];
    if (least > most) return never;
    const firsts = prefixItems.slice(0, most).map((each) => this.#item(each));
    // Without items, those after the listed ones are left out unless there must be more.
    const allowed = items === false || (schema['items'] === undefined && firsts.length > 0 && least <= firsts.length) ? 0 : most - firsts.length;
    const rest = allowed > 0 ? this.#item(items) : never;
    const comma = text(', ');
    const more = allowed > 0 ? repeat(sequence(comma, rest), Math.max(0, least - firsts.length), allowed) : least > firsts.length ? never : nothing;
    let part: Part;
    if (firsts.length > 0) {
      // From the last one: each may be the end.
      part = more;
      for (let at = firsts.length - 1; at >= 0; --at) {
        const whole = sequence(at > 0 ? comma : nothing, firsts[at] as Part, part);
        part = at >= least ? choice(whole, nothing) : whole;
      }
    } else if (allowed <= 0) {
      part = least > 0 ? never : nothing;
    } else {
      const some = sequence(rest, repeat(sequence(comma, rest), Math.max(0, least - 1), allowed - 1));
      part = least > 0 ? some : choice(some, nothing);
    }
    return sequence(text('['), part, text(']'));
  }

  /** Small values need no rule of their own. */
  #item(schema: unknown): Part {
    const each = checked(schema);
    const isPlain = typeof each !== 'boolean' && each['anyOf'] === undefined && each['oneOf'] === undefined && each['allOf'] === undefined && each['properties'] === undefined && each['items'] === undefined;
    return isPlain ? this.part(each) : this.#ruled(each);
  }

  #object(schema: Fields): Part {
    const {properties = {}, required = [], additionalProperties = false} = schema;
    if (!isFields(properties)) throw new GrammarError('"properties" is an object of schemas');
    if (!Array.isArray(required) || required.some((each) => typeof each !== 'string')) throw new GrammarError('"required" is an array of names');
    // An object of which nothing is said may have anything.
    const rest = schema['properties'] === undefined && schema['additionalProperties'] === undefined && required.length === 0 ? true : checked(additionalProperties);
    const missing = (required as string[]).filter((name) => !Object.hasOwn(properties, name));
    const listed: Fields = {...properties, ...Object.fromEntries(missing.map((name) => [name, schema['additionalProperties'] === undefined ? true : rest]))};
    const pairs = Object.entries(listed).map(([name, each]) => ({isRequired: required.includes(name), part: sequence(text(`${JSON.stringify(name)}: `), this.#item(each))}));
    const others = rest === false ? undefined : sequence(this.#otherName(Object.keys(listed)), text(': '), this.#item(rest));
    const comma = text(', ');
    const body: Part = (grammar, from) => {
      // Before each property: states without and with one before it.
      let [first, later] = [from, grammar.state()];
      for (const {isRequired, part} of pairs) {
        const next = grammar.state();
        const skipped = grammar.state();
        grammar.empty(part(grammar, first), next);
        grammar.empty(sequence(comma, part)(grammar, later), next);
        if (!isRequired) {
          grammar.empty(first, skipped);
          grammar.empty(later, next);
        }
        [first, later] = [skipped, next];
      }
      const end = grammar.state();
      if (others) {
        const loop = grammar.state();
        grammar.empty(later, loop);
        grammar.empty(others(grammar, first), loop);
        grammar.empty(sequence(comma, others)(grammar, loop), loop);
        grammar.empty(loop, end);
      }
      grammar.empty(later, end);
      grammar.empty(first, end);
      return end;
    };
    return sequence(text('{'), body, text('}'));
  }

  /** Names of properties that are not listed. */
  #otherName(listed: readonly string[]): Part {
    const key = JSON.stringify(['name', listed]);
    let known = this.#rules.get(key);
    if (known === undefined) {
      known = this.#grammar.declare('name');
      this.#rules.set(key, known);
      const any = this.#quotes(repeat(quoted(ANY), 0));
      this.#grammar.define(known, listed.length === 0 ? any : without(any, choice(...listed.map((name) => text(JSON.stringify(name))))));
    }
    return rule(known);
  }
}
