// Has comparisons made by the page in a browser, and begins anew with the next where one kills or stops it.
import {openBrowser} from './browser.mjs';
import {cpuTime, hasProc} from './processes.mjs';
import {serve} from './server.mjs';

export const keyOf = ({model, device, threads}) => `${model} ${device} ${threads}`;

/**
 * comparisons, settings: of page/arena.mjs. save(row): called for each. stallMs: without a sign of life for so long
 * the comparison under way is given up. untilMs: of performance.now(), begins nothing after that.
 * prepare: of lib/compare.mjs, with addresses for folders. browser: {path, args}. Gives {left: comparisons not begun, description: of the page}.
 */
export async function drive(folders, comparisons, {settings, save, say = () => {}, prepare, stallMs = 180_000, untilMs = Infinity, browser}) {
  let left = [...comparisons];
  let description;
  while (left.length && performance.now() < untilMs) {
    let heard = performance.now();
    let doing = '';
    let chromium;
    let finish;
    const done = new Promise((resolve) => {
      finish = resolve;
    });
    const answers = {
      '/job.json': () => ({comparisons: left, settings: {...settings, cpu: hasProc, packages: Boolean(prepare)}}),
      '/progress': (text) => {
        heard = performance.now();
        doing = text;
        say(text);
      },
      '/prepare': (wanted) => {
        const made = prepare(wanted);
        heard = performance.now();
        return made;
      },
      '/row': (row) => {
        heard = performance.now();
        left = left.filter((each) => keyOf(each) !== keyOf(row));
        save(row);
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
    const watch = setInterval(() => performance.now() - heard > stallMs && finish('stalled'), 1000);
    const how = await Promise.race([done, chromium.ended.then(() => 'ended')]);
    clearInterval(watch);
    await chromium.close();
    server.close();
    if (how === 'stalled' || how === 'ended') {
      const [bad, ...rest] = left;
      left = rest;
      const problem = how === 'ended' ? `the browser ended (${doing})` : `no sign of life for ${stallMs / 1e3} s (${doing})`;
      if (bad) save({...bad, parties: bad.parties.map((name) => ({name, problem}))});
    }
  }
  return {left, description};
}
