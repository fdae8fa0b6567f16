// The examples together: one command serves them, the list leads to each, and each opens without anything but what it is served.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {startBrowser} from './src/browser.ts';
import {Example, skip} from './src/example.ts';

const program = join(import.meta.dirname, '../../../examples/serve.mjs');

test('one command serves all pages, with data and the averaging server', {skip}, async () => {
  const data = mkdtempSync(join(tmpdir(), 'data-'));
  mkdirSync(join(data, 'models'));
  writeFileSync(join(data, 'models/small.txt'), 'here');
  const server = spawn(process.execPath, [program, data, '--port', '0', '--rounds', '7'], {stdio: ['ignore', 'pipe', 'inherit']});
  const browser = await startBrowser();
  try {
    const address = await new Promise<string>((resolve, reject) => {
      let said = '';
      server.stdout.on('data', (text: Buffer) => {
        said += text.toString();
        const [, found] = /are at (\S+)\//.exec(said) ?? [];
        if (found) resolve(found);
      });
      server.on('exit', () => reject(new Error(said)));
    });
    const page = await browser.newPage();
    await page.goto(`${address}/`);
    const example = new Example(page);
    const links = (await page.evaluate("[...document.querySelectorAll('.pages a')].map((each) => each.getAttribute('href'))")) as string[];
    assert.equal(links.length, 11);
    await example.screenshot('index');
    assert.equal(await (await fetch(`${address}/data/models/small.txt`)).text(), 'here');
    assert.deepEqual(await (await fetch(`${address}/federation/state`)).json(), {round: 1, rounds: 7, over: false, present: 0, refusals: 0, counted: []});
    const strange = await fetch(`${address}/federation/nothing`);
    assert.deepEqual([strange.status, await strange.text()], [404, 'there is no GET /nothing']);
    for (const link of links) {
      await page.goto(`${address}/${link}`);
      // The page that tunes opens the model that it brings along.
      await page.waitFor("![undefined, 'opening'].includes(document.documentElement.dataset.state)");
      // Those that want files say so; nothing has failed.
      assert.match(String(await page.evaluate('document.documentElement.dataset.state')), /^(ready|idle|waiting)$/, link);
      assert.equal(await page.evaluate("document.querySelectorAll('h1').length"), 1, link);
      // Each control has a name.
      const nameless = "[...document.querySelectorAll('input, select, textarea, progress')].filter((each) => !each.ariaLabel && each.labels.length === 0).map((each) => each.id)";
      assert.deepEqual(await page.evaluate(nameless), [], link);
      assert.ok(await page.evaluate('crossOriginIsolated'), link);
    }
    // Without an adapter, pages that want a GPU choose another device and say why.
    for (const [name, control] of [['redraw', 'device'], ['compile', 'target']]) {
      await page.goto(`${address}/${name}.html`);
      await page.evaluate(`fetch(location.href).then((response) => response.text()).then((html) => {
        document.open();
        document.write(html.replace('${name}.js', '${name}.js?again').replace('<head>', '<head><script>navigator.gpu.requestAdapter = async () => null</script>'));
        document.close();
      })`);
      await page.waitFor("document.querySelector('#device-note') !== null");
      assert.equal(await page.evaluate(`document.querySelector('#${control}').value`), 'webgl');
      assert.equal(await example.text('#device-note'), 'WebGPU has no adapter here: webgl is chosen');
    }
    // Opened as files, all pages explain how to start a server.
    for (const link of ['index.html', ...links]) {
      await page.goto(pathToFileURL(join(program, '../dist', link)).href);
      const shown = String(await page.evaluate('document.body.innerText'));
      const name = link.replace('index.html', '').replace('.', '\\.');
      assert.match(shown, new RegExp(`opened as a file.*run python3 -m http\\.server 8000 or .*open http://localhost:8000/${name}(\\s|$)`), link);
      assert.doesNotMatch(shown, /Loading/, link);
    }
    await example.screenshot('opened_as_file');
  } finally {
    server.kill();
    await browser.close();
    rmSync(data, {recursive: true});
  }
});
