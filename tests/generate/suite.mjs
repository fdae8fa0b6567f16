// generate() of run times: tokens are those of a loop of runs whose logits are read, draws have the distribution that filters say, and ends
// leave the state as it should be. On wasm in Node, and on webgpu and webgl in Chromium.
//
//   node tests/generate/suite.mjs
import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {opened, serve} from '../npm/forms.mjs';
import {llama} from '../state/llama.mjs';
import {Tally} from '../tally.mjs';
import {biased, batches, caches, constraintOf, draws, ends, guesses, logprobs, loop, penalised, PROMPT, restricted, ruleNames, SAMPLED, textOf} from './use.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-generate-'));
const tally = new Tally();
const TOKENS = 24;
const DRAWS = 2000;
const PENALTIES = {repetitionPenalty: 1.3, presencePenalty: 0.2, frequencyPenalty: 0.1};

const windowed = {words: 1000, window: 6};
const models = {speaker: llama({words: 1000}), small: llama({layers: 1, hidden: 64, heads: 2, groups: 1, inner: 64, words: 160}),
  windowed: llama(windowed), sliding: llama({...windowed, slides: true}), streams: llama({words: 1000, streams: true}),
  masked: llama({words: 1000, mask: 'f32'}), hidden: llama({words: 1000, mask: 'bool'})};
const compile = (name, target, ...options) => {
  const out = path.join(work, `${name}_${target}${options.length ? (options.includes('--speculate') ? '_guesses' : '') : '_plain'}`);
  const {status, stderr} = spawnSync(gossamer, ['compile', path.join(work, `${name}.onnx`), '--target', target, '--state', ...options, '--output', out], {encoding: 'utf8', timeout: 240_000});
  tally.record(`${name} compiles for ${target} ${options.join(' ')}`, status === 0 ? undefined : stderr);
  return pathToFileURL(out + path.sep);
};
for (const [name, {file}] of Object.entries(models)) writeFileSync(path.join(work, `${name}.onnx`), file);

const lib = path.join(root, 'web/runtime/dist');
const {load} = await import(pathToFileURL(path.join(lib, 'runtime.js')).href);
const {GenerationCache} = await import(pathToFileURL(path.join(lib, 'generate/generate.js')).href);
const open = (from) => load(from, {device: 'wasm', state: true, threads: 1});
const same = (has, wanted) => (String(has) === String(wanted) ? undefined : `${has}\n${wanted}`);

