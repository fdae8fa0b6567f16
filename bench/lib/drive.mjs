// Has comparisons made by the page in a browser, and begins anew with the next where one kills or stops it.
import {openBrowser} from './browser.mjs';
import {withoutTheSlow} from './job.mjs';
import {cpuTime, hasProc, peakMemory} from './processes.mjs';
import {fetchedBytes, serve} from './server.mjs';

const GRACE_MS = 1000;

export const keyOf = ({model, device, threads}) => `${model} ${device} ${threads}`;

/**
 * comparisons, settings: of lib/compare.mjs. save(row): called for each, with the peak of the browser's memory over its start and the bytes
 * that were fetched, which mean something where each comparison has a browser of its own. A party whose step takes longer than it said, or
 * at which the browser ends, is out of its comparison, which is begun anew without it.
 * packages: of lib/packages.mjs, where models and packages are made here and served at /packages/. browser: {path, args}. untilMs: of performance.now(), begins
 * nothing after that. Gives {left: comparisons not begun, description: of the page}.
 */
export async function drive(folders, comparisons, {settings, save, say = () => {}, packages, untilMs = Infinity, browser}) {
  let left = [...comparisons];
  let description;
  while (left.length && performance.now() < untilMs) {
    let step = {text: 'the start', ms: 60_000, at: performance.now()};
    let chromium;
    let finish;
    let idle = 0; // the browser's own memory
    const done = new Promise((resolve) => {
      finish = resolve;
    });
    const answers = {
      '/job.json': () => ({settings: {...settings, patient: true, cpu: hasProc, packages: Boolean(packages)}}),
      '/next': () => {
        if (hasProc) idle = peakMemory(chromium.processes());
        return left[0];
      },
      '/progress': (told) => {
        step = {...told, at: performance.now()};
        say(step.text);
      },
      '/prepare': (wanted) => {
        const {name, ms} = packages.make(wanted);
        step.at = performance.now();
        return {folder: `packages/${name}/`, ms};
      },
      '/graph': (wanted) => {
        const told = packages.graph(wanted);
        step.at = performance.now();
        return told;
      },
      '/row': (row) => {
        step = {text: 'the next', ms: 60_000, at: performance.now()};
        left = withoutTheSlow(left.slice(1), row, settings.growthMs);
        const peak = hasProc ? peakMemory(chromium.processes()) - idle : undefined;
        try {
          save({...row, peak, fetched: fetchedBytes(server.served)});
        } catch (problem) {
          finish(problem); // It is ours, not the page's.
        }
        if (performance.now() > untilMs) finish('time');
      },
      '/done': (told) => {
        description = told;
        finish('done');
      },
      '/cpu': () => cpuTime(chromium.processes()),
    };
    const server = await serve(folders, answers);
    chromium = openBrowser(browser.path, `${server.origin}/bench/page/index.html`, browser.args);
    const silent = () => performance.now() - step.at - step.ms;
    const watch = setInterval(() => silent() > GRACE_MS && finish('silent'), 500);
    const how = await Promise.race([done, chromium.ended.then(() => 'ended')]);
    clearInterval(watch);
    await chromium.close();
    server.close();
    if (how instanceof Error) throw how;
    if (how === 'silent' || how === 'ended') {
      const [bad, ...rest] = left;
      const problem = how === 'ended' ? `the browser ended (${step.text})` : `no answer (${step.text})`;
      const why = {problem, ...(how === 'silent' ? {overMs: step.ms} : {})};
      say(problem);
      if (!bad) break;
      if (step.party) {
        left = [{...bad, out: [...(bad.out ?? []), {name: step.party, ...why}]}, ...rest];
      } else {
        left = rest;
        save({model: bad.model, device: bad.device, threads: bad.threads, parties: bad.parties.map((name) => ({name, ...why}))});
      }
    }
  }
  return {left, description};
}
