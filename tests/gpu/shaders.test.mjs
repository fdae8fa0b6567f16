// Runs the generated shaders of gpu_cases (path in GPU_CASES) in headless Chromium and compares.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const { chromium } = require('playwright-core');

const folder = mkdtempSync(join(tmpdir(), 'gpu-cases-'));
execFileSync(process.env.GPU_CASES ?? 'gpu_cases', [join(folder, 'cases.json')]);
const cases = JSON.parse(readFileSync(join(folder, 'cases.json'), 'utf8'));
rmSync(folder, { recursive: true });

const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const script = readFileSync(fileURLToPath(new URL('page.mjs', import.meta.url)));

let server, browser, page;
before(async () => {
  server = createServer((request, response) => {
    const isScript = request.url === '/page.mjs';
    response.writeHead(200, { ...headers, 'Content-Type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? script : '<!doctype html><script type="module" src="page.mjs"></script>');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    ignoreDefaultArgs: ['--disable-gpu', '--disable-software-rasterizer'],
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--enable-unsafe-webgpu'],
  });
  page = await browser.newPage();
  page.setDefaultTimeout(300_000);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction('window.runCases');
});
after(async () => {
  await browser?.close();
  server?.close();
});

const word = new DataView(new ArrayBuffer(4));
function number(bits, storage) {
  word.setUint32(0, bits);
  if (storage === 'f32') return word.getFloat32(0);
  return storage === 'i32' ? word.getInt32(0) : bits;
}

const smallestNormal = 2 ** -126;

// The first element out of tolerance. Results below the normal range may be flushed to zero.
function mismatch(test, words) {
  const storage = test.storage.at(-1);
  for (let i = 0; i < test.expected.length; ++i) {
    const want = number(test.expected[i], storage);
    const have = number(words[i], storage);
    if (Object.is(want, have) || want === have) continue;
    const allowed = test.absolute + test.relative * Math.abs(want) + (storage === 'f32' ? smallestNormal : 0);
    if (Math.abs(want - have) <= allowed) continue;
    const inputs = test.inputs.map((input, k) => number(input[i] ?? 0, test.storage[k]));
    return `element ${i}: ${have}, not ${want}, inputs there ${inputs.join(', ')}`;
  }
  return undefined;
}

for (const api of ['webgpu', 'webgl']) {
  describe(api, () => {
    const results = new Map();
    before(async () => {
      const size = 50;
      for (let i = 0; i < cases[api].length; i += size) {
        const part = cases[api].slice(i, i + size);
        const answers = await page.evaluate(([name, list]) => window.runCases(name, list), [api, part]);
        part.forEach((test, k) => results.set(test, answers[k]));
      }
    });
    for (const test of cases[api]) {
      it(test.name, () => {
        const { error, words } = results.get(test);
        assert.equal(error, undefined, `${error}\n${test.code}`);
        const wrong = mismatch(test, words);
        assert.equal(wrong, undefined, `${wrong}\n${test.code}`);
      });
    }
  });
}
