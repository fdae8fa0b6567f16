// One comparison, in a page or in Node.js: opens the parties, compares their outputs, and has them take turns.
import {chainOf, leftOut, modelOf} from '../models/table.mjs';
import {partyOf} from '../parties.mjs';
import {interleave, judge, summary, within} from './measure.mjs';

// Telling costs a little, just before a run that is timed; who stops everything mostly does so when warming up.
const TELL_MS = 5000;

const line = (problem) => String(problem?.message ?? problem).split('\n')[0].slice(0, 300);

/** Of a chain, two sessions; its time is their difference by link. */
async function openChain(start, [few, many]) {
  const [short, long] = [await start(few), await start(many)];
  const once = async (session) => {
    const begin = performance.now();
    const own = await (session.timed ?? session.run)();
    return own?.wall === undefined ? {wall: performance.now() - begin} : own;
  };
  return {
    ...short,
    compile: short.compile && short.compile + long.compile,
    making: (short.making ?? 0) + (long.making ?? 0),
    timed: async () => {
      const [less, more] = [await once(short), await once(long)];
      const link = (key) => (more[key] - less[key]) / (many - few);
      return {wall: link('wall'), ...(more.cpu === undefined ? {} : {cpu: link('cpu')})};
    },
    run: async () => [...(await short.run()), ...(await long.run())],
    close: () => [short, long].forEach((each) => each.close?.()),
  };
}

/** The first result of a party. One that is slow is measured once more at most, and alone. tell(): before each run. */
async function begin(made, {limitMs}, wait, tell) {
  const once = async () => {
    tell();
    const start = performance.now();
    const outputs = await wait(made.run());
    return {outputs, ms: performance.now() - start};
  };
  const first = await once();
  if (first.ms <= limitMs) return first;
  if (first.ms > 2 * limitMs) return {...first, slow: {wall: first.ms}};
  const again = await once(); // The first may have compiled.
  return {...again, slow: again.ms > limitMs ? {wall: again.ms} : undefined};
}

/**
 * comparison: {model, device, threads, parties: names, out: rows of parties that are known to be out}; settings of
 * interleave, and
 *   openMs, firstMs: how long opening a party may take, and a run of it
 *   growthMs: in place of limitMs for rows of growth: a party whose run takes longer has this run as its time
 *   software: whether the GPU is none
 *   patient: somebody else watches progress, and ends all of this where it takes too long
 *   prepare({edition, model, links, device}): gives {folder, ms} of a package made beforehand, where there are such
 *   graph({model, links}): gives the graph, of which file() may be a promise, where files are served; else it is made here
 * openers(module): gives its `open`, which takes {...the party's options, device, threads, model, graph, links,
 * folder} and gives
 *   run(): a promise of the outputs' values, in the graph's order
 *   timed(): {wall, cpu} in ms of a run, where that is not measured around run()
 *   adapter, compile and making (ms spent on the package, or on the model's file: no part of loading), note (what it could
 *   not have), close()
 * progress({text, party, ms}): before each step: for how long it may be silent.
 * Gives a row of the report: {model, device, threads, adapter, chain, parties: [{name, times of interleave, compile, load,
 * first, error, wrong, problem, overMs, note}]}. load and first are ms since the start: when ready, and with the first
 * result.
 */
export async function compare({model: name, device, threads, parties: names, out = []}, given, openers, progress) {
  const model = modelOf(name);
  const firstMs = given.growthMs * (device === 'cpu' || device === 'wasm' ? 3 : 10); // GPUs compile in it
  const settings = model.family ? {...given, limitMs: given.growthMs, firstMs, budgetMs: Math.min(given.budgetMs, given.growthMs)} : given;
  const wait = (ms, promise, what) => (settings.patient ? promise : within(ms, promise, what));
  const chain = chainOf(model, device, settings.software);
  const row = {model: name, device, threads, ...(chain ? {chain} : {})};
  const reason = leftOut(model, device, settings.software);
  if (reason) return {...row, leftOut: reason, parties: []};

  // One graph for all parties: its weights may be large.
  const graphs = new Map();
  const graphOf = async (count) => {
    if (!graphs.has(count)) graphs.set(count, await (model.training ? undefined : (settings.graph?.({model: name, links: count}) ?? model.graph(count))));
    return graphs.get(count);
  };
  /** Packages first: making them is no part of loading. Then a function that opens the party. */
  const prepared = async (party) => {
    const {open: module, options, floor} = partyOf(party);
    const open = await openers(module);
    const links = chain && !floor ? chain : [chain?.[0]];
    const packages = new Map();
    if (settings.prepare && options.edition && !model.training) {
      for (const count of links) packages.set(count, await settings.prepare({edition: options.edition, model: name, links: count, device}));
    }
    const compile = [...packages.values()].reduce((sum, {ms}) => sum + ms, 0);
    for (const count of links) await graphOf(count);
    const start = (count) => open({...options, device, threads, model, links: count, graph: graphs.get(count), ...packages.get(count)});
    return {compile: compile || undefined, open: () => (links.length > 1 ? openChain(start, links) : start(links[0]))};
  };
  const opened = [];
  for (const party of names) {
    const known = out.find((each) => each.name === party);
    if (known) {
      opened.push(known);
      continue;
    }
    progress({text: `${model.title}: ${party}`, party, ms: settings.openMs});
    let made;
    try {
      const {compile: before, open} = await prepared(party);
      const start = performance.now();
      made = await wait(settings.openMs, open(), party);
      const loaded = performance.now();
      const tell = () => progress({text: `${model.title}: ${party} runs`, party, ms: settings.firstMs});
      const {outputs, slow} = await begin(made, settings, (promise) => wait(settings.firstMs, promise, party), tell);
      const {compile, making = 0, note, adapter} = made;
      const since = start + (compile ?? 0) + making;
      const times = {compile: compile ?? before, load: loaded - since, first: performance.now() - since, note, adapter};
      opened.push({...made, name: party, outputs: partyOf(party).floor ? undefined : outputs, times, slow});
    } catch (problem) {
      opened.push({name: party, problem: line(problem), overMs: problem?.overMs});
      made?.close?.();
    }
  }
  graphs.clear();
  const verdicts = judge(opened.map(({outputs}) => outputs), model.tolerance ?? 1e-3);
  for (const each of opened) delete each.outputs;
  const alive = opened.filter(({problem}) => !problem);
  const runs = alive.filter(({slow}) => !slow).map(({name: party, timed, run}) => ({name: party, run: timed ?? (async () => void (await run()))}));
  let told = -Infinity;
  const tell = (party, counts) => {
    if (counts && performance.now() - told < TELL_MS) return;
    told = performance.now();
    progress({text: `${model.title}: in turns`, party, ms: 2 * settings.limitMs + 20_000});
  };
  const measured = runs.length ? await interleave(runs, {...settings, first: names[0], tell}) : [];
  const ours = measured.find((each) => each.name === names[0]);
  const rows = opened.map(({name: party, problem, overMs, times, slow}, which) => {
    const alone = slow && {...summary([slow]), ratio: ours?.median && ours.median / slow.wall};
    const turns = alone ?? measured.find((each) => each.name === party) ?? {problem, overMs};
    return {...turns, name: party, ...times, ...verdicts[which]};
  });
  for (const each of alive) {
    try {
      await each.close?.();
    } catch {
      // It goes with its page or process.
    }
  }
  return {...row, adapter: rows.find(({adapter}) => adapter)?.adapter, parties: rows};
}
