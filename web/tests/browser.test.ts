import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test, type TestContext} from 'node:test';

import {type BrowserName, startBrowser} from './src/browser.ts';
import {type Server, startServer, text} from './src/server.ts';
import {largePackage} from './fixtures/large.ts';
import {tinyFolder} from './fixtures/tiny.ts';

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

/** A server of the suite and of packages, whole and spoilt. */
async function serveSuite(isolated: boolean): Promise<Server> {
  const server = await startServer({isolated});
  const tiny = await tinyFolder({n: 4});
  const serve = (spoil?: (bytes: Uint8Array, response: Out) => void) => (rest: string, _: unknown, response: Out) => {
    const bytes = tiny.get(rest.slice(1));
    if (!bytes) response.writeHead(404);
    if (bytes && spoil && rest.endsWith('.wasm')) spoil(bytes, response);
    else response.end(bytes);
  };
  const begin = (bytes: Uint8Array, response: Out): void => {
    response.writeHead(200, {'Content-Length': bytes.length});
    response.write(bytes.subarray(0, 99));
  };
  server.put('/suite.js', text(await suiteScript(), 'text/javascript'));
  server.put('/suite.html', text(HTML, 'text/html'));
  server.put('/tiny', serve());
  let deployed = tiny;
  server.put('/deploy', async (rest, _, response) => {
    deployed = await tinyFolder({n: 4, w: Number(rest.slice(1))});
    response.end();
  });
  server.put('/cached', (rest, _, response) => {
    const bytes = deployed.get(rest.slice(1));
    response.setHeader('Cache-Control', 'max-age=3600');
    response.writeHead(bytes ? 200 : 404).end(bytes);
  });
  const shards = await largePackage({count: 8, bytes: 2 ** 17, perFile: 2});
  let asked: string[] = [];
  server.put('/asked', (_, __, response) => {
    response.end(JSON.stringify(asked));
    asked = [];
  });
  server.put('/shards', (rest, {headers}, response) => {
    const [, how = '', name = ''] = rest.split('/');
    const bytes = shards.get(name);
    const from = Number(/^bytes=(\d+)/.exec(headers.range ?? '')?.[1] ?? 0);
    asked.push(from > 0 ? `${name} from ${from}` : name);
    if (!bytes || (how === 'broken' && name === 'weights.4.safetensors')) return void response.writeHead(404).end();
    const range = from > 0 && {'Content-Range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`};
    response.writeHead(from > 0 ? 206 : 200, {'Content-Length': bytes.length - from, ...range});
    if (how !== 'cut' || name !== 'weights.2.safetensors' || from > 0) return void response.end(bytes.subarray(from));
    // The page has these when the connection ends: a browser drops what it was about to give.
    response.write(bytes.subarray(0, 99_999), () => setTimeout(() => response.destroy(), 500));
  });
  server.put('/cut', serve((bytes, response) => response.end(bytes.subarray(0, 99))));
  server.put('/changed', serve((bytes, response) => response.end(bytes.map((byte) => byte ^ 1))));
  server.put('/stalls', serve(begin));
  server.put('/dies', serve((bytes, response) => {
    begin(bytes, response);
    setTimeout(() => response.destroy(), 50);
  }));
  return server;
}

async function inBrowser(context: TestContext, name: BrowserName, skips: Skips): Promise<void> {
  const browser = await startBrowser({name});
  context.diagnostic(browser.version);
  try {
    for (const isolated of [true, false]) {
      const server = await serveSuite(isolated);
      const page = await browser.newPage();
      await page.goto(`${server.origin}/suite.html`);
      for (const each of (await page.call('listTests', undefined)) as string[]) {
        if (each.startsWith('bare') || each.startsWith('not isolated') === isolated) continue;
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

/** One test in a Chromium that lacks something. */
async function inBare(args: readonly string[], host: string, name: string): Promise<void> {
  const browser = await startBrowser({args});
  const server = await serveSuite(false);
  try {
    const page = await browser.newPage();
    await page.goto(`http://${host}:${new URL(server.origin).port}/suite.html`);
    assert.ok(((await page.call('listTests', undefined)) as string[]).includes(name), name);
    assert.equal(await Promise.race([page.call('runTest', name), page.dead]), '');
  } finally {
    await browser.close();
    server.close();
  }
}

interface Out {
  writeHead(status: number, headers?: Record<string, number>): unknown;
  write(bytes: Uint8Array): unknown;
  end(bytes?: Uint8Array): unknown;
  destroy(): unknown;
}

/** Pattern of names and the reason. */
type Skips = readonly (readonly [RegExp, string])[];

test('Chromium', (context) => inBrowser(context, 'chromium', []));

test('Chromium without WebGPU', () =>
  inBare(
    ['--host-resolver-rules=MAP insecure.test 127.0.0.1'],
    'insecure.test',
    'bare insecure: auto takes webgl, and says what WebGPU needs',
  ));

test('Chromium without any GPU', () =>
  inBare(['--use-gl=disabled'], '127.0.0.1', 'bare no GPU: auto takes wasm, and says what is missing'));

test('Chromium that collects memory all the time', () =>
  inBare(['--js-flags=--expose-gc'], '127.0.0.1', 'bare gc: kept weights are read while memory is collected'));

const firefox = ['/usr/bin/firefox-esr', '/usr/bin/firefox'].some((path) => existsSync(path));
// One profile stays.
const manyWaits = /^webgpu: (a profile (names|of what|without)|launches of steps)/;
const slow = 'Firefox tells ten times a second that a GPU is done, which these wait for hundreds of times';
const noDisplay = 'WebGL in Firefox needs a display; run under Xvfb';
test('Firefox', {skip: firefox ? false : 'Firefox is not installed'}, (context) =>
  inBrowser(
    context,
    'firefox',
    process.env['DISPLAY'] === undefined
      ? [
          [/^webgl/, noDisplay],
          [/^auto goes on|^auto: a need/, noDisplay],
          [manyWaits, slow],
        ]
      : [[manyWaits, slow]],
  ),
);
