// The page that redraws pictures: enlarged ones are nearer to the truth than the browser's, styled ones are onnxruntime's.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {MARGIN} from '../examples/redraw/effects.ts';
import {luma, withLuma} from '../examples/redraw/pixels.ts';
import {byTiles, cut, tiles} from '../examples/redraw/tiles.ts';
import {STYLE} from '../../tests/models/example_data.mjs';
import {type Example, own, skip, withExample} from './src/example.ts';

/** Drops onto the page what `paint`, the body of a function of a canvas' context, draws at this size. */
async function drop(example: Example, width: number, height: number, paint: string): Promise<void> {
  await example.forget();
  await example.page.evaluate(`(async () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [${width}, ${height}];
    await (async (context) => {${paint}})(canvas.getContext('2d'));
    const list = new DataTransfer();
    list.items.add(new File([await new Promise((resolve) => canvas.toBlob(resolve))], 'given.png', {type: 'image/png'}));
    document.querySelector('#drop').dispatchEvent(new DragEvent('drop', {dataTransfer: list, bubbles: true, cancelable: true}));
  })()`);
  await example.reach('done', 300);
}

/** Square errors of brightness of a canvas against that of `window.truth`, away from the edge. */
const errorOf = (id: string): string => `(() => {
  const canvas = document.querySelector('#${id}');
  const {width, height} = canvas;
  const [a, b] = [canvas, window.truth].map((each) => each.getContext('2d').getImageData(0, 0, width, height).data);
  let [sum, count] = [0, 0];
  const bright = (data, at) => 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
  for (let y = 12; y < height - 12; ++y) for (let x = 12; x < width - 12; ++x) {
    const at = 4 * (y * width + x);
    sum += (bright(a, at) - bright(b, at)) ** 2;
    ++count;
  }
  return sum / count;
})()`;

/** Draws the larger picture on `canvas`: a part of a photograph, or squares of three by three points, of which the model here makes points. */
const PAINT = own
  ? `const image = truth.createImageData(900, 780);
     for (let y = 0; y < 780; ++y) for (let x = 0; x < 900; ++x) {
       const [u, v] = [Math.floor(x / 3), Math.floor(y / 3)];
       image.data.set([100 + 90 * Math.sin(u / 2) * Math.cos(v / 3), (u * 3 + v) % 256, (u ^ v) & 255, 255], 4 * (y * 900 + x));
     }
     truth.putImageData(image, 0, 0);`
  : `const image = new Image();
     image.src = 'data/data/images/dog_samoyed.jpg';
     await image.decode();
     truth.drawImage(image, 300, 200, 900, 780, 0, 0, 900, 780);`;

test('a picture is made three times as large, nearer to what it was than the browser makes it', {skip}, () =>
  withExample('redraw', async ({open}) => {
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      const example = await open(`device=${device}&effect=enlarge`);
      await example.reach('ready');
      // 900 x 780 points, of which the page is given a third each way: more than one tile.
      await drop(example, 300, 260, `
        window.truth = Object.assign(document.createElement('canvas'), {width: 900, height: 780});
        const truth = window.truth.getContext('2d');
        ${PAINT}
        context.imageSmoothingQuality = 'high';
        context.drawImage(window.truth, 0, 0, 300, 260);`);
      assert.match(await example.text('#time'), /^300 x 260 became 900 x 780 in \d+ ms on /);
      const [before, after] = [Number(await example.page.evaluate(errorOf('before'))), Number(await example.page.evaluate(errorOf('after')))];
      console.log(`${device}: square error ${before.toFixed(1)} of the browser, ${after.toFixed(1)} of the network`);
      assert.ok(after < (own ? 0.4 : 0.9) * before, `${device}: ${after} against ${before}`);
      await example.screenshot(`redraw-enlarge-${device}`);
      const {bytes} = await example.page.save('#download');
      assert.deepEqual([...bytes.slice(1, 4)], [...'PNG'].map((letter) => letter.charCodeAt(0)));
      await example.page.close();
    }
  }));

/** A picture that `context` draws. */
const PICTURE = (x: number, y: number): [number, number, number] => [(x * 3 + y) % 256, (x ^ y) & 255, ((x >> 3) * (y >> 3)) % 256];

/** The mean red, green and blue of nine parts, row by row, of a picture in the style of the model of this repository. */
function ownStyle(): number[][] {
  const sums = Array.from({length: 9}, () => [0, 0, 0]);
  for (let y = 0; y < 720; ++y) for (let x = 0; x < 720; ++x) {
    const bgr = PICTURE(x, y).reverse();
    const sum = sums[3 * Math.floor(y / 240) + Math.floor(x / 240)] as [number, number, number];
    STYLE.rows.forEach((row, at) => {
      const value = row.reduce((all, weight, channel) => all + weight * (bgr[channel] as number), STYLE.added[at] as number);
      sum[(2 - at) as 0 | 1 | 2] += Math.min(255, Math.max(0, Math.round(value))) / 240 ** 2;
    });
  }
  return sums;
}

