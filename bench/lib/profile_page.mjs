// A package's profile in a browser, by the run time's own profiler (web/runtime/src/profile).
import {join, resolve} from 'node:path';
import {findBrowser, openBrowser} from './browser.mjs';
import {bench, root} from './layout.mjs';
import {serve} from './server.mjs';

/** `options` are those of load() and profile(), and `dims`; gives {table, trace}. */
export async function profileInPage(folder, options, {browser = findBrowser(), args = []} = {}) {
  let told;
  const answer = new Promise((done) => (told = done));
  const server = await serve(
    {'': join(bench, 'page'), runtime: join(root, 'web/runtime/dist'), package: resolve(folder)},
    {
      '/asked': () => options,
      '/told': (posted) => {
        told(posted);
        return {};
      },
    },
  );
  const page = openBrowser(browser, `${server.origin}/profile.html`, args);
  try {
    const found = await Promise.race([answer, page.ended.then(() => ({error: 'the browser ended'}))]);
    if (found.error) throw new Error(found.error);
    return found;
  } finally {
    await page.close();
    server.close();
  }
}
