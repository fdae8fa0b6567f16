// The pipelines of Transformers.js, without changes to it, on @gossamer/ort instead of ONNX Runtime, against onnxruntime-web.
//
//   node tests/transformersjs/suite.mjs [--all] [--form q8,q4] [--only NAME,...] [--target wasm,webgpu]    # --only memory: that alone; with --all, by longer texts
//
// It runs each pipeline in Node.js on wasm and four in a page on webgpu, on checkpoints that are filled from seeds (skeletons.mjs).
// --all: the exported checkpoints (export.py) in all forms, on both targets.
import {execFile} from 'node:child_process';
import {existsSync} from 'node:fs';
import path from 'node:path';
import {parseArgs, promisify} from 'node:util';
import {Tally} from '../tally.mjs';
import {CASES} from './cases.mjs';
import {declarationProblems, OUR_DECLARATIONS} from './declarations.mjs';
import {OWN_ORT, withOwn, withPeer} from './install.mjs';
import {difference, REFERENCES} from './judge.mjs';
import {memoryOfBrowsers, openPages} from './pages.mjs';
import {FORMS, seededCheckpoints, SUFFIXES} from './skeletons.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const exported = path.join(root, 'third_party/cache/transformersjs');
const {values: options} = parseArgs({options: {all: {type: 'boolean'}, form: {type: 'string'}, only: {type: 'string'}, target: {type: 'string'}}});
const listed = (text) => text?.split(',').filter(Boolean);

/** Pipelines of different kinds, which `make test` runs on webgpu too. */
const ON_WEBGPU = ['feature-extraction', 'image-classification', 'automatic-speech-recognition', 'text-generation, greedy', 'text-generation, a batch by GroupQueryAttention'];

/** Bytes of the scores that a generation reads: in each row 448 floats for each token of the prompt and each new one. */
const SCORES = {'text-generation, greedy': 4 * 448 * (7 + 24), 'text-generation, a batch by GroupQueryAttention': 2 * 4 * 448 * (7 + 12)};

const run = promisify(execFile);

async function inNode(folder, models, dtype, names) {
  const asked = JSON.stringify({folder, models, dtype, names});
  const {stdout} = await run(process.execPath, [path.join(import.meta.dirname, 'ask.mjs'), asked], {maxBuffer: 1 << 28, timeout: 600_000});
  return new Map(stdout.split('\n').filter((line) => line.startsWith('{"name"')).map((line) => JSON.parse(line)).map((answer) => [answer.name, answer]));
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
if (options.all && options.only !== 'memory' && !existsSync(exported)) {
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
  page ??= await openPages(own, OWN_ORT, {exported, seeded: seededCheckpoints()});
  const {answers, refused} = await page.ask({folder: models === exported ? '/exported/' : '/seeded/', names: drawn, dtype: form, device: 'webgpu'});
  if (drawn.every((name) => /does not support fp16/.test(answers[name].error))) tally.skip(`${form}, webgpu`, 'Transformers.js refuses it: this adapter has no shader-f16');
  else for (const name of drawn) judge('webgpu', name, answers[name]);
  tally.record(`a page asks no other server, ${form}`, refused);
  for (const [name, bytes] of Object.entries(SCORES)) {
    const {moved} = answers[name] ?? {};
    if (moved) tally.record(`caches of keys and values stay on the GPU, ${name}, ${form}`, moved.copied <= bytes && moved.mapped <= bytes ? [] : `${moved.copied} bytes were copied and ${moved.mapped} mapped; the scores are ${bytes}`);
  }
}

/**
 * Generations after which a page's memory no longer grows by itself: engines compile hot code and collect garbage late. What 20 more add
 * may be 8 MB. A step that kept its caches would add 60 KB each time. V8 keeps up to 50 MB of garbage from many steps, more at one time than
 * at another, so long texts are measured in `rounds`: the least of as many readings counts, before and after.
 */
const MEMORY = {...(options.all ? {warm: 100, rounds: 3} : {warm: 24, rounds: 1}), count: 20, most: 8e6, tokens: options.all ? {wasm: 256, webgpu: 256} : {wasm: 32, webgpu: 8}};

/** Bytes by which a page grows in MEMORY.count generations, of which each keeps `leak` bytes. */
const grown = (device, tokens, leak) =>
  page.visit(async (call) => {
    const asked = {folder: '/seeded/', device, tokens, leak};
    const {texts: [text]} = await call('generate', {...asked, count: MEMORY.warm});
    const readings = [memoryOfBrowsers()];
    while (readings.length < 2 * MEMORY.rounds) {
      const {texts, specialized} = await call('generate', {...asked, count: MEMORY.count});
      if (texts.length !== 1 || texts[0] !== text) throw new Error('the text changes from one generation to the next');
      if (specialized.length > 0) throw new Error(`the model is compiled for the lengths of a generation: ${JSON.stringify(specialized)}`);
      readings.push(memoryOfBrowsers());
    }
    return (Math.min(...readings.slice(MEMORY.rounds)) - Math.min(...readings.slice(0, MEMORY.rounds))) / MEMORY.rounds;
  });

if (!listed(options.only) || listed(options.only).includes('memory')) {
  page ??= await openPages(own, OWN_ORT, {exported, seeded: seededCheckpoints()});
  for (const target of targets) {
    const tokens = MEMORY.tokens[target];
    const bytes = await grown(target, tokens, 0);
    tally.record(`memory after ${MEMORY.count} generations of ${tokens} tokens, ${target}`, bytes <= MEMORY.most ? [] : `it grows by ${(bytes / 1e6).toFixed(1)} MB; ${MEMORY.most / 1e6} MB are allowed`);
  }
  tally.record('memory that generations keep is seen', (await grown(targets[0], 8, MEMORY.most / 10)) > MEMORY.most ? [] : 'it is not');
}
/** Bytes after gzip that a page fetches of @gossamer/ort. */
const MOST_FETCHED = 1.2e6;
if (page) tally.record('the download of a page', page.downloaded() <= MOST_FETCHED ? [] : `${page.downloaded()} bytes after gzip; ${MOST_FETCHED} are allowed`);
await page?.close();
tally.end();
