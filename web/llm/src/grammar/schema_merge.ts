/** Schemas of which a value has to meet several, as one. */
import {GrammarError} from './automaton.ts';

export type Fields = Readonly<Record<string, unknown>>;
export type Schema = boolean | Fields;

/** Says something of a schema, but does not restrict values. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title', 'description', 'default', 'examples', 'example', '$schema', '$id', '$anchor', '$comment', 'deprecated', 'readOnly', 'writeOnly', '$defs', 'definitions', 'contentEncoding', 'contentMediaType',
]);

export const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
export type Type = (typeof TYPES)[number];

/** What the types of a schema are, as far as it says. */
export function typesOf({type}: Fields): readonly Type[] | undefined {
  if (type === undefined) return undefined;
  const types = Array.isArray(type) ? type : [type];
  const wrong: unknown = types.find((each) => !TYPES.includes(each as Type));
  if (wrong !== undefined || types.length === 0) throw new GrammarError(`the type ${JSON.stringify(wrong ?? type)} of a schema is not one of ${TYPES.join(', ')}`);
  return types as Type[];
}

export const same = (a: unknown, b: unknown): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same((a as Fields)[name], (b as Fields)[name]));
};

/** What a schema says of the items and properties that it does not list. */
const restOf = (schema: Fields, name: string): Schema => (schema[name] as Schema | undefined) ?? true;

/** Both of two; one of them where the other says nothing. */
const and = (a: Schema, b: Schema): Schema => (a === true ? b : b === true ? a : same(a, b) ? a : {allOf: [a, b]});

function mergedTypes(a: Fields, b: Fields): readonly Type[] {
  const [first, second] = [typesOf(a) as readonly Type[], typesOf(b) as readonly Type[]];
  const has = (types: readonly Type[], type: Type): boolean => types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...first.filter((type) => has(second, type)), ...second.filter((type) => has(first, type))])];
}

function mergedProperties(a: Fields, b: Fields): Fields {
  const [first, second] = [(a['properties'] ?? {}) as Readonly<Record<string, Schema>>, (b['properties'] ?? {}) as Readonly<Record<string, Schema>>];
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])];
  const of = (own: Readonly<Record<string, Schema>>, schema: Fields, name: string): Schema => (Object.hasOwn(own, name) ? (own[name] as Schema) : restOf(schema, 'additionalProperties'));
  return Object.fromEntries(names.map((name) => [name, and(of(first, a, name), of(second, b, name))]));
}

function mergedPrefixes(a: Fields, b: Fields): readonly Schema[] {
  const [first, second] = [(a['prefixItems'] ?? []) as readonly Schema[], (b['prefixItems'] ?? []) as readonly Schema[]];
  return Array.from({length: Math.max(first.length, second.length)}, (_, at) => and(first[at] ?? restOf(a, 'items'), second[at] ?? restOf(b, 'items')));
}

const least = (a: unknown, b: unknown): number => Math.min(a as number, b as number);
const most = (a: unknown, b: unknown): number => Math.max(a as number, b as number);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** How a keyword of both is joined. */
const JOINED: Readonly<Record<string, (a: unknown, b: unknown) => unknown>> = {
  minimum: most, exclusiveMinimum: most, minLength: most, minItems: most,
  maximum: least, exclusiveMaximum: least, maxLength: least, maxItems: least,
  required: (a, b) => [...new Set([...(a as string[]), ...(b as string[])])],
  enum: (a, b) => (a as unknown[]).filter((each) => (b as unknown[]).some((other) => same(each, other))),
  items: (a, b) => and(a as Schema, b as Schema),
  additionalProperties: (a, b) => and(a as Schema, b as Schema),
  pattern: (a, b) => [...new Set([...list(a), ...list(b)])],
  anyOf: (a, b) => (a as Schema[]).flatMap((first) => (b as Schema[]).map((second) => and(first, second))),
  oneOf: (a, b) => (a as Schema[]).flatMap((first) => (b as Schema[]).map((second) => and(first, second))),
  allOf: (a, b) => [...(a as Schema[]), ...(b as Schema[])],
};

/** What meets both. Throws a GrammarError for what cannot be joined. */
export function merged(a: Schema, b: Schema): Schema {
  if (typeof a === 'boolean' || typeof b === 'boolean') return a === true ? b : b === true ? a : false;
  const made: Record<string, unknown> = {};
  for (const [name, value] of [...Object.entries(a), ...Object.entries(b)]) {
    if (ANNOTATIONS.has(name)) continue;
    const isBoth = Object.hasOwn(made, name);
    if (!isBoth || same(made[name], value)) made[name] = value;
    else if (name === 'type') made[name] = mergedTypes(a, b);
    else if (name === 'const') return false;
    else if (name === 'properties' || name === 'prefixItems') continue;
    else if (JOINED[name]) made[name] = JOINED[name](made[name], value);
    else throw new GrammarError(`allOf has two schemas with different "${name}", which is not supported`);
  }
  if (Array.isArray(made['type']) && made['type'].length === 0) return false;
  if (a['properties'] ?? b['properties']) made['properties'] = mergedProperties(a, b);
  if (a['prefixItems'] ?? b['prefixItems']) made['prefixItems'] = mergedPrefixes(a, b);
  return made;
}
