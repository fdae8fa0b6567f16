// One comparison, in a page or in Node.js: opens the parties, compares their outputs, and has them take turns.
import {modelOf} from '../models/table.mjs';
import {partyOf} from '../parties.mjs';
import {interleave, judge, within} from './measure.mjs';

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
    timed: async () => {
      const [less, more] = [await once(short), await once(long)];
      const link = (key) => (more[key] - less[key]) / (many - few);
      return {wall: link('wall'), ...(more.cpu === undefined ? {} : {cpu: link('cpu')})};
    },
    run: async () => [...(await short.run()), ...(await long.run())],
    close: () => [short, long].forEach((each) => each.close?.()),
  };
}

/**
 * comparison: {model, device, threads, parties: names}; settings of interleave, and
 *   openMs: how long opening a party may take, and its first run
 *   prepare({edition, model, links, device}): gives {folder, ms} of a package made beforehand, where there are such
 * openers(module): gives its `open`, which takes {...the party's options, device, threads, model, graph, folder} and gives
 *   run(): a promise of the outputs' values, in the graph's order
 *   timed(): {wall, cpu} in ms of a run, where that is not measured around run()
 *   adapter, compile (ms before loading), note (what it could not have), close()
 * Gives a row of the report: {model, device, threads, adapter, parties: [{name, times of interleave, compile, load, first,
 * error, wrong, problem, overMs, note}]}. load and first are ms since the start: when ready, and with the first result.
 */
export async function compare({model: name, device, threads, parties: names}, settings, openers, progress) {
  const model = modelOf(name);
  /** Packages first: making them is no part of loading. Then a function that opens the party. */
  const prepared = async (party) => {
    const {open: module, options, floor} = partyOf(party);
    const open = await openers(module);
    const links = model.chain && !floor ? model.chain : [model.chain?.[0]];
    const packages = new Map();
    if (settings.prepare && options.edition) {
      for (const count of links) packages.set(count, await settings.prepare({edition: options.edition, model: name, links: count, device}));
    }
    const compile = [...packages.values()].reduce((sum, {ms}) => sum + ms, 0);
    const start = (count) => open({...options, device, threads, model, graph: model.graph(count), ...packages.get(count)});
    return {compile: compile || undefined, open: () => (links.length > 1 ? openChain(start, links) : start(links[0]))};
  };
  const opened = [];
  for (const party of names) {
    progress(`${model.title}: ${party} starts`);
    try {
      const {compile: before, open} = await prepared(party);
      const begin = performance.now();
      const made = await within(settings.openMs, open(), party);
      const loaded = performance.now();
      const outputs = await within(settings.openMs, made.run(), party);
      const {compile, note, adapter} = made;
      const start = begin + (compile ?? 0);
      const times = {compile: compile ?? before, load: loaded - start, first: performance.now() - start, note, adapter};
      opened.push({...made, name: party, outputs: partyOf(party).floor ? undefined : outputs, times});
    } catch (problem) {
      opened.push({name: party, problem: line(problem), overMs: problem?.overMs});
    }
  }
  const verdicts = judge(opened.map(({outputs}) => outputs), model.tolerance ?? 1e-3);
  for (const each of opened) delete each.outputs;
  const alive = opened.filter(({problem}) => !problem);
  const runs = alive.map(({name: party, timed, run}) => ({name: party, run: timed ?? (async () => void (await run()))}));
  progress(`${model.title}: in turns`);
  const measured = runs.length ? await interleave(runs, {...settings, first: names[0]}) : [];
  const rows = opened.map(({name: party, problem, overMs, times}, which) => {
    const turns = measured.find((each) => each.name === party) ?? {problem, overMs};
    return {...turns, name: party, ...times, ...verdicts[which]};
  });
  for (const each of alive) {
    try {
      await each.close?.();
    } catch {
      // It goes with its page or process.
    }
  }
  return {model: name, device, threads, adapter: rows.find(({adapter}) => adapter)?.adapter, parties: rows};
}
