/** Forms of answers that are tested, each with a check of its own. */
import type {ResponseFormat} from '../src/index.ts';
import {problemOf} from './validate.ts';

export interface Form {
  readonly format: ResponseFormat;
  /** What is wrong with an answer, or undefined. */
  readonly problemOf: (answer: string) => string | undefined;
  /** Whether answers have an end by the form alone. */
  readonly isBounded: boolean;
}

const schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  person: {
    type: 'object',
    properties: {name: {type: 'string', minLength: 1, maxLength: 12}, age: {type: 'integer', minimum: 0, maximum: 130}, member: {type: 'boolean'}, note: {type: ['string', 'null'], maxLength: 6}},
    required: ['name', 'age', 'member', 'note'],
    additionalProperties: false,
  },
  optional: {type: 'object', properties: {a: {const: 'A "quoted" \\ text'}, b: {enum: ['x', 2.5, null, [1, {k: 'v'}]]}, c: {type: 'null'}}, required: ['b']},
  others: {type: 'object', properties: {id: {type: 'integer', minimum: -9, maximum: 9}}, required: ['id'], additionalProperties: {type: 'boolean'}},
  bounds: {type: 'array', items: {type: 'number', minimum: -1.25, exclusiveMaximum: 12.5}, minItems: 2, maxItems: 4},
  integers: {type: 'array', prefixItems: [{type: 'integer', exclusiveMinimum: 17, maximum: 1203}, {type: 'integer', maximum: -40}, {type: 'number', multipleOf: 1, minimum: 5}], items: false, minItems: 3},
  formats: {
    type: 'object',
    properties: Object.fromEntries(['date', 'date-time', 'time', 'uuid', 'email', 'ipv4'].map((format) => [format, {type: 'string', format}])),
    required: ['date', 'ipv4'],
  },
  patterns: {type: 'object', properties: {code: {type: 'string', pattern: '^[A-Z]{2}-\\d{1,3}$'}, loose: {type: 'string', pattern: 'ab|c"$', maxLength: 9}}, required: ['code', 'loose']},
  tree: {
    $ref: '#/$defs/node',
    $defs: {node: {type: 'object', properties: {value: {type: 'integer', minimum: 0, maximum: 9}, left: {anyOf: [{$ref: '#/$defs/leaf'}, {$ref: '#/$defs/node'}]}}, required: ['value', 'left']}, leaf: {enum: ['end', 'stop', 'none']}},
  },
  joined: {allOf: [{type: 'object', properties: {kind: {enum: ['a', 'b', 'c']}}, required: ['kind']}, {$ref: '#/$defs/sized'}], $defs: {sized: {properties: {kind: {enum: ['b', 'c', 'd']}, size: {type: 'number', minimum: 1, maximum: 2}}, required: ['size']}}},
  union: {oneOf: [{type: 'object', properties: {type: {const: 'circle'}, radius: {type: 'integer', minimum: 1, maximum: 99}}, required: ['type', 'radius']}, {type: 'object', properties: {type: {const: 'text'}, text: {type: 'string', maxLength: 5}}, required: ['type', 'text']}]},
};

/** A sum or product such as 12*(3+4). */
const SUM = /^(\d{1,3}|\(\d[+*][1-9]\))([+*](\d{1,3}|\(\d[+*][1-9]\))){0,4}$/;

const parsed = (answer: string, check: (value: unknown) => string | undefined): string | undefined => {
  try {
    return check(JSON.parse(answer));
  } catch (problem) {
    return `${String(problem)}: ${answer}`;
  }
};

const regex = (pattern: string): Form => ({isBounded: true, format: {type: 'regex', pattern}, problemOf: (answer) => (new RegExp(`^(?:${pattern})$`, 'u').test(answer) ? undefined : `${JSON.stringify(answer)} does not match`)});

export const forms: Readonly<Record<string, Form>> = {
  ...Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [
    `schema ${name}`,
    {isBounded: name !== 'others' && name !== 'tree', format: {type: 'json_schema', json_schema: {name, schema}}, problemOf: (answer: string) => parsed(answer, (value) => problemOf(value, schema))} satisfies Form,
  ])),
  'regex of a call number': regex('[A-Z]{1,3}\\d{2,4}(\\.[a-z]\\d{1,3})?( \\d{4})?'),
  'regex of words': regex('(?:hello|world|and the ){1,4}[^\\s\\w]{2}'),
  'regex beyond ASCII': regex('[а-яё]{2,5}|[\\u{1f600}-\\u{1f64f}]{1,3}|\\p{Lu}{3}'),
  'grammar of sums': {
    isBounded: true,
    format: {type: 'grammar', grammar: 'root ::= term (op term){0,4}  # a sum\nop ::= [+*]\nterm ::= [0-9]{1,3} | "(" [0-9] op [1-9] ")"'},
    problemOf: (answer) => (SUM.test(answer) ? undefined : answer),
  },
  'grammar of brackets': {
    isBounded: false,
    format: {type: 'grammar', grammar: 'root ::= pair\npair ::= "[" inner? "]"\ninner ::= "" | "x" | pair\n'},
    problemOf: (answer) => (/^\[*x?\]*$/.test(answer) && answer.split('[').length === answer.split(']').length && answer !== 'x' ? undefined : answer),
  },
};
