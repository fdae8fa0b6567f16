// Small programs of new shapes, compiled in a page that stays: as web/compiler/tests/recorder.test.ts measures it in Node.js.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {startBrowser} from './src/browser.ts';
import {folder, startServer, text} from './src/server.ts';

const bundle = join(import.meta.dirname, '../../../compiler/dist');
const skip = existsSync(join(bundle, 'compiler.wasm')) ? false : 'compiler.wasm is not built (make wasm)';

const SCRIPT = `
import {Compiler, Recorder} from './dist/compiler.js';
const run = async () => {
  const wasm = new URL('./dist/compiler.wasm', location.href);
  const recorder = await Recorder.create({wasm});
  const compiler = await Compiler.open({wasm});
  const KINDS = ['Add', 'MatMul', 'Relu', 'Softmax', 'ReduceMean', 'Exp', 'Transpose', 'Conv', 'Sigmoid', 'LayerNormalization'];
  const times = [];
  for (let n = 8; n < 33; ++n) {
    for (const op of KINDS) {
      const x = recorder.leaf('f32', op === 'Conv' ? [1, n % 7 + 1, 16, 16] : [n, n + 1]);
      const other = {Add: [n, n + 1], MatMul: [n + 1, n + 2], Conv: [4, n % 7 + 1, 3, 3], LayerNormalization: [n + 1]}[op];
      const [made] = recorder.record(op, other ? [x, recorder.leaf('f32', other)] : [x]);
      const start = performance.now();
      await compiler.compile(recorder.model(recorder.plan([made.id]).program), {target: 'wasm'});
      if (n >= 28) times.push(performance.now() - start);
    }
  }
  return times.sort((a, b) => a - b);
};
run().then((times) => (globalThis.made = {times}), (problem) => (globalThis.made = {problem: String(problem.stack)}));
`;

test('small programs compile in a page within milliseconds', {skip}, async () => {
  const server = await startServer();
  server.put('/dist', folder(bundle));
  server.put('/index.html', text(`<!doctype html><meta charset="utf-8"><title>compiler</title><script type="module">${SCRIPT}</script>`, 'text/html'));
  server.put('/favicon.ico', text('', 'image/png'));
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.origin}/index.html`);
    await page.waitFor('globalThis.made');
    const {times = [], problem} = (await page.evaluate('globalThis.made')) as {times?: number[]; problem?: string};
    assert.equal(problem, undefined);
    assert.equal(times.length, 50);
    const late = times[Math.floor(times.length * 0.95)] as number;
    console.log(`compilations in a page: median ${times[25]?.toFixed(2)} ms, 95th percentile ${late.toFixed(2)} ms`);
    // The goal is 5 ms on a machine that does nothing else.
    assert.ok(late <= 40, `${late} ms`);
  } finally {
    await browser.close();
    server.close();
  }
});
