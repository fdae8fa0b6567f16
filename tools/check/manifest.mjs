// src/package/manifest.def lists the fields of manifest.json. This reads it, and compares what is made of it: the table
// of the run time in TypeScript, and the tables in docs/specs/package.md. With --update, writes them.
import {writeFileSync} from 'node:fs';
import path from 'node:path';
import {read, report, root} from './repository.mjs';

const TABLE = 'src/package/manifest.def';
const SCRIPT = 'web/runtime/src/package/manifest_table.ts';
const PAGE = 'docs/specs/package.md';
const [BEGIN, END] = ['<!-- manifest:begin -->', '<!-- manifest:end -->'];

/** 'a, f(b, c), "d, e"' → its three parts. */
function partsOf(text) {
  const parts = [''];
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:\\.|[^"\\])*"|[^]/g)) {
    if (token === '(' || token === '{') depth++;
    if (token === ')' || token === '}') depth--;
    if (token === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += token;
  }
  return parts.map((part) => part.trim());
}

/** 'name(a, b)' → {name, args}. */
function callOf(text) {
  const [, name, inside] = /^(\w+)(?:\((.*)\))?$/s.exec(text) ?? [];
  return {name, args: inside === undefined ? [] : partsOf(inside)};
}

/** The macros called in a text, in order: [name, arguments]. */
function callsIn(text) {
  const calls = [];
  for (let at = 0; at < text.length; ) {
    const match = /\b(\w+)\(/g;
    match.lastIndex = at;
    const found = match.exec(text);
    if (!found) break;
    const strings = /"(?:\\.|[^"\\])*"|[()]/g;
    strings.lastIndex = match.lastIndex;
    let depth = 1;
    for (let token; depth > 0 && (token = strings.exec(text)); ) depth += token[0] === '(' ? 1 : token[0] === ')' ? -1 : 0;
    calls.push([found[1], partsOf(text.slice(match.lastIndex, strings.lastIndex - 1))]);
    at = strings.lastIndex;
  }
  return calls;
}

/** Rows {key, type, presence, doc}, of which `type` and `presence` are {name, args}. */
const rowsOf = (text) =>
  callsIn(text).flatMap(([macro, args]) => {
    if (macro === 'M') return [];
    const key = args[1];
    const [presence, doc] = args.slice(-2);
    return [{key, type: callOf(args[0]), presence: callOf(presence), doc: JSON.parse(doc)}];
  });