const speaker = await open(compile('speaker', 'wasm', '--generate'));
const said = await loop(speaker, TOKENS);
tally.record('greedy tokens in Node', same(await textOf(speaker, {maxTokens: TOKENS}), said));
for (const promptChunk of [1, 2]) tally.record(`greedy tokens in Node, the prompt by ${promptChunk}`, same(await textOf(speaker, {maxTokens: TOKENS, promptChunk}), said));
const careful = await loop(speaker, TOKENS, penalised(PENALTIES));
for (const promptChunk of [1024, 2]) tally.record(`penalties in Node, the prompt by ${promptChunk}`, same(await textOf(speaker, {maxTokens: TOKENS, ...PENALTIES, promptChunk}), careful));
// Of the tokens of the greedy text the first is excluded, and others are likelier.
const BIAS = {logitBias: {[said[0]]: -100, [said[1]]: -0.5, 0: 0.3, 150: 0.25, 999: 0.2}};
const inclined = await loop(speaker, TOKENS, biased(BIAS));
tally.record('biases in Node', same(await textOf(speaker, {maxTokens: TOKENS, ...BIAS}), inclined) ?? (inclined.includes(said[0]) ? 'the excluded token was chosen' : undefined));
tally.record('a bias of 100 in Node', same(await textOf(speaker, {maxTokens: 4, temperature: 1, logitBias: {7: 100}}), [7, 7, 7, 7]));
for (const [what, problem] of Object.entries({none: undefined, ...(await ends(speaker, {said, chains: false}))})) tally.record(`ends in Node: ${what}`, problem);
tally.record('log-probabilities in Node', await logprobs(speaker, said));
const restrictedTexts = {};
for (const rule of ruleNames) {
  restrictedTexts[rule] = await loop(speaker, TOKENS, restricted(rule));
  for (const promptChunk of [1024, 2]) {
    tally.record(`${rule} in Node, the prompt by ${promptChunk}`, same(await textOf(speaker, {maxTokens: TOKENS, promptChunk, constraint: constraintOf(speaker, rule)}), restrictedTexts[rule]));
  }
  tally.record(`${rule} in Node ends`, same(await textOf(speaker, {constraint: constraintOf(speaker, rule, 9)}), restrictedTexts[rule].slice(0, 9)));
  restrictedTexts[`${rule}, drawn`] = await textOf(speaker, {maxTokens: TOKENS, ...SAMPLED['all filters'], seed: 7, constraint: constraintOf(speaker, rule)});
  const stopped = await textOf(speaker, {stopTokens: [restrictedTexts[rule][4]], constraint: constraintOf(speaker, rule)});
  tally.record(`${rule} in Node, until a stop token`, same(stopped, restrictedTexts[rule].slice(0, restrictedTexts[rule].indexOf(restrictedTexts[rule][4]))));
  let rows = 0;
  await textOf(speaker, {maxTokens: 6, constraint: constraintOf(speaker, rule), topLogprobs: 1, onLogprobs: ({logprob}) => (rows += Number(Number.isFinite(logprob)))});
  tally.record(`${rule} in Node with log-probabilities`, same(rows, 6));
}
tally.record('a mask of another vocabulary', await textOf(speaker, {constraint: {allowed: () => new Int32Array(3)}}).then((text) => `it gave ${text}`, ({message}) => (/3 elements; 32 are expected/.test(message) ? undefined : message)));
tally.record('a mask without tokens', await textOf(speaker, {constraint: {allowed: () => new Int32Array(32)}}).then((text) => `it gave ${text}`, ({message}) => (/allows no token/.test(message) ? undefined : message)));
const texts = {};
for (const [name, options] of Object.entries(SAMPLED)) {
  texts[name] = await textOf(speaker, {...options, seed: 7, maxTokens: TOKENS});
  tally.record(`one seed, one text: ${name}`, same(await textOf(speaker, {...options, seed: 7, maxTokens: TOKENS}), texts[name]));
  const other = await textOf(speaker, {...options, seed: 8, maxTokens: TOKENS});
  tally.record(`two seeds, two texts: ${name}`, String(other) === String(texts[name]) ? String(other) : undefined);
}
for (const [what, problem] of Object.entries({none: undefined, ...(await batches(speaker, GenerationCache))})) tally.record(`several texts in Node: ${what}`, problem);
// Prompts that repeat, and one that does not.
const plain = [];
for (const prompt of [PROMPT, [...PROMPT, 9, 8, 7, ...PROMPT, 9, 8], Array.from({length: 40}, (_, at) => [11, 12, 13, 14, 600][at % 5])]) {
  plain.push({prompt, text: await textOf(speaker, {maxTokens: 40}, prompt)});
}
tally.record('guesses of a package without them', await textOf(speaker, {promptLookupNumTokens: 3}).then((text) => `it gave ${text}`, ({message}) => (/compile the model with `speculate`/.test(message) ? undefined : message)));
const guesser = await open(compile('speaker', 'wasm', '--generate', '--speculate'));
for (const [what, problem] of Object.entries({none: undefined, ...(await guesses(guesser, plain))})) tally.record(`guesses in Node: ${what}`, problem);
for (const [what, problem] of Object.entries({none: undefined, ...(await ends(guesser, {said, chains: false}))})) tally.record(`ends in Node of a package that can guess: ${what}`, problem);
guesser.dispose();

const small = await open(compile('small', 'wasm', '--generate'));
const others = new GenerationCache();
await textOf(small, {maxTokens: 2, cache: others});
const othersFile = await others.save();
for (const [what, problem] of Object.entries({none: undefined, ...(await caches(speaker, GenerationCache, {cuts: true, others: othersFile}))})) tally.record(`caches in Node: ${what}`, problem);
speaker.dispose();

