// The pipelines of Transformers.js, without changes to it, on @gossamer/ort instead of ONNX Runtime, against onnxruntime-web.
//
//   node tests/transformersjs/suite.mjs [--all] [--form q8,q4] [--only NAME,...] [--target wasm,webgpu]
//
// It runs each pipeline in Node.js on wasm and four in a page on webgpu, on checkpoints that are filled from seeds (skeletons.mjs).
// --all: the exported checkpoints (export.py) in all forms, on both targets.
import {execFile} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {parseArgs, promisify} from 'node:util';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {folderHandler} from '../../tools/demo/serve.mjs';
import {bundle} from '../../web/runtime/build/bundle.mjs';
import {Tally} from '../tally.mjs';
import {CASES} from './cases.mjs';
import {declarationProblems, OUR_DECLARATIONS} from './declarations.mjs';
import {withOwn, withPeer} from './install.mjs';
import {difference, REFERENCES} from './judge.mjs';
import {FORMS, seededCheckpoints, SUFFIXES} from './skeletons.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const exported = path.join(root, 'third_party/cache/transformersjs');
const {values: options} = parseArgs({options: {all: {type: 'boolean'}, form: {type: 'string'}, only: {type: 'string'}, target: {type: 'string'}}});
const listed = (text) => text?.split(',').filter(Boolean);

/** Pipelines of different kinds, which `make test` runs on webgpu too. */
const ON_WEBGPU = ['feature-extraction', 'image-classification', 'automatic-speech-recognition', 'text-generation, greedy', 'text-generation, a batch by GroupQueryAttention'];

/** Bytes of the scores that a greedy generation reads: 448 floats for each token of the prompt and each new one. */
const SCORES = 4 * 448 * (7 + 24);

const run = promisify(execFile);

async function inNode(folder, models, dtype, names) {
  const asked = JSON.stringify({folder, models, dtype, names});
  const {stdout} = await run(process.execPath, [path.join(import.meta.dirname, 'ask.mjs'), asked], {maxBuffer: 1 << 28, timeout: 600_000});
  return new Map(stdout.split('\n').filter((line) => line.startsWith('{"name"')).map((line) => JSON.parse(line)).map((answer) => [answer.name, answer]));
}

/** A page with the bundle, and the folders of models that it reads. */
async function openPage(own) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'gossamer-transformersjs-'));
  await bundle({
    entryPoints: {page: path.join(import.meta.dirname, 'page.mjs')},
    format: 'esm',
    outdir: folder,
    plugins: [{
      name: 'transformers.js',
      setup(build) {
        build.onResolve({filter: /^onnxruntime-(web|common)/}, () => ({path: '/ort/ort.js', external: true}));
        build.onResolve({filter: /^@huggingface\/transformers$/}, () => ({path: path.join(own, 'node_modules/@huggingface/transformers/dist/transformers.web.js')}));
      },
    }],
  });
  const handlers = {'': folderHandler(folder), ort: folderHandler(path.join(root, 'web/ort/dist')), exported: folderHandler(exported), seeded: folderHandler(seededCheckpoints())};
  const html = folderHandler(import.meta.dirname);
  const server = createServer((request, response) => {
    const {pathname} = new URL(request.url, 'http://x');
    const [, first, rest] = /^\/([^/]*)(.*)$/.exec(pathname);
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    if (pathname === '/page.html') html(pathname, request, response);
    else if (rest && handlers[first]) handlers[first](rest, request, response);
    else handlers[''](pathname, request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await startBrowser();
  const close = async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, {recursive: true});
  };
  return {
    close,
    async ask(asked) {
      const page = await browser.newPage();
      try {
        await page.goto(`http://localhost:${server.address().port}/page.html`);
        for (let left = 600; left > 0 && !(await page.evaluate('"ask" in globalThis')); --left) await new Promise((resolve) => setTimeout(resolve, 100));
        return await page.call('ask', asked);
      } finally {
        await page.close();
      }
    },
  };
}

