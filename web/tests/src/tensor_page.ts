/** A page that has imported the published bundle of @gossamer/tensor; its exports are global there. */
import assert from 'node:assert/strict';
import {join} from 'node:path';

import {type Page, startBrowser} from './browser.ts';
import {folder, startServer, text} from './server.ts';

export const tensorBundle = join(import.meta.dirname, '../../../tensor/dist');

/** `before`: a script that runs before the import. */
export async function openTensorPage(before = ''): Promise<{page: Page; origin: string; close: () => Promise<void>}> {
  const server = await startServer();
  server.put('/dist', folder(tensorBundle));
  server.put('/index.html', text(`<!doctype html><meta charset="utf-8"><title>tensors</title>
<script>{${before}}</script>
<script type="module">
  import * as tensors from './dist/tensor.js';
  Object.assign(globalThis, tensors, {ready: true});
</script>`, 'text/html'));
  server.put('/favicon.ico', text('', 'image/png'));
  const browser = await startBrowser();
  const close = async (): Promise<void> => {
    await browser.close();
    server.close();
  };
  try {
    const page = await browser.newPage();
    await page.goto(`${server.origin}/index.html`);
    await page.waitFor('globalThis.ready');
    return {page, origin: server.origin, close};
  } catch (problem) {
    await close();
    throw problem;
  }
}

/** The value of an async function's body in the page, as JSON. */
export async function inPage(page: Page, body: string): Promise<unknown> {
  await page.evaluate(`{
    globalThis.made = undefined;
    (async () => {${body}})().then((value) => (globalThis.made = {value}), (problem) => (globalThis.made = {problem: String(problem.stack)}));
  }`);
  await page.waitFor('globalThis.made');
  const made = (await page.evaluate('globalThis.made')) as {value?: unknown; problem?: string};
  assert.equal(made.problem, undefined);
  return made.value;
}
