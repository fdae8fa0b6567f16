import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {BAD_MODELS, perceptron} from '../compiler/tests/onnx.ts';
import {type BrowserName, type Page, startBrowser} from './src/browser.ts';
import {folder, startServer} from './src/server.ts';

const root = join(import.meta.dirname, '../../..');
const wasm = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, '../build-wasm/compiler.wasm');
const skip = existsSync(wasm) ? false : 'compiler.wasm is not built (make wasm)';

/** Gives the page a file as its user would. */
async function choose(page: Page, bytes: Uint8Array): Promise<void> {
  const text = Buffer.from(bytes).toString('base64');
  await page.evaluate(`{
    const bytes = Uint8Array.from(atob('${text}'), (letter) => letter.charCodeAt(0));
    const list = new DataTransfer();
    list.items.add(new File([bytes], 'small.onnx'));
    const input = document.querySelector('#file');
    input.files = list.files;
    input.dispatchEvent(new Event('change'));
  }`);
}

/** The page with a model that cannot be compiled says why, and works on with a good one. */
async function refuses(page: Page): Promise<void> {
  const state = 'document.documentElement.dataset.state';
  for (const [what, bytes, message] of BAD_MODELS) {
    await choose(page, bytes);
    await page.waitFor(`${state} === 'failed'`);
    const trouble = String(await page.evaluate("document.querySelector('#trouble').innerText"));
    assert.match(trouble, message, what);
    assert.doesNotMatch(trouble, /the compiler stopped|\n/, what);
    await page.evaluate(`${state} = 'idle'`);
  }
  await choose(page, perceptron('n'));
  await page.waitFor(`${state} === 'ready'`);
  assert.equal(await page.evaluate("document.querySelector('#trouble').hidden"), true);
}

async function inPage(name: BrowserName, targets: readonly string[]): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), 'compile-'));
  const server = await startServer();
  const browser = await startBrowser({name});
  try {
    execFileSync(process.execPath, [join(root, 'examples/compile/build.mjs'), out]);
    server.put('/', folder(out));
    const page = await browser.newPage();
    const state = 'document.documentElement.dataset.state';
    for (const target of targets) {
      await page.goto(`${server.origin}/index.html?target=${target}`);
      await choose(page, perceptron('n'));
      await page.waitFor(`${state} === 'ready'`);
      await page.evaluate("document.querySelector('#run').click()");
      await page.waitFor(`${state} === 'done'`);
      const shown = String(await page.evaluate('document.body.innerText'));
      assert.match(shown, /compiled in \d+ ms/);
      assert.match(shown, new RegExp(`ms on ${target}`));
      assert.match(shown, /f32 \[1, 2\]/);
      assert.match(shown, /kernels\.(wasm|json)/);
      await choose(page, perceptron('n', 'Frobnicate'));
      await page.waitFor(`${state} === 'failed'`);
      const trouble = await page.evaluate("document.querySelector('#trouble').innerText");
      assert.match(String(trouble), /Frobnicate/);
    }
    await refuses(page);
    await page.close();
  } finally {
    await browser.close();
    server.close();
    rmSync(out, {recursive: true});
  }
}

test('Chromium compiles a model in the page and runs it', {skip}, () =>
  inPage('chromium', ['wasm', 'webgl', 'webgpu']),
);

const firefox = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].some((path) => existsSync(path));
test(
  'Firefox compiles a model in the page and runs it',
  {skip: skip || (firefox ? false : 'Firefox is not installed')},
  () => inPage('firefox', ['wasm', 'webgpu']),
);
