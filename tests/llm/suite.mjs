// Tokenizers and chat templates of @gossamer/llm against Python's tokenizers and jinja2: small tokenizers of each kind that expected.py
// trains, and the templates of this folder, on random texts and conversations. Random tokens that a form of answers allows are texts of that form.
//
//   node tests/llm/suite.mjs [--all]      --all: 100,000 strings instead of 2,400
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {readdirSync, readFileSync, rmSync} from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {bundle} from '../../web/runtime/build/bundle.mjs';
import {once} from '../once.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const all = process.argv.includes('--all');
const strings = all ? 100_000 : 2400;
const tally = new Tally();

execFileSync(path.join(root, 'tools/setup/llm.sh'), {stdio: ['ignore', 'ignore', 'inherit']});
const sources = ['texts.py', 'expected.py', ...readdirSync(path.join(import.meta.dirname, 'templates')).map((name) => `templates/${name}`)];
const key = [`${strings}`, ...[...sources.map((name) => path.join(import.meta.dirname, name)), path.join(root, 'tools/setup/llm_requirements.txt')]
  .map((file) => createHash('sha256').update(readFileSync(file)).digest('hex'))].join();
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const folder = once(path.join(build, all ? 'llm_expected_all' : 'llm_expected'), key, (part) =>
  execFileSync(path.join(root, 'third_party/cache/llm/bin/python'), [path.join(import.meta.dirname, 'expected.py'), part, `${strings}`], {env: {...process.env, PYTHONDONTWRITEBYTECODE: '1'}, stdio: ['ignore', 'ignore', 'inherit']}));

const outfile = path.join(build, `llm_texts.${process.pid}.mjs`);
await bundle({stdin: {contents: `export {Tokenizer} from './tokenizer.ts'; export {ChatTemplate} from './template.ts'; export {Structures} from './grammar/structure.ts';`, resolveDir: path.join(root, 'web/llm/src')}, format: 'esm', platform: 'node', minify: false, outfile});
const {Tokenizer, ChatTemplate, Structures} = await import(pathToFileURL(outfile).href);
rmSync(outfile);

