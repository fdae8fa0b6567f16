// The page that names what a camera sees: a stream of photographs whose classes are known.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {COLOURS} from '../../tests/models/example_data.mjs';
import {type Example, own, skip, withExample} from './src/example.ts';

/** What each is named first: a colour, or as onnxruntime does (data/images_top5_ort.json). */
const PHOTOGRAPHS: Readonly<Record<string, string>> = own
  ? Object.fromEntries(Object.keys(COLOURS).map((name) => [`${name}.png`, name]))
  : {'bald_eagle.jpeg': 'bald eagle', 'dog_samoyed.jpg': 'Samoyed', 'kitten_224.png': 'tabby'};
const FIRST = `data/data/images/${Object.keys(PHOTOGRAPHS)[0]}`;

async function named(example: Example): Promise<string[]> {
  // A frame that was on its way, then one of what is there.
  for (let frame = 0; frame < 2; ++frame) {
    await example.forget();
    await example.reach('named');
  }
  return String(await example.page.evaluate("[...document.querySelectorAll('#names .label')].map((each) => each.innerText).join('\\n')")).split('\n');
}

test('what the camera sees is named', {skip}, () =>
  withExample('camera', async ({open}) => {
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      const example = await open(`device=${device}`);
      await example.reach('ready');
      await example.giveCamera();
      await example.showPicture(FIRST);
      await example.press('#start');
      for (const [file, expected] of Object.entries(PHOTOGRAPHS)) {
        await example.showPicture(`data/data/images/${file}`);
        const names = await named(example);
        assert.equal(names.length, 5);
        assert.equal(names[0], expected, `${device}: ${file}: ${names.join(', ')}`);
      }
      assert.match(await example.text('#speed'), /^[\d.]+ frames a second$/);
      await example.screenshot(`camera-${device}`);
      await example.press('#stop');
      await example.reach('ready');
      assert.equal(await example.page.evaluate("document.querySelector('#video').srcObject"), null);
      await example.page.close();
    }
  }));

test('a camera may be closed while a frame is looked at', {skip}, () =>
  withExample('camera', async ({open}) => {
    const example = await open('device=cpu');
    await example.reach('ready');
    await example.giveCamera();
    await example.showPicture(FIRST);
    await example.page.evaluate(`{
      const video = document.querySelector('#video');
      const request = video.requestVideoFrameCallback.bind(video);
      video.requestVideoFrameCallback = (seen) => request((...frame) => {
        seen(...frame);
        document.querySelector('#stop').click();
      });
    }`);
    await example.forget();
    await example.press('#start');
    await example.reach('ready');
  }));

test('without a camera the page says so', {skip}, () =>
  withExample('camera', async ({open}) => {
    const example = await open('device=cpu');
    await example.reach('ready');
    await example.press('#start');
    await example.reach('failed');
    assert.match(await example.text('#trouble'), /^(There is no camera here|The camera may not be used)/);
    assert.equal(await example.page.evaluate("document.querySelector('#start').disabled"), false);
  }));
