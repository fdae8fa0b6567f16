// Small programs of new shapes, compiled in a page that stays: by reference loops that the page runs in between.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {median, referenceLoop} from './fixtures/reference.ts';
import {startBrowser} from './src/browser.ts';
import {folder, startServer, text} from './src/server.ts';

const bundle = join(import.meta.dirname, '../../../compiler/dist');
const skip = existsSync(join(bundle, 'compiler.wasm')) ? false : 'compiler.wasm is not built (make wasm)';

/** As long as ten compilations take, about: what else runs on the machine slows both down alike. */
const LOOPS = 40;

const SCRIPT = `
import {Compiler, Recorder} from './dist/compiler.js';
const referenceLoop = ${referenceLoop.toString()};
const run = async () => {
  const wasm = new URL('./dist/compiler.wasm', location.href);
  const recorder = await Recorder.create({wasm});
  const compiler = await Compiler.open({wasm});
  const KINDS = ['Add', 'MatMul', 'Relu', 'Softmax', 'ReduceMean', 'Exp', 'Transpose', 'Conv', 'Sigmoid', 'LayerNormalization'];
  const times = [];
  for (let n = 8; n < 53; ++n) {
    const begin = performance.now();
    for (const op of KINDS) {
      const x = recorder.leaf('f32', op === 'Conv' ? [1, n % 7 + 1, 16, 16] : [n, n + 1]);
      const other = {Add: [n, n + 1], MatMul: [n + 1, n + 2], Conv: [4, n % 7 + 1, 3, 3], LayerNormalization: [n + 1]}[op];
      const [made] = recorder.record(op, other ? [x, recorder.leaf('f32', other)] : [x]);
      await compiler.compile(recorder.model(recorder.plan([made.id]).program), {target: 'wasm'});
    }
    const middle = performance.now();
    for (let turn = 0; turn < ${LOOPS}; ++turn) referenceLoop();
    if (n >= 28) times.push([middle - begin, performance.now() - middle]);
  }
  return times;
};
run().then((times) => (globalThis.made = {times}), (problem) => (globalThis.made = {problem: String(problem.stack)}));
`;

test('small programs compile in a page within their time', {skip}, async () => {
  const server = await startServer();
  server.put('/dist', folder(bundle));
  server.put('/index.html', text(`<!doctype html><meta charset="utf-8"><title>compiler</title><script type="module">${SCRIPT}</script>`, 'text/html'));
  server.put('/favicon.ico', text('', 'image/png'));
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${server.origin}/index.html`);
    await page.waitFor('globalThis.made');
    const {times = [], problem} = (await page.evaluate('globalThis.made')) as {times?: [number, number][]; problem?: string};
    assert.equal(problem, undefined);
    assert.equal(times.length, 25);
    const ratio = median(times.map(([compiling, looping]) => compiling / looping));
    console.log(`ten compilations in a page: ${median(times.map(([ms]) => ms)).toFixed(1)} ms, ${ratio.toFixed(2)} times ${LOOPS} reference loops`);
    assert.ok(ratio <= 2.3, `${ratio} times as long as ${LOOPS} reference loops`);
  } finally {
    await browser.close();
    server.close();
  }
});
