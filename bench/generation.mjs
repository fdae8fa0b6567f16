// Generation of text by a language model on WebGPU in Chromium, Gossamer and onnxruntime-web in turns: load, bytes of GPU buffers, prompts until
// the last row of the logits is read, tokens, calls a token, and the GPU's time by kernel.
//
//   node bench/generation.mjs --package FOLDER --model FOLDER [--prompts 16,64,256,1024] [--tokens 32] [--chained 256] [--again 3] [--rows 1024]
//       [--rounds 1] [--no-cache] [--profile 1024] [--parties gossamer,onnxruntime] [--without chromium-experimental]
//       [--peers node_modules] [--browser-path PATH] [--browser-args "..."] [--out FILE]
//
// --package: of `gossamer compile --target webgpu --state`, with --generate for chained tokens; --model: a folder with model.onnx, and model.onnx_data where weights are outside.
// --without: features of the adapter that neither party sees, by the beginnings of their names; by default those that browsers have behind flags alone.
import {existsSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {commandWords, findBrowser, openBrowser} from './lib/browser.mjs';
import {bench, root} from './lib/layout.mjs';
import {serve} from './lib/server.mjs';

const {values: given} = parseArgs({args: commandWords(), options: {
  package: {type: 'string'}, model: {type: 'string'},
  prompts: {type: 'string', default: '16,64,256,1024'},
  tokens: {type: 'string', default: '32'},
  chained: {type: 'string', default: '256'}, // tokens of generate(), where the package has it
  again: {type: 'string', default: '3'}, // prompts after the first
  rows: {type: 'string', default: '1024'}, // of the caches
  rounds: {type: 'string', default: '1'},
  profile: {type: 'string'}, // lengths of prompts
  parties: {type: 'string', default: 'gossamer,onnxruntime'},
  without: {type: 'string', default: 'chromium-experimental'}, // 'none': all features are there
  runtime: {type: 'string', default: join(root, 'web/runtime/dist')},
  peers: {type: 'string', default: join(bench, 'node_modules')},
  'no-cache': {type: 'boolean'}, // do not keep weights in the browser's cache
  limit: {type: 'string', default: '300'}, // seconds for a party
  'browser-path': {type: 'string'}, 'browser-args': {type: 'string', default: ''},
  out: {type: 'string'},
}});
const numbers = (text) => (text ? text.split(',').map(Number) : undefined);
const folders = {bench, peers: resolve(given.peers), 'now/runtime': resolve(given.runtime), package: resolve(given.package), model: resolve(given.model)};

async function turn(name) {
  let ended;
  const result = new Promise((resolve) => (ended = resolve));
  const job = {
    party: name, packages: 'package', model: 'model', external: existsSync(join(given.model, 'model.onnx_data')), rows: Number(given.rows), cache: given['no-cache'] ? false : undefined,
    prompts: numbers(given.prompts), tokens: Number(given.tokens), chained: Number(given.chained), again: Number(given.again), profile: numbers(given.profile), without: given.without.split(','),
  };
  const server = await serve(folders, {
    '/job': async () => job,
    '/progress': async (said) => console.log(JSON.stringify(said)),
    '/result': async (said) => ended(said),
  });
  const browser = openBrowser(given['browser-path'] ?? findBrowser(), `${server.origin}/bench/page/generation.html`, given['browser-args'].split(' ').filter(Boolean));
  const late = setTimeout(() => ended({party: name, problem: `took more than ${given.limit} s`}), 1000 * given.limit);
  const found = await Promise.race([result, browser.ended.then(() => ({party: name, problem: 'the browser ended'}))]);
  clearTimeout(late);
  await browser.close();
  server.close();
  return found;
}

const results = [];
for (let round = 0; round < Number(given.rounds); ++round) {
  for (const name of given.parties.split(',')) {
    const result = await turn(name);
    results.push(result);
    const {profiles, ...rest} = result;
    console.log(JSON.stringify({...rest, prompts: undefined, tokens: undefined}));
    for (const [what, {launches, kernel_ms, span_ms, kernels}] of Object.entries(profiles ?? {})) {
      console.log(`${name}, ${what}: ${launches} launches, ${kernel_ms.toFixed(2)} ms, from first to last ${span_ms.toFixed(2)} ms`);
      for (const kernel of kernels.slice(0, 14)) console.log(`  ${kernel.ms.toFixed(3)} ms  ${kernel.launches} x  ${kernel.name.slice(0, 150)}`);
    }
    if (given.out) writeFileSync(given.out, JSON.stringify(results, null, 1));
  }
}
