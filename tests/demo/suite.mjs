// README's first command, as somebody types it who has built everything: every target reads the digits, the page reads them too, what the
// landing page links is there, and a model is tuned without a file of anybody's.
//
//   node tests/demo/suite.mjs
import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {startBrowser, waitLong} from '../../tools/demo/browser.mjs';
import {serve} from '../../tools/demo/serve.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const tally = new Tally();

const {status, stdout = '', stderr = ''} = spawnSync('node', ['tools/demo/demo.mjs', '--build', build], {cwd: root, encoding: 'utf8', timeout: 900_000});
const said = `${stdout}\n${stderr}`;
tally.record('the demo ends well', status === 0 ? [] : said.slice(-2000));
for (const target of ['cpu', 'wasm', 'webgl', 'webgpu']) {
  tally.record(`${target} reads all digits`, new RegExp(`^${target} +10 of 10 +[\\d.]+ `, 'm').test(stdout) ? [] : said.slice(0, 1000));
  if (target === 'cpu') continue;
  tally.record(`the page reads all digits on ${target}`, stdout.includes(`the page reads 10 of its 10 samples right on ${target}`) ? [] : said.slice(-1000));
}
const landing = path.join(build, 'demo/index.html');
const links = existsSync(landing) ? [...readFileSync(landing, 'utf8').matchAll(/href="([^":#]+)"/g)].map(([, href]) => href) : [];
tally.record('the landing page has links', links.length >= 3 ? [] : links.join());
for (const href of links) {
  const file = path.join(build, 'demo', href.endsWith('/') ? `${href}index.html` : href);
  tally.record(`${href} is there`, existsSync(file) ? [] : file);
}

/** Presses the button, and reads what the page says at the end. */
async function tuned() {
  const {server, address} = await serve(path.join(build, 'demo'));
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${address}examples/tune.html?device=cpu&seconds=2`);
    await waitLong(page, "document.documentElement.dataset.state === 'ready'", 60);
    await page.evaluate("document.querySelector('#start').click()");
    await waitLong(page, "document.documentElement.dataset.state === 'done'", 120);
    return await page.evaluate("document.querySelector('#now').textContent");
  } catch (problem) {
    return String(problem);
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}
const now = links.includes('examples/tune.html') ? await tuned() : 'no page';
tally.record('the page tunes the digits', /^kernels \d+\.\d\d times as fast; a run took .*; [1-9]\d* points measured$/.test(now) ? [] : now);
tally.end();
