// Gradients where functions have kinks or their formulas would divide by 0: what docs/specs/semantics.md states.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {nn, Tensor} from '../src/index.ts';
import {near, skip} from './start.ts';

const F = nn.functional;

function documented(): string[][] {
  const lines = readFileSync(join(import.meta.dirname, '../../../../../docs/specs/semantics.md'), 'utf8').split('\n');
  const begin = lines.findIndex((line) => line.startsWith('| function of x |'));
  const rows = lines.slice(begin + 2);
  return rows.slice(0, rows.findIndex((line) => !line.startsWith('|'))).map((line) => line.split('|').slice(1, 4).map((cell) => cell.trim()));
}

test('gradients are those that the document states', {skip}, async () => {
  const rows = documented();
  assert.ok(rows.length >= 15, `${rows.length} rows`);
  for (const [code = '', at = '', gradient = ''] of rows) {
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the document's own expressions
    const of = new Function('x', 'F', 'Tensor', `return ${code.replaceAll('`', '')}`) as (x: Tensor, f: typeof F, tensor: typeof Tensor) => Tensor;
    const x = new Tensor(at.split(',').map(Number), {requiresGrad: true});
    of(x, F, Tensor).sum().backward();
    assert.ok(x.grad, code);
    await near(x.grad, gradient.split(',').map(Number), 1e-5, code);
  }
});

test('functions near 0 and at infinity', {skip}, async () => {
  const tiny = [1e-10, -1e-10, 1e-4, 0.4999, -0.4999, 0.9999, 3, -0.75];
  const far = (found: number, wanted: number): boolean => Math.abs(found - wanted) > 1e-6 * Math.abs(wanted);
  for (const [name, of] of [['log1p', Math.log1p], ['expm1', Math.expm1]] as const) {
    const x = new Tensor(tiny);
    const [places, found] = [(await x.array()) as number[], (await x[name]().array()) as number[]];
    places.forEach((place, at) => assert.ok(!far(found[at] ?? NaN, of(place)), `${name}(${place}) is ${found[at]}`));
  }
  const [y, x] = [[0, 1, -1, 0, 0, Infinity, -Infinity, 1, 1e30, -2, -0, 0, -0], [0, 0, 0, -1, 1, Infinity, -Infinity, -Infinity, 1e-30, 3, -1, -0, -0]];
  await near(new Tensor(y).atan2(new Tensor(x)), y.map((each, at) => Math.atan2(each, x[at] ?? 0)));
  await near(new Tensor([3, 0, -4]).norm(0), 2);
  await near(new Tensor([3, 0, -4]).norm(-Infinity), 0);
  await near(new Tensor([3, 1, -4]).norm(3), 92 ** (1 / 3));
});

test('interpolate as in PyTorch', {skip}, async () => {
  const x = new Tensor([0, 1, 2, 3, 4], {shape: [1, 1, 5]});
  await near(F.interpolate(x, {size: [1], mode: 'linear'}), [[[2]]]);
  await near(F.interpolate(x, {scale: 1.5, mode: 'linear'}), [[[0, 0.5, 7 / 6, 11 / 6, 2.5, 19 / 6, 23 / 6]]]);
  await near(F.interpolate(x, {scale: 0.6}), [[[0, 1, 3]]]);
  await near(F.interpolate(x, {size: [3], mode: 'nearest-exact'}), [[[0, 2, 4]]]);
  await near(F.interpolate(x, {size: [2], mode: 'area'}), [[[1, 3]]]);
  await near(F.interpolate(x, {size: [3], mode: 'linear', alignCorners: true}), [[[0, 2, 4]]]);
  assert.throws(() => F.interpolate(x, {size: [3], mode: 'nonsense' as 'area'}), /mode 'nonsense'; it must be nearest, .* or area/);
  assert.throws(() => F.interpolate(x, {size: [3], scale: 2}), /a size or a scale/);
  assert.throws(() => F.interpolate(x, {size: [3], alignCorners: true}), /alignCorners does not go with mode 'nearest'/);
});

test('pools without a batch, and diagonals of one', {skip}, async () => {
  const x = Tensor.arange(16).cast('f32').reshape(1, 4, 4);
  await near(F.maxPool2d(x, 2), [[[5, 7], [13, 15]]]);
  await near(new nn.MaxPool2d(2).forward(x), [[[5, 7], [13, 15]]]);
  await near(F.avgPool2d(x, 2), [[[2.5, 4.5], [10.5, 12.5]]]);
  await near(F.adaptiveAvgPool2d(x, 1), [[[7.5]]]);
  await near(F.adaptiveAvgPool2d(x, 3), [[[2.5, 3.5, 4.5], [6.5, 7.5, 8.5], [10.5, 11.5, 12.5]]]);
  await near(F.adaptiveMaxPool2d(x, [3, 4]), [[[4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]]);
  await near(F.maxPool1d(x.reshape(4, 4), 4), [[3], [7], [11], [15]]);
  assert.throws(() => F.maxPool2d(x.reshape(4, 4), 2), /maxPool2d: a tensor of 2 axes; 3 or 4 are expected/);
  const batch = Tensor.arange(12).cast('f32').reshape(2, 2, 3);
  await near(batch.diagonal(), [[0, 9], [1, 10], [2, 11]]);
  await near(batch.diagonal(0, -2, -1), [[0, 4], [6, 10]]);
  await near(batch.diagonal(1, 1, 2), [[1, 5], [7, 11]]);
  await near(batch.diagonal(-1, 1, 2), [[3], [9]]);
  assert.throws(() => batch.trace(), /trace: a tensor of 3 axes/);
});

test('layerNorm without a weight on every device', {skip}, () => {
  for (const device of ['webgl', 'webgpu'] as const) {
    const x = new Tensor([[1, 2]], {device});
    assert.deepEqual(x.layerNorm([2]).shape, [1, 2]);
    assert.deepEqual(x.layerNorm([2], null, new Tensor([1, 2], {device})).shape, [1, 2]);
  }
});
