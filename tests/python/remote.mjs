// examples/python/remote.py as its reader runs it: ResNet-18 learns, is compiled for WebGL, runs in Chromium over RPC, and becomes a page,
// which says the same of the same picture.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {startBrowser, waitLong} from '../../tools/demo/browser.mjs';
import {serve} from '../../tools/demo/serve.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');

// Gives the page's form a picture.
const chosen = (file) => `(async () => {
  const input = document.querySelector('fieldset input[type=file]');
  const files = new DataTransfer();
  files.items.add(new File([await (await fetch('${file}')).blob()], '${file}', {type: 'image/png'}));
  input.files = files.files;
  input.dispatchEvent(new Event('change', {bubbles: true}));
})()`;

/** With the Python that the package is installed in. `screenshot`: a file for what the page shows at the end. */
export async function remote(tally, python, screenshot) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-remote-'));
  const server = spawn(gossamer, ['rpc', '--port', '0'], {stdio: ['ignore', 'pipe', 'ignore']});
  const browser = await startBrowser();
  try {
    const address = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(data.toString().trim())));
    const device = await browser.newPage();
    await device.goto(`${address.replace('rpc:', 'http:').replace('?', '/?')}&name=page`);
    const child = spawn(python, [path.join(root, 'examples/python/remote.py'), 'site', '--device', address.replace('?', '/page?')],
      {cwd: work, env: {...process.env, GOSSAMER_HOME: root}, timeout: 180_000});
    let [told, errors] = ['', ''];
    child.stdout.on('data', (data) => (told += data));
    child.stderr.on('data', (data) => (errors += data));
    const code = await new Promise((resolve) => child.on('close', resolve));
    tally.record('remote.py learns, and runs in a browser over RPC', code === 0 ? undefined : (errors + told).slice(-300));
    if (code !== 0) return;
    tally.record('the class comes back', /^class: triangle$/m.test(told) && told.includes('4 of 4 are right') ? undefined : told.slice(-400));
    tally.record('it says which device and how long', /Device page: .*webgl/.test(told) && /median of 5 runs on page: [\d.]+ ms/.test(told) ? undefined : told);
    const {server: site, address: at} = await serve(path.join(work, 'site'));
    try {
      const page = await browser.newPage();
      await page.goto(`${at}?device=webgl`);
      await waitLong(page, "['ready', 'failed'].includes(document.documentElement.dataset.state)");
      await page.evaluate(chosen('picture.png'));
      await new Promise((resolve) => setTimeout(resolve, 500)); // it is decoded
      await page.evaluate("document.querySelector('#run').click()");
      await waitLong(page, "['done', 'refused', 'failed'].includes(document.documentElement.dataset.state)");
      const shown = await page.evaluate("document.documentElement.dataset.state + ' ' + document.body.innerText");
      const first = /disc|square|triangle|cross/.exec(shown.slice(shown.indexOf('scores')))?.[0];
      tally.record('its page says the same', /^done/.test(shown) && /on webgl/.test(shown) && first === 'triangle' ? undefined : shown.slice(0, 600));
      if (screenshot) await page.screenshot(screenshot);
    } finally {
      site.close();
    }
  } finally {
    await browser.close();
    server.kill();
    rmSync(work, {recursive: true});
  }
}
