/** What OpenAI's strict mode asks of schemas. */
import {GrammarError} from './automaton.ts';

/** Schemas in keywords whose value is one, a list of them, or a table of them. */
const INSIDE = ['items', 'additionalProperties', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'properties', '$defs', 'definitions'];

const nested = (value: unknown): readonly unknown[] => (typeof value === 'object' && value !== null ? Object.values(value) : []);

/** Throws a GrammarError for objects that may have other properties than listed ones, or that may lack one. */
export function checkStrict(schema: unknown, place = '#'): void {
  if (typeof schema !== 'object' || schema === null) return;
  const {type, properties, required = [], additionalProperties} = schema as Readonly<Record<string, unknown>>;
  if (type === 'object' || properties !== undefined) {
    if (additionalProperties !== false) throw new GrammarError(`with "strict", the schema at ${place} needs "additionalProperties": false`);
    const missing = Object.keys((properties ?? {})).find((name) => !(required as readonly unknown[]).includes(name));
    if (missing !== undefined) throw new GrammarError(`with "strict", the schema at ${place} needs all properties in "required"; ${JSON.stringify(missing)} is missing. A type with "null" is for what may be left out`);
  }
  for (const name of INSIDE) {
    const value = (schema as Readonly<Record<string, unknown>>)[name];
    if (name === 'items' || name === 'additionalProperties') checkStrict(value, `${place}/${name}`);
    else nested(value).forEach((each, at) => checkStrict(each, `${place}/${name}/${Object.keys(value as object)[at]}`));
  }
}
