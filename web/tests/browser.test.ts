import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test, type TestContext} from 'node:test';

import {type BrowserName, startBrowser} from './src/browser.ts';
import {startServer, text} from './src/server.ts';
import {type FileMap, tinyFolder} from './fixtures/tiny.ts';

const root = join(import.meta.dirname, '../..');
const HTML = '<!doctype html><meta charset="utf-8"><title>tests</title><script src="/suite.js"></script>';

async function suiteScript(): Promise<string> {
  // Loaded by path: this file runs as a bundle below dist/.
  const {bundle} = (await import(join(root, '../runtime/build/bundle.mjs'))) as {
    bundle: (options: object) => Promise<{outputFiles: {text: string}[]}>;
  };
  const entryPoints = [join(root, 'browser/suite.ts')];
  const result = await bundle({entryPoints, format: 'iife', write: false, minify: false});
  return result.outputFiles[0]?.text ?? '';
}

async function inBrowser(context: TestContext, name: BrowserName, skips: Skips): Promise<void> {
  const browser = await startBrowser({name});
  context.diagnostic(browser.version);
  const script = await suiteScript();
  const tiny = await tinyFolder({n: 4});
  try {
    for (const isolated of [true, false]) {
      const server = await startServer({isolated});
      const serve = (files: FileMap, cut: boolean) => (rest: string, _: unknown, response: Out) => {
        const bytes = files.get(rest.slice(1));
        if (!bytes) response.writeHead(404);
        response.end(cut && rest.endsWith('.wasm') ? bytes?.subarray(0, 99) : bytes);
      };
      server.put('/suite.js', text(script, 'text/javascript'));
      server.put('/suite.html', text(HTML, 'text/html'));
      server.put('/tiny', serve(tiny, false));
      server.put('/cut', serve(tiny, true));
      const page = await browser.newPage();
      await page.goto(`${server.origin}/suite.html`);
      for (const each of (await page.call('listTests', undefined)) as string[]) {
        if (each.startsWith('not isolated') === isolated) continue;
        const skip = skips.find(([pattern]) => pattern.test(each))?.[1] ?? false;
        await context.test(each, {skip}, async () => {
          const answer = await Promise.race([page.call('runTest', each), page.dead]);
          assert.equal(answer, '', page.takeLog().join('\n'));
        });
      }
      await page.close();
      server.close();
    }
  } finally {
    await browser.close();
  }
}

interface Out {
  writeHead(status: number): unknown;
  end(bytes?: Uint8Array): unknown;
}

/** Pattern of names and the reason. */
type Skips = readonly (readonly [RegExp, string])[];

test('Chromium', (context) => inBrowser(context, 'chromium', []));

const firefox = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].some((path) => existsSync(path));
const noDisplay = 'WebGL in Firefox needs a display; run under Xvfb';
test('Firefox', {skip: firefox ? false : 'Firefox is not installed'}, (context) =>
  inBrowser(
    context,
    'firefox',
    process.env['DISPLAY'] === undefined
      ? [
          [/^webgl/, noDisplay],
          [/^auto goes on|^auto: a need/, noDisplay],
        ]
      : [],
  ),
);
