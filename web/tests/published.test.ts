import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {tinyFolder} from './fixtures/tiny.ts';
import {startBrowser} from './src/browser.ts';
import {folder, startServer, text} from './src/server.ts';

const PAGE = `<!doctype html><meta charset="utf-8"><script type="module">
import {load, tensor} from '/lib/runtime.js';
globalThis.runOn = async (options) => {
  const model = await load('/site/', {strict: true, ...options});
  const k = tensor(BigInt64Array.of(1n, -8n));
  const {y} = await model.run({x: tensor([0, 1, 2, 3], [1, 4]), k});
  return Array.from(await y.data());
};
globalThis.profileOn = async (options) => {
  const model = await load('/site/', options);
  const found = await model.profile(undefined, {runs: 1, minMs: 1});
  return found.table();
};
</script>`;

test('what is published runs on every device', async () => {
  const lib = mkdtempSync(join(tmpdir(), 'published-'));
  const {bundleRuntime} = (await import(join(import.meta.dirname, '../../../runtime/build/bundle.mjs'))) as {
    bundleRuntime: (folder: string) => Promise<void>;
  };
  await bundleRuntime(lib);
  const server = await startServer();
  const files = await tinyFolder({n: 4});
  server.put('/lib', folder(lib));
  server.put('/page.html', text(PAGE, 'text/html'));
  server.put('/site', (rest, _request, response) => {
    const bytes = files.get(rest.slice(1));
    response.writeHead(bytes ? 200 : 404);
    response.end(bytes);
  });
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.origin}/page.html`);
    for (const options of [{device: 'webgpu'}, {device: 'webgl', recover: true}, {device: 'wasm', threads: 2}]) {
      assert.deepEqual(await page.call('runOn', options), [3, 8, 13, 18], options.device);
    }
    // The profiler is a file of its own beside it.
    assert.match((await page.call('profileOn', {device: 'wasm', threads: 2})) as string, /^tiny on wasm: .*\n.*kernel/);
  } finally {
    await browser.close();
    server.close();
    rmSync(lib, {recursive: true});
  }
});