const read = (name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const said = (value) => JSON.stringify(value)?.slice(0, 400);

/** Counts what differs; the first few are told. */
function compare(what, rows, differences) {
  const wrong = rows.flatMap((row) => differences(row));
  tally.record(`${what} (${rows.length})`, wrong.length === 0 ? undefined : [`${wrong.length} differ`, ...wrong.slice(0, 3)]);
}

for (const name of names.filter((each) => each.endsWith('.rows.json'))) {
  const kind = name.replace('.rows.json', '');
  const tokenizer = new Tokenizer(read(`${kind}.json`), {});
  const rows = read(name);
  // Unigram takes the likeliest tokens: the same ones in another order are as likely.
  const ordered = (ids) => String(kind === 'unigram' ? ids.toSorted((a, b) => a - b) : ids);
  compare(`${kind}: tokens of texts`, rows, ([text, ids]) => {
    const has = tokenizer.encode(text);
    return ordered(has) === ordered(ids) && tokenizer.decode(has) === tokenizer.decode(ids) ? [] : [`${said(text)} is\n${said(has)}, not\n${said(ids)}`];
  });
  compare(`${kind}: texts of tokens`, rows.flatMap(([, ids, text, others, other]) => [[ids, text], [others, other]]), ([ids, text]) => {
    const has = tokenizer.decode(ids);
    return has === text ? [] : [`${said(ids)} is\n${said(has)}, not\n${said(text)}`];
  });
}
/** Forms with what they say by JavaScript's own means. A tokenizer of words puts spaces where JSON has none. */
const FORMS = {
  json: {
    format: {type: 'json_schema', json_schema: {name: 'row', schema: {type: 'object', properties: {name: {type: 'string', maxLength: 10}, count: {type: 'integer', minimum: 3, maximum: 1000}}, required: ['name', 'count']}}},
    isOf: (text) => {
      const {name, count, ...rest} = JSON.parse(text);
      return [...name].length <= 10 && Number.isInteger(count) && count >= 3 && count <= 1000 && Object.keys(rest).length === 0;
    },
  },
  words: {format: {type: 'regex', pattern: ' ?[a-z]{3,8}( [a-z]+[.!]?){2}'}, isOf: (text) => /^ ?[a-z]{3,8}( [a-z]+[.!]?){2}$/.test(text)},
};

/** Random tokens that a form allows, as text; undefined where there is no end. */
function textOf(structures, tokenizer, words, format, random) {
  const constraint = structures.constraint({format}, 'response_format');
  const ids = [];
  while (ids.length < 1000) {
    const bits = constraint.allowed();
    if (!bits || (constraint.isWhole && random() < 0.5)) return tokenizer.decode(ids);
    const allowed = Array.from({length: words}, (_, id) => id).filter((id) => (bits[id >> 5] >> (id & 31)) & 1);
    const id = allowed[Math.floor(random() * allowed.length)];
    constraint.accept(id);
    ids.push(id);
  }
  return undefined;
}

for (const name of names.filter((each) => each.endsWith('.rows.json'))) {
  const kind = name.replace('.rows.json', '');
  const file = read(`${kind}.json`);
  // The trainer wants to hear of single bytes as special tokens; models' files have them as others.
  for (const token of file.added_tokens) if (/^<0x/.test(token.content)) token.special = false;
  const tokenizer = new Tokenizer(file, {});
  // Some more than the tokenizer has, as padded vocabularies are.
  const words = 1 + 16 + Math.max(...file.added_tokens.map(({id}) => id), ...(Array.isArray(file.model.vocab) ? [file.model.vocab.length] : Object.values(file.model.vocab)));
  const structures = new Structures(tokenizer, words, []);
  compare(`${kind}: texts of single tokens`, Array.from({length: words}, (_, id) => id), (id) => {
    if (!tokenizer.isShown(id) || tokenizer.bytesOf(id)) return [];
    const [alone, twice] = [tokenizer.joined([id]), tokenizer.joined([id, id])];
    const [piece, first] = [tokenizer.pieceOf(id).text, new TextDecoder('utf-8', {ignoreBOM: true}).decode(tokenizer.firstBytesOf(id))];
    return piece === twice.slice(alone.length) && first === alone ? [] : [`${id}: ${said([piece, first])}, not ${said([twice.slice(alone.length), alone])}`];
  });
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (const [what, {format, isOf}] of Object.entries(FORMS)) {
    if (what === 'json' && kind === 'wordpiece') {
      const problem = await Promise.resolve().then(() => structures.constraint({format}, 'response_format')).then(() => 'it was taken', ({message}) => (/vocabulary lacks/.test(message) ? undefined : message));
      tally.record(`${kind}: ${what} cannot be written`, problem);
      continue;
    }
    compare(`${kind}: random texts of a form, ${what}`, Array.from({length: all ? 2000 : 100}), () => {
      const text = textOf(structures, tokenizer, words, format, random);
      return text !== undefined && isOf(text) ? [] : [said(text)];
    });
  }
}
for (const name of names.filter((each) => each.endsWith('.prompts.json'))) {
  const kind = name.replace('.prompts.json', '');
  const template = new ChatTemplate(readFileSync(path.join(import.meta.dirname, 'templates', `${kind}.jinja`), 'utf8'), {});
  compare(`${kind}: prompts`, read(name), ([{messages, tools, ...variables}, prompt, problem]) => {
    let has;
    try {
      has = template.prompt(messages, tools, variables);
    } catch ({message}) {
      return problem !== undefined && message.includes(problem) ? [] : [`${message}, not ${said(problem ?? prompt)}`];
    }
    if (has === prompt) return [];
    const at = [...has].findIndex((_, place) => has[place] !== prompt?.[place]);
    return [`at ${at}: ${said(has.slice(Math.max(0, at - 40)))}, not\n${said(problem ?? prompt.slice(Math.max(0, at - 40)))}`];
  });
}
tally.end();
