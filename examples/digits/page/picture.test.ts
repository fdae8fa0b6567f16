import assert from 'node:assert/strict';
import {test} from 'node:test';

import {centreOfMass, digitPicture, SIZE, type Stroke} from './picture.ts';

const SEVEN: Stroke[] = [
  [
    {x: 60, y: 40},
    {x: 160, y: 40},
    {x: 100, y: 200},
  ],
];

function inkedBox(picture: Float32Array): {width: number; height: number} {
  const columns = new Set<number>();
  const rows = new Set<number>();
  picture.forEach((ink, at) => {
    if (ink > 0.5) {
      columns.add(at % SIZE);
      rows.add(Math.floor(at / SIZE));
    }
  });
  return {width: columns.size, height: rows.size};
}

function moved(strokes: Stroke[], scale: number, dx: number, dy: number): Stroke[] {
  return strokes.map((s) => s.map(({x, y}) => ({x: scale * x + dx, y: scale * y + dy})));
}

function assertClose(a: Float32Array, b: Float32Array): void {
  a.forEach((value, at) => {
    assert.ok(Math.abs(value - (b[at] ?? NaN)) < 1e-4, `pixel ${at}: ${value} and ${b[at]}`);
  });
}

test('nothing drawn is an empty picture', () => {
  const picture = digitPicture([], 40);
  assert.equal(picture.length, SIZE * SIZE);
  assert.ok(picture.every((ink) => ink === 0));
  assert.ok(digitPicture([[]], 40).every((ink) => ink === 0));
});

test('the longer side fills a box of 20 pixels', () => {
  const {width, height} = inkedBox(digitPicture(SEVEN, 40));
  assert.ok(height === 20 || height === 21, `${height} rows`);
  assert.ok(width < height);
});

test('the centre of mass lies in the middle', () => {
  const centre = centreOfMass(digitPicture(SEVEN, 40));
  assert.ok(centre !== undefined);
  assert.ok(Math.hypot(centre.x - SIZE / 2, centre.y - SIZE / 2) < 0.1, JSON.stringify(centre));
});

test('neither place nor size of the drawing matters', () => {
  const picture = digitPicture(SEVEN, 40);
  assertClose(digitPicture(moved(SEVEN, 1, 37, -21), 40), picture);
  assertClose(digitPicture(moved(SEVEN, 0.5, 3, 5), 40), picture);
  assertClose(digitPicture(moved(SEVEN, 3, 0, 0), 40), picture);
});

test('values are between 0 and 1, and a line is as bright as ink can be', () => {
  const picture = digitPicture(SEVEN, 40);
  assert.ok(picture.every((ink) => ink >= 0 && ink <= 1));
  assert.ok(picture.some((ink) => ink === 1));
});

test('a dot stays a dot', () => {
  const {width, height} = inkedBox(digitPicture([[{x: 50, y: 50}]], 40));
  assert.ok(width >= 2 && width <= 4 && height >= 2 && height <= 4, `${width} x ${height}`);
});
