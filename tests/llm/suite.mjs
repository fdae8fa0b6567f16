// Tokenizers and chat templates of @gossamer/llm against Python's tokenizers and jinja2: small tokenizers of each kind that expected.py
// trains, and the templates of this folder, on random texts and conversations.
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
await bundle({stdin: {contents: `export {Tokenizer} from './tokenizer.ts'; export {ChatTemplate} from './template.ts';`, resolveDir: path.join(root, 'web/llm/src')}, format: 'esm', platform: 'node', minify: false, outfile});
const {Tokenizer, ChatTemplate} = await import(pathToFileURL(outfile).href);
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
