// What pipelines of Transformers.js take in a page on @gossamer/ort and on onnxruntime-web, on wasm with one thread:
//
//   node tests/transformersjs/measure.mjs [--only NAME,...] [--rounds 3] [--steady 30] [--target wasm] [--browser-args="..."]
//
// The first result counts from pipeline() to the end of the first call, in a new page that compiles its models. Steady state is the
// median of the calls after it. Both are medians of rounds, in which the two take turns. The table is that of web/ort/README.md.
import os from 'node:os';
import {parseArgs} from 'node:util';
import {CASES} from './cases.mjs';
import {OWN_ORT, peerOrt, withOwn, withPeer} from './install.mjs';
import {openPages} from './pages.mjs';
import {FORMS, seededCheckpoints} from './skeletons.mjs';

const {values: options} = parseArgs({options: {only: {type: 'string'}, rounds: {type: 'string', default: '3'}, steady: {type: 'string', default: '30'}, target: {type: 'string', default: 'wasm'}, 'browser-args': {type: 'string', default: ''}}});
const only = options.only?.split(',');
const models = {seeded: seededCheckpoints()};
const peer = withPeer();
const args = options['browser-args'].split(' ').filter(Boolean);
const pages = [await openPages(withOwn(), OWN_ORT, models, args), await openPages(peer, peerOrt(peer), models, args)];

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
const row = (...cells) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
const pair = ([own, theirs], digits) => [own.toFixed(digits), theirs.toFixed(digits), (own / theirs).toFixed(2)];

process.stdout.write(`${os.cpus()[0].model}, ${options.target}, one thread, milliseconds\n\n`);
row('pipeline', 'form', 'first result', 'onnxruntime-web', 'ratio', 'steady state', 'onnxruntime-web', 'ratio');
row(...Array(8).fill('---'));
for (const {name, checkpoint} of CASES) {
  if (only && !only.some((each) => name.includes(each))) continue;
  const dtype = FORMS[checkpoint] ?? 'fp32';
  const firsts = [[], []], steadies = [[], []];
  let refusal;
  for (let round = 0; round < Number(options.rounds) && !refusal; ++round) {
    for (const [at, each] of pages.entries()) {
      const {answers} = await each.ask({folder: '/seeded/', names: [name], dtype, device: options.target, fresh: true, threads: 1, steady: Number(options.steady)});
      const {load, first, steady, error} = answers[name];
      refusal ??= error;
      firsts[at].push(load + first);
      steadies[at].push(steady);
    }
  }
  if (refusal) row(name, dtype, refusal);
  else row(name, dtype, ...pair(firsts.map(median), 0), ...pair(steadies.map(median), 1));
}
const [own, theirs] = pages.map((each) => each.downloaded() / 1e6);
process.stdout.write(`\ndownload after gzip, MB: ${own.toFixed(2)}, onnxruntime-web ${theirs.toFixed(2)}\n`);
for (const each of pages) await each.close();