for (const [name, {repetitionPenalty: _, ...options}] of Object.entries(SAMPLED)) tally.record(`draws in Node: ${name}`, await draws(small, options, DRAWS));
tally.record('draws of every third token in Node', await draws(small, {temperature: 0.9}, DRAWS, 'every third token'));
tally.record('draws of every third token in Node, filtered', await draws(small, {temperature: 0.9, topK: 20, topP: 0.9}, DRAWS, 'every third token'));
small.dispose();

// A cache of the window alone gives the text of a cache of everything.
const [seen, drawn] = [[], []];
const CUTS = {windowed: true, sliding: false}; // whether a cache can be shortened
for (const name of ['windowed', 'sliding', 'streams', 'masked', 'hidden']) {
  const model = await open(compile(name, 'wasm', '--generate'));
  seen.push(await textOf(model, {maxTokens: TOKENS}));
  drawn.push(await textOf(model, {maxTokens: TOKENS, temperature: 1.2, seed: 5}));
  const problems = !(name in CUTS) ? {} : await caches(model, GenerationCache, {cuts: CUTS[name], others: othersFile});
  for (const [what, problem] of Object.entries({none: undefined, ...problems})) tally.record(`caches of ${name} in Node: ${what}`, problem);
  model.dispose();
}
tally.record('a cache that slides', same(seen[1], seen[0]) ?? (String(seen[0]) === String(said) ? 'the window changes nothing' : undefined));

// Draws differ from place to place though the cache no longer grows.
tally.record('draws with a cache that slides', same(drawn[1], drawn[0]));
tally.record('positions in time, height and width', same(seen[2], said));
tally.record('a mask of floats for each token', same(seen[3], said));
tally.record('a mask of booleans for each token', same(seen[4], said));

const chooseless = await open(compile('small', 'wasm'));
tally.record('a package without the choice of tokens', await textOf(chooseless, {}).then((text) => `it gave ${text}`, ({message}) => (/compile the model with `generate`/.test(message) ? undefined : message)));
chooseless.dispose();

