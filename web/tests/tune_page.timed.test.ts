// The page that tunes a model on the user's device: it goes on drawing meanwhile, and the next visit has what was found.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {type Example, own, skip, withExample} from './src/example.ts';

/** The page brings the digits along. */
const MODEL = own ? 'digits.onnx' : 'data/models/ultraface_slim320_simpl/model.onnx';

/** Notes the milliseconds between frames, from now on. */
const watchFrames = (example: Example): Promise<unknown> => example.page.evaluate(`{
  const frames = (window.frames_ = []);
  let last = performance.now();
  const frame = (at) => {
    frames.push(at - last);
    last = at;
    if (window.frames_ === frames) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}`);

/** Frames a second since they are watched. */
async function frameRate(example: Example): Promise<number> {
  const frames = (await example.page.evaluate('window.frames_')) as number[];
  return (1000 * frames.length) / frames.reduce((sum, each) => sum + each, 0);
}

/** Frames a second while workers that only count take all processors. */
async function busyFrameRate(example: Example): Promise<number> {
  await example.page.evaluate(`{
    const script = URL.createObjectURL(new Blob(['for (;;);']));
    window.busy_ = Array.from({length: navigator.hardwareConcurrency}, () => new Worker(script));
  }`);
  await watchFrames(example);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const rate = await frameRate(example);
  await example.page.evaluate('window.busy_.forEach((worker) => worker.terminate())');
  return rate;
}

for (const [device, target] of [['cpu', 'wasm'], ['webgpu', 'webgpu'], ['webgl', 'webgl']] as const) {
  test(`a model is tuned on ${target}, and stays so`, {skip}, () =>
    withExample('tune', async ({open}) => {
      const query = `device=${device}&seconds=4&model=${MODEL}`;
      const example = await open(query);
      await example.reach('ready');
      const busy = await busyFrameRate(example);
      await watchFrames(example);
      await example.press('#start');
      await example.reach('done', 240);
      const text = await example.text('#now');
      assert.match(text, /^kernels \d+\.\d\d times as fast; a run took .*, now .*; [1-9]\d* points measured$/);
      const rate = await frameRate(example);
      console.log(`${target}: ${text}; ${rate.toFixed(0)} frames a second, ${busy.toFixed(0)} beside busy workers`);
      assert.ok(rate >= busy / 2, `${rate} frames a second, ${busy} beside busy workers`);
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
