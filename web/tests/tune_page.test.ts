// The page that tunes a model on the user's device: it goes on drawing meanwhile, and the next visit has what was found.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {type Example, skipWithout, withExample} from './src/example.ts';

const MODEL = 'models/ultraface_slim320_simpl/model.onnx';

/** Milliseconds between frames, from now on. */
const watchFrames = (example: Example): Promise<unknown> => example.page.evaluate(`{
  window.frames_ = [];
  let last = performance.now();
  const frame = (at) => {
    window.frames_.push(at - last);
    last = at;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}`);

for (const [device, target] of [['cpu', 'wasm'], ['webgpu', 'webgpu'], ['webgl', 'webgl']] as const) {
  test(`a model is tuned on ${target}, and stays so`, {skip: skipWithout(MODEL)}, () =>
    withExample('tune', async ({open}) => {
      const query = `device=${device}&seconds=8&model=data/${MODEL}`;
      const example = await open(query);
      await example.reach('ready');
      await watchFrames(example);
      await example.press('#start');
      await example.reach('done', 240);
      const text = await example.text('#now');
      assert.match(text, /^kernels \d+\.\d\d times as fast; a run took .*, now .*; [1-9]\d* points measured$/);
      const frames = (await example.page.evaluate('window.frames_')) as number[];
      const rate = (1000 * frames.length) / frames.reduce((sum, each) => sum + each, 0);
      console.log(`${target}: ${text}; ${rate.toFixed(0)} frames a second`);
      assert.ok(rate >= 30, `${rate} frames a second`);
      assert.ok((await example.page.evaluate("document.querySelectorAll('#kernels li').length")) as number > 2);
      await example.screenshot(`tune-${target}`);
      // What the origin keeps: the next visit begins with it.
      const {bytes} = await example.page.save('#records');
      const kept = String(await example.page.evaluate(`(async () => {
        const cache = await caches.open('gossamer-records');
        const [request] = await cache.keys();
        return (await cache.match(request)).text();
      })()`));
      assert.equal(new TextDecoder().decode(bytes), kept);
      const lines = kept.trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.ok(lines.some((line) => 'trial' in line));
      await example.page.close();
    }));
}