/** [{models, form, names}] that run. */
function plans() {
  const only = listed(options.only);
  const chosen = CASES.filter(({name}) => !only || only.some((each) => name.includes(each)));
  const models = seededCheckpoints();
  const namesOf = (cases) => cases.map(({name}) => name);
  const isWritten = ({checkpoint}) => checkpoint === 'grouped';
  if (options.all) {
    const forms = listed(options.form) ?? Object.keys(SUFFIXES);
    const plans = forms.map((form) => ({models: exported, form, names: namesOf(chosen.filter((each) => !isWritten(each)))}));
    return [...plans, {models, form: 'fp32', names: namesOf(chosen.filter(isWritten))}].filter(({names}) => names.length > 0);
  }
  const formOf = ({checkpoint}) => FORMS[checkpoint] ?? 'fp32';
  const forms = new Set(chosen.map(formOf));
  return [...forms].map((form) => ({models, form, names: namesOf(chosen.filter((each) => formOf(each) === form))}));
}

const tally = new Tally();
const targets = listed(options.target) ?? ['wasm', 'webgpu'];
if (options.all && !existsSync(exported)) {
  tally.skip('the exported checkpoints', 'they are not generated, because PyTorch takes 6 GB of disk; run `make zoo`');
  tally.end();
}
let peer, own;
try {
  [peer, own] = [withPeer(), withOwn()];
} catch (problem) {
  const said = String(problem.stderr ?? problem.stack);
  if (!/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ENOTCACHED|ETIMEDOUT/.test(said)) throw problem;
  tally.skip('Transformers.js', `it cannot be installed here: ${said.trim().split('\n')[0]}`);
  tally.end();
}
const theirs = path.join(peer, 'node_modules/onnxruntime-common/dist/esm/index.d.ts');
tally.record('code for the declarations of onnxruntime-common compiles', declarationProblems(theirs, OUR_DECLARATIONS));
tally.record('and does not for those of another package', declarationProblems(theirs, path.join(root, 'web/runtime/dist/types/runtime/src/index.d.ts')).length > 50 ? [] : 'nothing is missing');
let page;
for (const {models, form, names} of plans()) {
  const wanted = await inNode(peer, `${models}/`, (options.all && REFERENCES[form]) || form, names);
  const judge = (target, name, {values, error}) => {
    const reference = wanted.get(name);
    const refusal = reference?.values ? undefined : `onnxruntime-web refuses it: ${reference?.error.slice(0, 200)}`;
    tally.record(`${name}, ${form}, ${target}`, refusal ?? error ?? difference(reference.values, values, form, target));
  };
  if (targets.includes('wasm')) {
    const made = await inNode(own, `${models}/`, form, names);
    for (const name of names) judge('wasm', name, made.get(name) ?? {error: 'no answer'});
  }
  const drawn = options.all ? names : names.filter((name) => ON_WEBGPU.includes(name));
  if (!targets.includes('webgpu') || drawn.length === 0) continue;
  page ??= await openPage(own);
  const {answers, refused} = await page.ask({folder: models === exported ? '/exported/' : '/seeded/', names: drawn, dtype: form, device: 'webgpu'});
  if (drawn.every((name) => /does not support fp16/.test(answers[name].error))) tally.skip(`${form}, webgpu`, 'Transformers.js refuses it: this adapter has no shader-f16');
  else for (const name of drawn) judge('webgpu', name, answers[name]);
  tally.record(`a page asks no other server, ${form}`, refused);
  const {moved} = answers['text-generation, greedy'] ?? {};
  if (moved) tally.record(`caches of keys and values stay on the GPU, ${form}`, moved.copied <= SCORES && moved.mapped <= SCORES ? [] : `${moved.copied} bytes were copied and ${moved.mapped} mapped; the scores are ${SCORES}`);
}
await page?.close();
tally.end();
