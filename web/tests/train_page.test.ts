// The page that trains a network on MNIST: a tenth of what it takes to be good, then the network runs as a model.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {compile} from '../compiler/src/index.ts';
import {load, tensor} from '../runtime/src/index.ts';
import {startBrowser} from './src/browser.ts';
import {folder, startServer} from './src/server.ts';

const root = join(import.meta.dirname, '../../..');
const wasm = join(root, 'compiler/dist/compiler.wasm');
const digits = join(root, '../../shared/testdata/data/mnist');
const skip = !existsSync(wasm)
  ? 'compiler.wasm is not built (make web)'
  : existsSync(digits)
    ? false
    : "MNIST's files are not here (shared/testdata/data/mnist beside the checkout)";

test('a page trains a network on digits, draws its loss, and gives it away as a model', {skip}, async () => {
  const out = mkdtempSync(join(tmpdir(), 'train-'));
  const server = await startServer();
  const browser = await startBrowser();
  try {
    execFileSync(process.execPath, [join(root, 'examples/train/build.mjs'), out], {env: {...process.env, GOSSAMER_COMPILER_WASM: wasm}});
    server.put('/', folder(out));
    server.put('/mnist', folder(digits));
    const page = await browser.newPage();
    const state = 'document.documentElement.dataset.state';
    const epochs = process.env['GOSSAMER_TRAIN_EPOCHS'] ?? '1';
    const seed = process.env['GOSSAMER_TRAIN_SEED'] ?? '1';
    await page.goto(`${server.origin}/index.html?data=mnist&train=train10k&epochs=${epochs}&seed=${seed}`);
    await page.waitFor(`${state} === 'ready' || ${state} === 'failed'`);
    assert.match(String(await page.evaluate('document.body.innerText')), /10000 digits to learn from, 10000 to be tested on/);
    await page.evaluate("document.querySelector('#start').click()");
    const over = `${state} === 'done' || ${state} === 'failed'`;
    for (let tries = 0; tries < 8 && !(await page.evaluate(over)); ++tries) await page.waitFor(over).catch(() => undefined);
    const shown = String(await page.evaluate("document.querySelector('#accuracy').innerText + document.querySelector('#trouble').innerText"));
    console.log(shown);
    assert.ok(Number(/^([\d.]+) %/.exec(shown)?.[1]) >= 90, shown);
    assert.equal(await page.evaluate("document.querySelectorAll('#chart canvas').length"), 1);
    if (process.env['GOSSAMER_SCREENSHOT']) await page.screenshot(process.env['GOSSAMER_SCREENSHOT']);
    const saved = await page.save('#download');
    assert.equal(saved.name, 'digits.onnx');
    using model = await load(await compile(saved.bytes, {target: 'wasm', wasm: readFileSync(wasm)}));
    assert.deepEqual(model.describe(), {inputs: ['image: f32 [1, 1, 28, 28]'], outputs: ['scores: f32 [1, 10]']});
    // A stroke from top to bottom is a one.
    const one = new Float32Array(784).map((_, at) => (Math.abs((at % 28) - 14) < 2 && at > 140 && at < 644 ? 1 : 0));
    const {scores} = await model.run({image: tensor(one, [1, 1, 28, 28])});
    const read = Array.from((await scores?.data()) as Float32Array);
    assert.equal(read.indexOf(Math.max(...read)), 1, String(read));
  } finally {
    await browser.close();
    server.close();
    rmSync(out, {recursive: true});
  }
});
