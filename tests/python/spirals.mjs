// examples/python/spirals.py as its reader runs it: it learns, writes a page with WebGL, and draws the same natively, on the CPU and
// with OpenGL; the page is used in Chromium, and the pictures are compared.
import {spawnSync} from 'node:child_process';
import {copyFileSync, mkdtempSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {startBrowser, waitLong} from '../../tools/demo/browser.mjs';
import {serve} from '../../tools/demo/serve.mjs';

const root = path.resolve(import.meta.dirname, '../..');

// The largest and the mean difference of the page's picture from the native one, in steps of 255.
const compare = (file) => `(async () => {
  const pixels = (source, width, height) => {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext('2d');
    context.drawImage(source, 0, 0);
    return context.getImageData(0, 0, width, height).data;
  };
  const native = await createImageBitmap(await (await fetch('${file}')).blob());
  const drawn = document.querySelector('.output canvas, #outputs canvas');
  const [a, b] = [pixels(drawn, drawn.width, drawn.height), pixels(native, native.width, native.height)];
  const apart = Array.from(a, (each, at) => Math.abs(each - b[at]));
  const most = apart.reduce((all, each) => Math.max(all, each), 0);
  return {width: drawn.width, height: drawn.height, most, mean: apart.reduce((all, each) => all + each, 0) / apart.length};
})()`;

/** With the Python that the package is installed in. `screenshot`: a file for what the page shows at the end. */
export async function spirals(tally, python, screenshot) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-spirals-'));
  try {
    const site = path.join(work, 'site');
    const env = {...process.env, GOSSAMER_HOME: root};
    const draw = (folder, file, ...more) =>
      spawnSync(python, ['-P', path.join(root, 'examples/python/spirals.py'), folder, '--png', file, ...more], {cwd: work, env, encoding: 'utf8', timeout: 120_000});
    const {status, stdout, stderr} = draw('site', 'native.png');
    tally.record('spirals.py learns and writes a page', status !== 0 ? stderr.slice(-300) : !stdout.includes('100.0% of the points') && stdout);
    if (status !== 0) return;
    const drawn = ['native.png'];
    const targets = spawnSync(python, ['-P', '-c', 'import gossamer; print(*gossamer.TARGETS)'], {encoding: 'utf8'}).stdout;
    const onGpu = targets.includes('opengl') && draw('again', 'opengl.png', '--native', 'opengl');
    if (onGpu && /install/.test(onGpu.stderr)) tally.skip('spirals.py draws with OpenGL', onGpu.stderr.trim().split('\n').at(-1));
    else if (onGpu) {
      const done = onGpu.status === 0 && /opengl.png: opengl/.test(onGpu.stdout);
      tally.record('spirals.py draws with OpenGL', done ? undefined : onGpu.stderr.slice(-300) + onGpu.stdout.slice(-200));
      if (done) drawn.push('opengl.png');
    }
    for (const file of drawn) copyFileSync(path.join(work, file), path.join(site, file));
    const {server, address} = await serve(site);
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`${address}?device=webgl`);
      await waitLong(page, "['ready', 'failed'].includes(document.documentElement.dataset.state)");
      await page.evaluate(`{const from = document.querySelector('fieldset select'); from.value = 'ones'; from.dispatchEvent(new Event('change', {bubbles: true})); document.querySelector('#run').click()}`);
      await waitLong(page, "['done', 'refused', 'failed'].includes(document.documentElement.dataset.state)");
      const told = await page.evaluate("document.documentElement.dataset.state + ' ' + document.body.innerText");
      tally.record('its page runs with WebGL', !/^done/.test(told) || !/on webgl/.test(told) ? told.slice(0, 300) : undefined);
      for (const file of drawn) {
        const {width, height, most, mean} = await page.evaluate(compare(file));
        tally.record(`the page draws what ${file} has`, width === 192 && height === 192 && most <= 2 && mean < 0.1 ? undefined : `${width}x${height}, apart ${most} at most, ${mean} in the mean`);
      }
      if (screenshot) await page.screenshot(screenshot);
    } finally {
      await browser.close();
      server.close();
    }
  } finally {
    rmSync(work, {recursive: true});
  }
}
