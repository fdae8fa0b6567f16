// The examples' pages, in one folder that anything serves: node build.mjs [OUT [PAGE ...]].
// OUT/PAGE.html, PAGE.js and PAGE.css for each, index.html that lists them, and compiler.wasm, tuner.wasm, gguf.wasm and a small model, which all of
// them find there. The chat page has @gossamer/llm in OUT/llm and, after `make chat-model`, a model in OUT/chat-model.
import {copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {bundle, workersAsText} from '../runtime/build/bundle.mjs';
import {withServerNote} from '../runtime/build/server_note.mjs';

const here = import.meta.dirname;
const [out = join(here, 'dist'), ...chosen] = process.argv.slice(2);
const all = readdirSync(here).filter((name) => existsSync(join(here, name, 'main.ts')));
const pages = chosen.length > 0 ? chosen : all;

if (process.argv.length < 3) rmSync(out, {recursive: true, force: true});
mkdirSync(out, {recursive: true});
/** As in a page without a bundler: the published package in a folder of its own, with its worker and compiler. */
const publishedChat = {
  name: 'published-chat',
  setup({onResolve}) {
    onResolve({filter: /^@gossamer\/llm$/}, () => ({path: './llm/llm.js', external: true}));
  },
};
const files = (name) => Object.fromEntries(pages.map((page) => [page, join(here, page, name)]));
await bundle({
  entryPoints: files('main.ts'),
  format: 'esm',
  splitting: true,
  chunkNames: 'chunk-[hash]',
  outdir: out,
  plugins: [workersAsText, publishedChat],
});
await bundle({entryPoints: {...files('style.css'), index: join(here, 'style.css')}, outdir: out});
for (const page of ['', ...pages]) {
  const html = readFileSync(join(here, page, 'index.html'), 'utf8');
  writeFileSync(join(out, `${page || 'index'}.html`), withServerNote(html));
}
const wasm = process.env['GOSSAMER_COMPILER_WASM'] ?? join(here, '../compiler/dist/compiler.wasm');
for (const file of [wasm, join(dirname(wasm), 'tuner.wasm'), join(dirname(wasm), 'gguf.wasm')]) {
  if (existsSync(file)) copyFileSync(file, join(out, basename(file)));
  else console.log(`${basename(file)} is not built yet (make web): looked at ${file}`);
}
if (pages.includes('inspector')) {
  const page = join(here, '../inspector/dist/inspector.html');
  if (existsSync(page)) copyFileSync(page, join(out, 'inspector.template'));
  else console.log(`the inspector's file is not built yet (make web): looked at ${page}`);
}
// For pages that are given no model.
copyFileSync(join(here, '../../examples/digits/model.onnx'), join(out, 'digits.onnx'));
// Records that come with the compiler: found beside the scripts, too.
const records = join(here, '../compiler/dist/records');
if (existsSync(records)) cpSync(records, join(out, 'records'), {recursive: true});
if (pages.includes('chat')) {
  const llm = join(here, '../llm/dist');
  if (existsSync(join(llm, 'llm.js'))) cpSync(llm, join(out, 'llm'), {recursive: true, filter: (file) => !/\/(types|test)(\/|$)/.test(file.slice(llm.length))});
  else console.log(`@gossamer/llm is not built yet (make web): looked at ${llm}`);
  const model = join(here, '../../build/chat-model');
  if (existsSync(join(model, 'config.json'))) cpSync(model, join(out, 'chat-model'), {recursive: true});
}