for (const target of ['webgpu', 'webgl']) compile('speaker', target, '--generate');
compile('speaker', 'webgpu', '--generate', '--speculate');
copyFileSync(path.join(import.meta.dirname, 'use.mjs'), path.join(work, 'use.js'));
writeFileSync(path.join(work, 'index.html'), `<!doctype html><script type="module">
import {load} from '/lib/runtime.js';
import {GenerationCache} from '/lib/generate/generate.js';
import * as use from './use.js';
const loaded = {};
const told = (body) => ({device = 'webgpu', form = '', ...given}) =>
  (loaded[device + form] ??= load('/files/speaker_' + device + form + '/', {device, state: true, stateRows: 128})).then((model) => body(model, given)).catch((problem) => ({error: String(problem.stack)}));
globalThis.text = told((model, {options}) => use.textOf(model, options));
globalThis.restricted = told((model, {rule, options}) => use.textOf(model, {...options, constraint: use.constraintOf(model, rule)}));
globalThis.ends = told(use.ends);
globalThis.batches = told((model, {most}) => use.batches(model, GenerationCache, most));
globalThis.guesses = told((model, {plain}) => use.guesses(model, plain));
globalThis.keeps = told((model, {others, cuts}) => use.caches(model, GenerationCache, {cuts, others: Uint8Array.from(others)}));
globalThis.logprobs = told(async (model, {said}) => ({problem: await use.logprobs(model, said)}));
// What a step of many asks of WebGPU, in the middle of a text.
globalThis.asks = told(async (model, {tokens}) => {
  const counts = {createBindGroup: 0, createBuffer: 0, mapAsync: 0, submit: 0, dispatchWorkgroups: 0};
  const kept = [];
  for (const [of, name] of [[GPUDevice, 'createBindGroup'], [GPUDevice, 'createBuffer'], [GPUBuffer, 'mapAsync'], [GPUQueue, 'submit'], [GPUComputePassEncoder, 'dispatchWorkgroups']]) {
    const was = of.prototype[name];
    kept.push(() => (of.prototype[name] = was));
    of.prototype[name] = function (...given) {
      ++counts[name];
      return was.apply(this, given);
    };
  }
  let [at, before] = [0, undefined];
  for await (const id of model.generate(use.PROMPT, {maxTokens: 2 * tokens, ahead: 8})) {
    if (++at === tokens) before = {...counts};
    if (at === 2 * tokens - 10) break;
  }
  for (const undo of kept) undo();
  const steps = tokens - 10;
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, (count - before[name]) / steps]));
});
</script>`);
const server = await serve(work, work, {also: {lib}});
const browser = await startBrowser();
try {
  // One tab: software compiles the kernels of a model for ten seconds.
  const tab = await opened(browser, `${server.address}app/`, 'asks');
  const ask = (name, more) => tab.call(name, more);
  const check = async (what, options, wanted, device = 'webgpu') => {
    const text = await ask('text', {device, options: {maxTokens: wanted.length, ...options}});
    tally.record(`${what} on ${device}`, text.error ?? same(text, wanted));
  };
  await check('greedy tokens', {}, said);
  await check('greedy tokens, each read first', {ahead: 0}, said);
  await check('greedy tokens, 16 ahead', {ahead: 16}, said);
  await check('greedy tokens, the prompt by 2', {promptChunk: 2}, said);
  for (const device of ['webgpu', 'webgl']) {
    const {error, problem} = await ask('logprobs', {device, said: said.slice(0, 8)});
    tally.record(`log-probabilities on ${device}`, error ?? problem);
  }
  await check('penalties', PENALTIES, careful);
  await check('biases', BIAS, inclined);
  await check('penalties, the prompt by 1', {...PENALTIES, promptChunk: 1}, careful);
  for (const [name, options] of Object.entries(SAMPLED)) await check(name, {...options, seed: 7}, texts[name]);
  for (const device of ['webgpu', 'webgl']) {
    for (const rule of ruleNames) {
      const wanted = restrictedTexts[rule].slice(0, device === 'webgpu' ? TOKENS : 8);
      const text = await ask('restricted', {device, rule, options: {maxTokens: wanted.length}});
      tally.record(`${rule} on ${device}`, text.error ?? same(text, wanted));
      const drawn = await ask('restricted', {device, rule, options: {...SAMPLED['all filters'], seed: 7, maxTokens: wanted.length}});
      tally.record(`${rule}, drawn on ${device}`, drawn.error ?? same(drawn, restrictedTexts[`${rule}, drawn`].slice(0, wanted.length)));
    }
  }
  for (const [what, problem] of Object.entries({none: undefined, ...(await ask('ends', {said, chains: true}))})) tally.record(`ends on webgpu: ${what}`, problem);
  for (const device of ['webgpu', 'webgl']) {
    const problems = await ask('keeps', {device, cuts: device === 'webgpu', others: [...othersFile]});
    for (const [what, problem] of Object.entries({none: undefined, ...problems})) tally.record(`caches on ${device}: ${what}`, problem);
  }
  for (const [device, most] of [['webgpu', 8], ['webgl', 5]]) {
    const problems = await ask('batches', {device, most});
    for (const [what, problem] of Object.entries({none: undefined, ...problems})) tally.record(`several texts on ${device}: ${what}`, problem);
  }
  const guessed = await ask('guesses', {form: '_guesses', plain: plain.slice(1)});
  for (const [what, problem] of Object.entries({none: undefined, ...guessed})) tally.record(`guesses on webgpu: ${what}`, problem);
  await check('greedy tokens', {}, said.slice(0, 8), 'webgl');
  await check('all filters', {...SAMPLED['all filters'], seed: 7}, texts['all filters'].slice(0, 8), 'webgl');
  const asks = await ask('asks', {tokens: 50});
  console.log(`a step on webgpu: ${JSON.stringify(asks)}`);
  // Layers as tests/state/suite.mjs counts them; embedding, mask and scores; the choice of a token.
  const most = models.speaker.layers * 8 + 3 + 2;
  tally.record('launches of a token', asks.error ?? (asks.dispatchWorkgroups <= most ? undefined : `${asks.dispatchWorkgroups}, not ${most}`));
  tally.record('a step makes no bind group and no buffer', asks.error ?? (asks.createBindGroup === 0 && asks.createBuffer === 0 ? undefined : JSON.stringify(asks)));
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  await browser.close();
  server.close();
  rmSync(work, {recursive: true});
}
tally.end();
