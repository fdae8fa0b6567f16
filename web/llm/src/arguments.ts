/** Which arguments requests have, and what each may be. */
import {badRequest} from './errors.ts';

interface Kind {
  /** "a number of 0 to 2". */
  readonly wanted: string;
  readonly accepts: (value: unknown) => boolean;
}

const number = (least: number, most: number): Kind => ({
  wanted: `a number of ${least} to ${most}`,
  accepts: (value) => typeof value === 'number' && value >= least && value <= most,
});
const integer = (least: number, most = Infinity): Kind => ({
  wanted: most === Infinity ? `an integer of at least ${least}` : `an integer of ${least} to ${most}`,
  accepts: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
});
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isListOf = (value: unknown, is: (each: unknown) => boolean): boolean => Array.isArray(value) && value.every(is);
const isText = (value: unknown): value is string => typeof value === 'string';

const TEXT: Kind = {wanted: 'a string', accepts: isText};
const FLAG: Kind = {wanted: 'a boolean', accepts: (value) => typeof value === 'boolean'};
const OBJECT: Kind = {wanted: 'an object', accepts: isObject};
const LIST: Kind = {wanted: 'an array', accepts: Array.isArray};

const isNamedTool = (value: unknown): boolean => isObject(value) && value['type'] === 'function' && isObject(value['function']) && isText(value['function']['name']);

/** By type of a form: whether the rest of it is right. */
const FORMATS: Readonly<Record<string, (format: Readonly<Record<string, unknown>>) => boolean>> = {
  text: () => true,
  json_object: () => true,
  json_schema: ({json_schema: of}) => isObject(of) && isText(of['name']) && /^[\w-]{1,64}$/.test(of['name']) && (of['schema'] === undefined || isObject(of['schema'])) && [undefined, null, true, false].includes(of['strict'] as boolean),
  regex: ({pattern}) => isText(pattern),
  grammar: ({grammar}) => isText(grammar),
};
const FORMAT: Kind = {
  wanted: '{type: "text"}, {type: "json_object"}, {type: "json_schema", json_schema: {name, schema, strict}} with a name of letters, digits, _ and -, {type: "regex", pattern} or {type: "grammar", grammar}',
  accepts: (value) => isObject(value) && Object.hasOwn(FORMATS, String(value['type'])) && FORMATS[value['type'] as string]?.(value) === true,
};

const MOST_BIAS = 100;
const BIAS: Kind = {
  wanted: `an object from tokens to numbers of ${-MOST_BIAS} to ${MOST_BIAS}`,
  accepts: (value) => isObject(value) && Object.entries(value).every(([token, bias]) => /^\d+$/.test(token) && typeof bias === 'number' && Math.abs(bias) <= MOST_BIAS),
};

type Table = Readonly<Record<string, Kind>>;

const COMMON: Table = {
  model: TEXT,
  stream: FLAG,
  stream_options: OBJECT,
  max_tokens: integer(1),
  n: integer(1, 128),
  seed: integer(-(2 ** 53), 2 ** 53),
  stop: {wanted: 'a string or an array of strings, none of them empty', accepts: (value) => (isText(value) && value !== '') || isListOf(value, (each) => isText(each) && each !== '')},
  temperature: number(0, 2),
  top_p: number(0, 1),
  top_k: integer(-1),
  min_p: number(0, 1),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  repetition_penalty: number(0.01, 100),
  logit_bias: BIAS,
  // Of no meaning without a server.
  user: TEXT,
  metadata: OBJECT,
  store: FLAG,
  service_tier: TEXT,
  safety_identifier: TEXT,
  prompt_cache_key: TEXT,
};

const CHAT: Table = {
  ...COMMON,
  messages: LIST,
  max_completion_tokens: integer(1),
  tools: LIST,
  tool_choice: {wanted: '"auto", "none", "required" or {type: "function", function: {name}}', accepts: (value) => ['auto', 'none', 'required'].includes(value as string) || isNamedTool(value)},
  parallel_tool_calls: FLAG,
  response_format: FORMAT,
  chat_template_kwargs: OBJECT,
  logprobs: FLAG,
  top_logprobs: integer(0, 20),
};

const TEXTS: Table = {
  ...COMMON,
  prompt: {
    wanted: 'a string, an array of strings, an array of tokens, or an array of arrays of tokens',
    accepts: (value) => isText(value) || isListOf(value, isText) || isListOf(value, Number.isInteger) || isListOf(value, (each) => isListOf(each, Number.isInteger)),
  },
  echo: FLAG,
  response_format: FORMAT,
  logprobs: integer(0, 20),
  best_of: integer(1, 128),
  suffix: TEXT,
};

/** Arguments that need something that is not there, unless `isHarmless`. */
const MISSING: readonly (readonly [name: string, isHarmless: (value: unknown) => boolean, missing: string])[] = [
  ['suffix', (value) => value === '', 'text is only continued, not filled in'],
];

