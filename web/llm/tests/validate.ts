/** JSON Schema's rules for values, written without the code that it checks. Gives what is wrong, or undefined. */
type Schema = Readonly<Record<string, unknown>> | boolean;

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const isType = (value: unknown, type: string): boolean => (type === 'integer' ? Number.isInteger(value) : typeOf(value) === type);
const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Texts of formats, by JavaScript's own means. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text),
  'date-time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text)),
  time: (text) => !Number.isNaN(Date.parse(`2000-01-01T${text}`)),
  uuid: (text) => text.length === 36 && text.split('-').map(({length}) => length).join() === '8,4,4,4,12' && /^[\da-f-]+$/i.test(text),
  email: (text) => text.split('@').length === 2 && URL.canParse(`mailto:${text}`) && /^[^@\s]+@[^@\s.]+\.[^@\s]+$/.test(text),
  ipv4: (text) => URL.canParse(`http://${text}/`) && new URL(`http://${text}/`).hostname === text,
};

export function problemOf(value: unknown, schema: Schema, root: Schema = schema): string | undefined {
  if (typeof schema === 'boolean') return schema ? undefined : 'nothing is allowed';
  const say = (what: string): string => `${JSON.stringify(value)?.slice(0, 80)} is not ${what}`;
  const of = <T>(name: string): T | undefined => schema[name] as T | undefined;
  if (schema['$ref'] !== undefined) {
    const target = of<string>('$ref')?.split('/').slice(1).reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>>)[name], root);
    const wrong = problemOf(value, target as Schema, root);
    if (wrong) return wrong;
  }
  const all = of<Schema[]>('allOf')?.map((each) => problemOf(value, each, root)).find((each) => each);
  if (all) return all;
  for (const name of ['anyOf', 'oneOf']) {
    const branches = of<Schema[]>(name);
    if (branches?.every((each) => problemOf(value, each, root))) return say(`any of ${name}`);
  }
  const types = of<string | string[]>('type');
  if (types !== undefined && ![types].flat().some((type) => isType(value, type))) return say(String(types));
  if (schema['enum'] !== undefined && !of<unknown[]>('enum')?.some((each) => equal(each, value))) return say('in enum');
  if ('const' in schema && !equal(schema['const'], value)) return say('const');
  if (typeof value === 'number') {
    const bounds: [string, (bound: number) => boolean][] = [['minimum', (b) => value >= b], ['maximum', (b) => value <= b], ['exclusiveMinimum', (b) => value > b], ['exclusiveMaximum', (b) => value < b], ['multipleOf', (b) => value % b === 0]];
    for (const [name, holds] of bounds) if (schema[name] !== undefined && !holds(schema[name] as number)) return say(`${name} ${schema[name] as number}`);
  }
  if (typeof value === 'string') {
    const {length} = [...value];
    if (length < (of<number>('minLength') ?? 0) || length > (of<number>('maxLength') ?? Infinity)) return say('of that length');
    if (schema['pattern'] !== undefined && !new RegExp(of<string>('pattern') as string, 'u').test(value)) return say(`of the pattern ${of<string>('pattern')}`);
    if (schema['format'] !== undefined && FORMATS[of<string>('format') as string]?.(value) === false) return say(`a ${of<string>('format')}`);
  }
  if (Array.isArray(value)) {
    if (value.length < (of<number>('minItems') ?? 0) || value.length > (of<number>('maxItems') ?? Infinity)) return say('of so many items');
    const prefixes = of<Schema[]>('prefixItems') ?? [];
    return value.map((each, at) => problemOf(each, prefixes[at] ?? of<Schema>('items') ?? true, root)).find((each) => each);
  }
  if (typeof value === 'object' && value !== null) {
    const properties = of<Readonly<Record<string, Schema>>>('properties') ?? {};
    const missing = of<string[]>('required')?.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) return say(`with ${missing}`);
    return Object.entries(value).map(([name, each]) => problemOf(each, Object.hasOwn(properties, name) ? (properties[name] as Schema) : (of<Schema>('additionalProperties') ?? true), root)).find((each) => each);
  }
  return undefined;
}
