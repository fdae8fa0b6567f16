// The page that teaches a camera classes: pictures are collected from a stream, learnt, then named; and the classifier goes out as a model.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';

import {compile} from '../compiler/src/index.ts';
import {load, tensor} from '../runtime/src/index.ts';
import {compilerWasm, type Example, own, skip, withExample} from './src/example.ts';

const PICTURES = own ? ['red.png', 'blue.png', 'grey.png'] : ['orange.png', 'kitten_224.png', 'ocr_sample.jpg'];
const CLASSES = ['fruit', 'cat', 'text'];
/** Of the pictures that the network takes. */
const SIDE = own ? 64 : 244;

async function show(example: Example, file: string): Promise<void> {
  await example.showPicture(`data/data/images/${file}`);
}

async function teach(example: Example, classes: readonly string[], count: number): Promise<void> {
  await example.giveCamera();
  await show(example, PICTURES[0] as string);
  if (classes.length > 2) await example.press('#add');
  await example.press('#start');
  await example.reach('watching');
  for (const [at, name] of classes.entries()) {
    await example.enter(`#classes li:nth-child(${at + 1}) input`, name);
    await show(example, PICTURES[at] as string);
    await example.press(`#classes li:nth-child(${at + 1}) button`);
    await example.reach('collected');
    await example.forget();
  }
  assert.equal((await example.text('#classes')).split(`${count} pictures`).length, classes.length + 1);
  await example.press('#learn');
  await example.reach('named');
}

test('a camera is taught classes', {skip}, () =>
  withExample('teach', async ({open}) => {
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      // Software GPUs take a second for a picture.
      const [count, classes] = device === 'cpu' ? [16, CLASSES] : [4, CLASSES.slice(0, 2)];
      const example = await open(`device=${device}&at-once=${count}`);
      await example.reach('ready');
      assert.equal(await example.page.evaluate("document.querySelector('#learn').disabled"), true);
      await teach(example, classes, count);
      assert.match(await example.text('#accuracy'), /^100\.0 % of the pictures kept aside/);
      for (const at of classes.length > 2 ? [2, 0, 1] : [0, 1]) {
        await show(example, PICTURES[at] as string);
        for (let frame = 0; frame < 2; ++frame) {
          await example.forget();
          await example.reach('named');
        }
        const shown = await example.text('#names');
        assert.match(shown, new RegExp(`^${CLASSES[at]}\\b`), `${device}: ${shown}`);
        const share = Number(/([\d.]+) %/.exec(shown)?.[1]);
        assert.ok(share > 60, `${device}: ${shown}`);
      }
      await example.screenshot(`teach-${device}`);
      if (device !== 'cpu') {
        await example.page.close();
        continue;
      }
      // What it learnt is a model of its own, which names the picture that the page was shown last.
      const {bytes} = await example.page.save('#download');
      using model = await load(await compile(bytes, {target: 'wasm', wasm: readFileSync(compilerWasm)}));
      assert.deepEqual(model.describe(), {inputs: [`pixels: u8 [${SIDE}, ${SIDE}, 4]`], outputs: ['probabilities: f32 [1, 3]']});
      const pixels = (await example.page.evaluate(`(() => {
        const canvas = document.createElement('canvas');
        canvas.width = canvas.height = ${SIDE};
        const context = canvas.getContext('2d');
        context.drawImage(document.querySelector('#video'), 0, 0, ${SIDE}, ${SIDE});
        return [...context.getImageData(0, 0, ${SIDE}, ${SIDE}).data];
      })()`)) as number[];
      const {probabilities} = await model.run({pixels: tensor(Uint8Array.from(pixels), [SIDE, SIDE, 4])});
      const shares = Array.from((await probabilities?.data<Float32Array>()) ?? []);
      assert.ok((shares[1] as number) > 0.6, String(shares));
      await example.page.close();
    }
  }));
