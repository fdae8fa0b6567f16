// The page that trains a network on MNIST: a tenth of what it takes to be good, then the network runs as a model.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {compile} from '../compiler/src/index.ts';
import {load, tensor} from '../runtime/src/index.ts';
import {DIGITS} from '../../tests/models/example_data.mjs';
import {compilerWasm, own, skip, withExample} from './src/example.ts';

test('a page trains a network on digits, draws its loss, and gives it away as a model', {skip}, () =>
  withExample('train', async ({open}) => {
    const epochs = process.env['GOSSAMER_TRAIN_EPOCHS'] ?? '1';
    const seed = process.env['GOSSAMER_TRAIN_SEED'] ?? '1';
    const example = await open(`data=data/data/mnist&train=train10k&epochs=${epochs}&seed=${seed}`);
    const {page} = example;
    await example.reach('ready');
    const [learned, tested] = own ? [DIGITS.train10k, DIGITS.t10k] : [10_000, 10_000];
    assert.ok((await example.text('body')).includes(`${learned} digits to learn from, ${tested} to be tested on`));
    await example.press('#start');
    await example.reach('done', 600);
    const shown = await example.text('#accuracy');
    console.log(shown);
    assert.ok(Number(/^([\d.]+) %/.exec(shown)?.[1]) >= 90, shown);
    assert.equal(await page.evaluate("document.querySelectorAll('#chart canvas').length"), 1);
    await example.screenshot('train');
    const saved = await page.save('#download');
    assert.equal(saved.name, 'digits.onnx');
    assert.ok(saved.bytes.length < 100_000, `${saved.bytes.length} bytes`);
    using model = await load(await compile(saved.bytes, {target: 'wasm', wasm: readFileSync(compilerWasm)}));
    assert.deepEqual(model.describe(), {inputs: ['image: f32 [1, 1, 28, 28]'], outputs: ['probabilities: f32 [1, 10]']});
    // A stroke from top to bottom is a one.
    const one = new Float32Array(784).map((_, at) => (Math.abs((at % 28) - 14) < 2 && at > 140 && at < 644 ? 1 : 0));
    const {probabilities} = await model.run({image: tensor(one, [1, 1, 28, 28])});
    const read = Array.from((await probabilities?.data()) as Float32Array);
    assert.equal(read.indexOf(Math.max(...read)), 1, String(read));
    assert.ok(Math.abs(read.reduce((sum, each) => sum + each, 0) - 1) < 1e-5);
  }));