/** {records, steps, manifest}: rows by the record's name, by the step's kind, and of the manifest itself. */
export function manifestTable(text = read(TABLE)) {
  const table = {records: new Map(), steps: new Map(), manifest: []};
  for (const [macro, [name, ...rest]] of callsIn(text.replace(/^\s*(\/\/|#).*$/gm, ''))) {
    if (macro === 'GS_RECORD') table.records.set(name, rowsOf(rest.join(', ')));
    else if (macro === 'GS_STEP') table.steps.set(name, rowsOf(rest.slice(1).join(', ')));
    else table.manifest = rowsOf([name, ...rest].join(', '));
  }
  return table;
}

const plainName = (name) => name.replace(/(Entry|Info)$/, '');
const constant = (name) => plainName(name).toUpperCase();
const entryOf = (name) => `${plainName(name)}Entry`;

/** Rows with those of flat records in their place. */
const flattened = (rows, records) =>
  rows.flatMap((row) => (row.type.name === 'flat' ? flattened(records.get(row.type.args[0]), records) : [row]));

/** What a field is in TypeScript. */
const SCRIPT_TYPES = {
  text: 'string', plain: 'string', flag: 'boolean', dtype: 'DType', target: 'string', count: 'number', size: 'number', index: 'number',
  upto: 'number', number: 'Num', range: 'Num', scalar: 'Num', integer: 'Num', extents: 'readonly (Num | string)[]',
  span: 'readonly [number, number]', pair: 'readonly [number, number]', sets: 'readonly (readonly [number, Num])[]', steps: 'readonly Step[]',
};
function scriptType({name, args: [arg]}) {
  if (name === 'list') return `readonly ${scriptType(callOf(arg))}[]`;
  if (name === 'record') return entryOf(arg);
  if (['records', 'fed', 'known'].includes(name)) return `readonly ${entryOf(arg)}[]`;
  return SCRIPT_TYPES[name];
}

/** What reads it. */
function reader({name, args}) {
  if (name === 'target') return 'text';
  if (name === 'count') return `count(${args.map((limit) => Number(limit)).join(', ')})`;
  if (name === 'upto') return `index('${args[0]}', 1)`;
  if (name === 'span') return `pair('${args[0]}', 1)`;
  if (name === 'index' || name === 'pair') return `${name}('${args[0]}')`;
  if (name === 'list') return `list(${reader(callOf(args[0]))})`;
  if (name === 'record' || name === 'records') return `${name}(${constant(args[0])})`;
  if (name === 'fed') return `records(${constant(args[0])}, {fed: 1, values: 0})`;
  if (name === 'known') return `records(${constant(args[0])}, {values: 0})`;
  return name;
}

const isList = ({name}) => ['list', 'records', 'fed', 'known'].includes(name);

/** [its type, what reads it]. */
function scriptRow({type, presence: {name, args: [arg]}}) {
  const [plain, read] = [scriptType(type), reader(type)];
  const maybe = `${plain} | undefined`;
  if (type.name === 'flag') return [plain, read];
  const none = name === 'unless' && (arg === '-1' || arg === '""');
  if (name === 'lenient' || (name === 'unless' && !none)) return [plain, `or(${read}, ${arg === '""' ? "''" : arg})`];
  if (none) return [maybe, `or(${read})`];
  if (name === 'some' && type.name === 'steps') return [plain, `or(${read}, [])`];
  if (name === 'some' && !isList(type)) return [maybe, `or(${read})`];
  if (name === 'when') return [maybe, `when(${arg === 'texture'}, ${read})`];
  return [plain, read];
}

/** `exported`: whether other files read it by itself. */
function scriptRecord(entry, name, rows, exported = false) {
  const all = rows.map((row) => ({...row, script: scriptRow(row)}));
  const members = all.map(({key, doc, script}) => `${doc && `  /** ${doc[0].toUpperCase()}${doc.slice(1)}. */\n`}  readonly ${key}${script[0].endsWith('undefined') ? '?' : ''}: ${script[0].replace(' | undefined', '')};\n`);
  const readers = all.map(({key, script}) => `  ${key === script[1] ? key : `${key}: ${script[1]}`},\n`);
  return `export interface ${entry} {\n${members.join('')}}\n\n${exported ? 'export ' : ''}const ${name}: Rows<${entry}> = {\n${readers.join('')}};\n`;
}

export function scriptOf({records, steps, manifest}) {
  const flat = [...records.values()].flat().filter(({type}) => type.name === 'flat').map(({type}) => type.args[0]);
  const upper = (kind) => `${kind[0].toUpperCase()}${kind.slice(1)}Step`;
  const blocks = [...records].filter(([name]) => !flat.includes(name)).map(([name, rows]) => scriptRecord(entryOf(name), constant(name), flattened(rows, records), name === 'Plan'));
  const kinds = [...steps].map(([kind, rows]) => scriptRecord(upper(kind), `${kind.toUpperCase()}_STEP`, rows));
  const known = manifest.filter(({key}) => key !== 'format' && key !== 'version');
  const body = [
    `export type Step = ${[...steps.keys()].map(upper).join(' | ')};\n`,
    'const steps: Read<readonly Step[]> = stepsOf(() => STEPS);\n',
    ...kinds,
    `const STEPS: readonly Rows<Step>[] = [${[...steps.keys()].map((kind) => `${kind.toUpperCase()}_STEP`).join(', ')}];\n`,
    ...blocks,
    scriptRecord('ManifestEntry', 'MANIFEST', known, true),
  ].join('\n');
  const rows = ['count', 'dtype', 'extents', 'flag', 'index', 'integer', 'list', 'number', 'or', 'pair', 'plain', 'range', 'record', 'records', 'scalar', 'sets', 'size', 'stepsOf', 'text', 'when'];
  return `/** The fields of manifest.json. Written from ${TABLE} by tools/check/manifest.mjs: change that instead. */
import type {Num} from './fields.ts';
import {
  ${rows.filter((name) => new RegExp(`\\b${name}\\b[,()]`).test(body)).join(', ')}, type Read, type Rows,
} from './manifest_rows.ts';
import type {DType} from '../values/types.ts';

${body}`;
}

/** What a field is, for readers of the page. */
const PAGE_TYPES = {
  text: 'string', plain: 'name of a file', flag: 'boolean', dtype: 'element type', target: 'target', size: 'integer', number: 'number', range: 'number, 32 bits',
  scalar: 'number, 32 bits, may be negative', integer: 'number, may be negative', extents: 'list of extents', sets: 'list of [variable, number]', steps: 'list of steps',
};
function pageType({name, args}) {
  const power = (limit) => (limit > 65536 && Number.isInteger(Math.log2(limit)) ? `2^${Math.log2(limit)}` : Number(limit).toLocaleString('en-US'));
  if (name === 'count') return `${power(args[0])} to ${power(args[1])}`;
  if (name === 'index') return `index of \`${args[0]}\``;
  if (name === 'upto') return `0 to length of \`${args[0]}\``;
  if (name === 'span') return `two of 0 to length of \`${args[0]}\``;
  if (name === 'pair') return `two indices of \`${args[0]}\``;
  if (name === 'list') return `list of ${pageType(callOf(args[0])).replace(/^index /, 'indices ').replace(/^(string|integer|number)/, '$1s')}`;
  if (name === 'record') return plainName(args[0]).toLowerCase();
  if (['records', 'fed', 'known'].includes(name)) return `list of ${`${plainName(args[0]).toLowerCase()}s`.replace(/hs$/, 'hes')}`;
  return PAGE_TYPES[name];
}
function pagePresence({type, presence: {name, args: [arg]}}) {
  if (name === 'lenient' || name === 'unless') return arg === '-1' ? 'none' : arg === '""' ? 'empty' : arg;
  if (name === 'some') return isList(type) || type.name === 'steps' ? 'empty' : 'none';
  if (name === 'when') return arg === 'texture' ? 'linear memory' : 'textures';
  return isList(type) || type.name === 'extents' ? 'empty' : '';
}
export function pageOf({records, steps, manifest}) {
  const flat = new Set([...records.values()].flat().filter(({type}) => type.name === 'flat').map(({type}) => type.args[0]));
  const line = (prefix) => (row) => `| \`${prefix}${row.key}\` | ${pageType(row.type)} | ${pagePresence(row)} | ${row.doc} |`;
  const used = [...manifest, ...[...records.values()].flat()].filter(({type}) => ['record', 'records', 'fed', 'known'].includes(type.name));
  const placesOf = (name) => used.filter(({type}) => type.args[0] === name).map(({key, type}) => (type.name === 'record' ? (manifest.some((row) => row.key === key) ? `${key}.` : `run[].${key}.`) : `${key}[].`));
  const lines = manifest.map(line(''));
  for (const [name, rows] of records) if (!flat.has(name)) lines.push(...flattened(rows, records).map(line(placesOf(name).at(name === 'Port' ? 0 : -1))));
  for (const [, rows] of steps) lines.push(...rows.map(line('steps[].')));
  return `| field | value | absent | meaning |\n|---|---|---|---|\n${lines.join('\n')}\n`;
}

const pageWith = (table) => {
  const page = read(PAGE);
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${PAGE} has no ${BEGIN} ... ${END}`);
  return `${page.slice(0, from + BEGIN.length)}\n${pageOf(table)}${page.slice(to)}`;
};

const written = (table) => [[SCRIPT, scriptOf(table)], [PAGE, pageWith(table)]];

export const checkManifest = (table = manifestTable()) =>
  written(table).filter(([file, text]) => read(file) !== text).map(([file]) => `${file} is old: node tools/check/manifest.mjs --update`);

if (process.argv[1] === import.meta.filename) {
  if (process.argv.includes('--update')) for (const [file, text] of written(manifestTable())) writeFileSync(path.join(root, file), text);
  process.exit(report('manifest', checkManifest()) === false ? 1 : 0);
}
