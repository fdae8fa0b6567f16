// What a short search in a page finds of what a long one finds, told to bench/tune_page.mjs.
import {interleave, median, relativeError} from '../lib/measure.mjs';
import {modelOf} from '../models/table.mjs';
import {at} from './places.mjs';

const post = (path, body) => fetch(path, {method: 'POST', body: JSON.stringify(body)}).then((answer) => answer.json());

/** While `work` goes on, the frames that the page draws: of every second the number, and the longest wait for one in ms. */
async function withFrames(work) {
  let [frames, longest, last, on] = [0, 0, performance.now(), true];
  const begin = last;
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    ++frames;
    if (on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const found = await work;
  on = false;
  return {found, framesPerSecond: (1000 * frames) / (performance.now() - begin), longestFrameMs: longest};
}

async function outputsOf(model, feeds, names) {
  const outputs = await model.run(feeds);
  return Promise.all(names.map((name) => outputs[name].data()));
}

/** Of what the long search gains over `from` what the short one does; undefined: that gains nothing. */
const shareOf = (from, short, long) => (from > long ? (from - short) / (from - long) : undefined);

async function measure({model: name, device, seconds, long, threads, costs}) {
  const [{compile}, {load, tensor}] = await Promise.all([import(at('now/compiler/compiler.js')), import(at('now/runtime/runtime.js'))]);
  const graph = modelOf(name).graph();
  const onnx = await graph.file();
  const feeds = Object.fromEntries(graph.inputs.map(({name: input, data, shape}) => [input, tensor(data, shape)]));
  const options = {device, threads, strict: true};
  const opened = await load(await compile(onnx, {target: device, tunable: true, records: ''}), options);
  const search = async (more) => {
    const begin = performance.now();
    const found = await opened.tune({feeds, keep: false, onProgress: ({seconds: now, trials}) => void post('/progress', {text: `${name}: ${now.toFixed(0)} s, ${trials} points`}), ...more});
    return Object.assign(found, {took: (performance.now() - begin) / 1000});
  };
  const {found: brief, ...frames} = await withFrames(search({seconds, records: costs}));
  const spent = ({compileSeconds, loadSeconds, measureSeconds}) => ({compileSeconds, loadSeconds, measureSeconds});
  const thorough = await search({seconds: long, records: `${costs}\n${brief.records}`});

  // The default points, and what pages have on this device before anything was searched: the records that come with the compiler.
  const plain = await compile(onnx, {target: device, records: '', deviceClass: 'none'});
  const shipped = await compile(onnx, {target: device, records: ''});
  const parties = [];
  for (const [party, files] of [['default', plain], ['shipped', shipped], ['short', brief.files], ['long', thorough.files]]) parties.push({name: party, model: await load(files, options)});
  const names = graph.outputs.map(({name: output}) => output);
  const [expected, ...others] = await Promise.all(parties.map(({model}) => outputsOf(model, feeds, names)));
  const error = Math.max(...others.flatMap((outputs) => outputs.map((values, nth) => relativeError(values, expected[nth]))));
  const runs = await interleave(parties.map(({name: party, model}) => ({name: party, run: () => outputsOf(model, feeds, names)})), {rounds: 60, budgetMs: 15_000, leastRounds: 20});
  // Kernels alone, since a run in a browser has a floor that no kernel lowers.
  const sums = parties.map(() => []);
  for (let turn = 0; turn < 7; ++turn) {
    for (const [which, {model}] of parties.entries()) {
      const {kernels} = await model.profile(feeds, {runs: 5});
      sums[which].push(kernels.reduce((sum, {ms}) => sum + ms, 0));
    }
  }
  const kernels = sums.map(median);
  const recordFiles = performance.getEntriesByType('resource').map(({name: address}) => address).filter((address) => address.endsWith('.jsonl')).map((address) => address.split('/').at(-1));
  return {
    model: name, device, adapter: opened.report().adapter, seconds, long, ...frames, error,
    points: [brief.trials, brief.trials + thorough.trials], failures: brief.failures + thorough.failures, took: [brief.took, thorough.took], spent: [brief, thorough].map(spent),
    runs: runs.map((row) => row.median), ratios: runs.map((row) => row.ratio), kernels, recordFiles,
    share: shareOf(kernels[0], kernels[2], kernels[3]), shareBeyondShipped: shareOf(kernels[1], kernels[2], kernels[3]), records: thorough.records,
  };
}

for (const job of await (await fetch('/jobs')).json()) {
  await measure(job).then((row) => post('/row', row), (problem) => post('/row', {...job, problem: String(problem?.stack ?? problem)}));
}
await post('/done', {});