/** The arguments of a request without those that are null or undefined. Throws a 400 for one that is unknown or wrong. */
function checked(given: unknown, table: Table): Record<string, unknown> {
  if (!isObject(given)) throw badRequest('The request is not an object of arguments.', null);
  const named = Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of named) {
    const kind = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!kind) throw badRequest(`Unrecognized request argument supplied: ${name}`, name, 'unknown_parameter');
    if (!kind.accepts(value)) throw badRequest(`Invalid value for '${name}': ${JSON.stringify(value)}. It must be ${kind.wanted}.`, name, 'invalid_value');
  }
  for (const [name, isHarmless, missing] of MISSING) {
    if (given[name] === undefined || given[name] === null || isHarmless(given[name])) continue;
    throw badRequest(`'${name}' is not supported here: ${missing}.`, name, 'unsupported_parameter');
  }
  if (given['top_logprobs'] && given['logprobs'] !== true) throw badRequest("'top_logprobs' is only allowed when 'logprobs' is true.", 'top_logprobs');
  if (given['stream_options'] && given['stream'] !== true) throw badRequest("'stream_options' is only allowed when 'stream' is true.", 'stream_options');
  return Object.fromEntries(named);
}

function required(given: Record<string, unknown>, name: string): void {
  if (given[name] === undefined) throw badRequest(`You must provide '${name}'.`, name, 'missing_required_parameter');
}

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'];

function checkMessage(message: unknown, at: number): void {
  const param = `messages[${at}]`;
  const wrong = (field: string, message: string): never => {
    throw badRequest(`Invalid '${param}${field}': ${message}.`, param + field, 'invalid_value');
  };
  if (!isObject(message)) return wrong('', 'it must be an object');
  const {role, content, tool_calls: calls, tool_call_id: id} = message;
  if (!ROLES.includes(role as string)) wrong('.role', `it must be one of ${ROLES.join(', ')}`);
  if (content === undefined || content === null) {
    if (role !== 'assistant' || !calls) wrong('.content', 'it must be a string or an array of text parts');
  } else if (!isText(content) && !isListOf(content, (part) => isObject(part) && part['type'] === 'text' && isText(part['text']))) {
    wrong('.content', 'it must be a string, or an array of parts of type "text": language models here read text only');
  }
  if (role === 'tool' && !isText(id)) wrong('.tool_call_id', 'it must name the call that this message answers');
  const isCall = (each: unknown): boolean => isObject(each) && isObject(each['function']) && isText(each['function']['name']) && isText(each['function']['arguments']);
  if (calls !== undefined && calls !== null && !isListOf(calls, isCall)) wrong('.tool_calls', 'it must be an array of {id, type: "function", function: {name, arguments}}');
}

/** A call can be asked for where there are tools, and one of these. */
function checkToolChoice({tools = [], tool_choice: choice}: {tools?: readonly {readonly function: {readonly name: string}}[]; tool_choice?: unknown}): void {
  if (choice === undefined || choice === 'auto' || choice === 'none') return;
  if (tools.length === 0) throw badRequest("'tool_choice' is only allowed when 'tools' are specified.", 'tool_choice', 'invalid_value');
  const name = isObject(choice) ? (choice['function'] as {name: string}).name : undefined;
  if (name !== undefined && !tools.some((tool) => tool.function.name === name)) throw badRequest(`Invalid 'tool_choice': no function "${name}" is in 'tools'.`, 'tool_choice', 'invalid_value');
}

/** Throws a 400 for a request that is wrong. */
export function checkChat(request: unknown): Record<string, unknown> {
  const given = checked(request, CHAT);
  required(given, 'messages');
  const messages = given['messages'] as readonly unknown[];
  if (messages.length === 0) throw badRequest("Invalid 'messages': the array is empty. At least one message is expected.", 'messages', 'empty_array');
  messages.forEach(checkMessage);
  for (const [at, tool] of ((given['tools'] as readonly unknown[] | undefined) ?? []).entries()) {
    const is = isObject(tool) && tool['type'] === 'function' && isObject(tool['function']) && isText(tool['function']['name']);
    if (!is) throw badRequest(`Invalid 'tools[${at}]': it must be {type: "function", function: {name, description, parameters}}.`, `tools[${at}]`, 'invalid_value');
  }
  checkToolChoice(given);
  return given;
}

/** The same for a completion. */
export function checkCompletion(request: unknown): Record<string, unknown> {
  const given = checked(request, TEXTS);
  required(given, 'prompt');
  if ((given['prompt'] as string | readonly unknown[]).length === 0 && !isText(given['prompt'])) throw badRequest("Invalid 'prompt': the array is empty.", 'prompt', 'empty_array');
  const {best_of: most, n = 1} = given as {best_of?: number; n?: number};
  if (most !== undefined && most < n) throw badRequest(`Invalid value for 'best_of': ${most}. It must be at least 'n', which is ${n}.`, 'best_of', 'invalid_value');
  if (most !== undefined && most > n && given['stream'] === true) throw badRequest("'best_of' of more completions than 'n' cannot be streamed.", 'best_of', 'invalid_value');
  return given;
}