/** The same of fns_candy by onnxruntime 1.31.1, its planes in the order blue, green, red, rounded to bytes. */
const CANDY = own ? ownStyle() : [
  [176, 129, 100], [164, 108, 106], [174, 133, 110],
  [171, 136, 118], [168, 132, 119], [183, 150, 115],
  [162, 140, 136], [173, 147, 126], [184, 152, 121],
];

test('a picture is drawn in a style', {skip}, () =>
  withExample('redraw', async ({open}) => {
    for (const device of ['cpu', 'webgpu']) {
      const example = await open(`device=${device}&effect=candy`);
      await example.reach('ready');
      await drop(example, 720, 720, `
        const image = context.createImageData(720, 720);
        for (let y = 0; y < 720; ++y) for (let x = 0; x < 720; ++x) {
          image.data.set([...(${String(PICTURE)})(x, y), 255], 4 * (y * 720 + x));
        }
        context.putImageData(image, 0, 0);`);
      const means = (await example.page.evaluate(`(() => {
        const {data} = document.querySelector('#after').getContext('2d').getImageData(0, 0, 720, 720);
        const sums = Array.from({length: 9}, () => [0, 0, 0]);
        for (let y = 0; y < 720; ++y) for (let x = 0; x < 720; ++x) for (let channel = 0; channel < 3; ++channel) {
          sums[3 * Math.floor(y / 240) + Math.floor(x / 240)][channel] += data[4 * (y * 720 + x) + channel] / 240 ** 2;
        }
        return sums;
      })()`)) as number[][];
      means.forEach((mean, part) => mean.forEach((value, channel) => {
        assert.ok(Math.abs(value - (CANDY[part]?.[channel] ?? NaN)) < 1, `${device}: part ${part}: ${mean.join(', ')}`);
      }));
      await example.screenshot(`redraw-candy-${device}`);
      await example.page.close();
    }
  }));

test('refuses files other than pictures', {skip}, () =>
  withExample('redraw', async ({open}) => {
    const example = await open('device=cpu');
    await example.reach('ready');
    await example.page.choose('#file', [{name: 'a.png', bytes: Uint8Array.of(1, 2, 3), type: 'image/png'}]);
    await example.reach('failed');
    assert.match(await example.text('#trouble'), /no picture that the browser can read/);
  }));

test('tiles cover a line once, and know their neighbourhood', () => {
  for (const extent of [1, 100, 224, 225, 430, 433, 600, 1000]) {
    let end = 0;
    for (const {begin, from, to} of tiles(extent, 224, 5)) {
      assert.equal(from, end);
      assert.ok(to > from && begin >= 0 && begin <= Math.max(0, extent - 224));
      assert.ok(from === 0 || from - begin >= 5, `${extent}: ${from} of a tile from ${begin}`);
      assert.ok(to === extent || begin + 224 - to >= 5, `${extent}: ${to} of a tile from ${begin}`);
      end = to;
    }
    assert.equal(end, extent);
  }
  const plane = Float32Array.from({length: 6}, (_, at) => at);
  assert.deepEqual([...cut(plane, 3, 2, 1, 0, 3)], [1, 2, 2, 4, 5, 5, 4, 5, 5]);
  const grey = {width: 1, height: 1, data: Uint8ClampedArray.of(100, 100, 100, 255)};
  assert.deepEqual([...withLuma(grey, luma(grey)).data], [100, 100, 100, 255]);
  assert.deepEqual([...withLuma(grey, Float32Array.of(0.6)).data], [153, 153, 153, 255]);
});

/** Each value twice each way, as the mean of its neighbourhood within the square: what a network of windows that pad does. */
function spread(part: Float32Array): Promise<Float32Array> {
  const side = Math.sqrt(part.length);
  const mean = (x: number, y: number): number => {
    let sum = 0;
    for (let v = y - MARGIN; v <= y + MARGIN; ++v) for (let u = x - MARGIN; u <= x + MARGIN; ++u) {
      if (u >= 0 && u < side && v >= 0 && v < side) sum += part[v * side + u] as number;
    }
    return sum;
  };
  return Promise.resolve(Float32Array.from({length: 4 * part.length}, (_, at) => mean((at % (2 * side)) >> 1, Math.floor(at / (2 * side)) >> 1)));
}

test('what is made of tiles is what is made of the whole', async () => {
  const plane = Float32Array.from({length: 40 * 40}, (_, at) => (at * at) % 251);
  const by = (side: number): Promise<Float32Array> => byTiles(plane, 40, 40, {side, scale: 2, margin: MARGIN}, spread, () => Promise.resolve());
  assert.deepEqual(await by(24), await by(40));
  assert.notDeepEqual(await byTiles(plane, 40, 40, {side: 24, scale: 2, margin: MARGIN - 1}, spread, () => Promise.resolve()), await by(40));
});
