import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {type Browser, type Page, startBrowser} from './src/browser.ts';
import {folder, startServer, text} from './src/server.ts';
import {tinyFolder} from './fixtures/tiny.ts';

const root = join(import.meta.dirname, '../..');

const fill = (html: string, model: string): string =>
  html.replaceAll('{{NAME}}', 'Tiny &amp; small').replace('{{MODEL}}', model).replace('{{LABELS}}', '');

/** Clicks Run and gives the page's text. */
async function runThere(page: Page): Promise<string> {
  await page.waitFor("document.documentElement.dataset.state === 'ready'");
  await page.evaluate("document.querySelector('input[type=number]').value = 4");
  await page.evaluate("document.querySelector('#run').click()");
  await page.waitFor("document.documentElement.dataset.state === 'done'");
  return String(await page.evaluate('document.body.innerText'));
}

async function withPage(out: string, use: (browser: Browser) => Promise<void>): Promise<void> {
  const {bundlePage} = (await import(join(root, '../runtime/build/bundle.mjs'))) as {
    bundlePage: (out: string) => Promise<void>;
  };
  await bundlePage(out);
  const browser = await startBrowser();
  try {
    await use(browser);
  } finally {
    await browser.close();
  }
}

test('the page around a package runs it, from a server and from one file', async (context) => {
  const out = mkdtempSync(join(tmpdir(), 'page-'));
  try {
    await withPage(out, async (browser) => {
      const files = await tinyFolder();
      await context.test('a folder on a server', async () => {
        const server = await startServer();
        server.put('/', folder(out));
        server.put('/model', (rest, _, response) => {
          const bytes = files.get(rest.slice(1));
          response.writeHead(bytes ? 200 : 404).end(bytes);
        });
        const html = fill(readFileSync(join(out, 'index.html'), 'utf8'), 'model/index.json');
        server.put('/index.html', text(html, 'text/html'));
        const page = await browser.newPage();
        for (const device of ['webgpu', 'webgl', 'wasm']) {
          await page.goto(`${server.origin}/index.html?device=${device}`);
          const shown = await runThere(page);
          assert.match(shown, new RegExp(`Ready on ${device}`));
          assert.match(shown, new RegExp(`ms on ${device}`));
          assert.match(shown, /f32 \[1, 4\]/);
        }
        assert.deepEqual(page.takeLog(), []);
        await page.screenshot(join(root, 'dist/page.png'));
        await page.close();
        server.close();
      });
      await context.test('one file, opened from disk', async () => {
        const inlined = Array.from(files, ([name, bytes]) => {
          const data = Buffer.from(bytes).toString('base64');
          return `<script type="application/octet-stream" data-file="${name}">${data}</script>`;
        });
        const html = fill(readFileSync(join(out, 'single.html'), 'utf8'), '');
        writeFileSync(join(out, 'tiny.html'), html.replace('<!--FILES-->', inlined.join('\n')));
        const page = await browser.newPage();
        await page.goto(`${pathToFileURL(join(out, 'tiny.html')).href}?device=wasm`);
        assert.match(await runThere(page), /ms on wasm, 1 thread/);
        await page.close();
      });
      await context.test('a folder opened from disk says that it needs a server', async () => {
        writeFileSync(join(out, 'folder.html'), fill(readFileSync(join(out, 'index.html'), 'utf8'), 'model/index.json'));
        const page = await browser.newPage();
        await page.goto(pathToFileURL(join(out, 'folder.html')).href);
        const shown = String(await page.evaluate('document.body.innerText'));
        assert.match(shown, /Not loaded/);
        assert.match(shown, /opened as a file.*run python3 -m http\.server 8000 or .*open http:\/\/localhost:8000\//);
        await page.close();
      });
    });
  } finally {
    rmSync(out, {recursive: true});
  }
});
