// Expected numbers: PyTorch 2.15 on a CPU, the same calls on the same ramps, rounded to five digits.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {GossamerError, type Nested, nn, Tensor} from '../src/index.ts';
import {near, ramp, skip} from './start.ts';

const F = nn.functional;
const TOLERANCE = 2e-5;

test('arithmetic broadcasts and promotes as PyTorch does', {skip}, async () => {
  const a = new Tensor([1, 2, 3, 4, 5, 6], {shape: [2, 3]});
  const b = new Tensor([[1, 2], [3, 4], [5, 6]]);
  assert.deepEqual(await a.matmul(b).array(), [[22, 28], [49, 64]]);
  assert.deepEqual(await a.add(new Tensor([[10], [20]])).array(), [[11, 12, 13], [24, 25, 26]]);
  assert.deepEqual(await a.add(a, 2, 3).array(), [[5, 10, 15], [20, 25, 30]]);
  assert.deepEqual(await a.sub(b.transpose(), {alpha: 2}).array(), [[-1, -4, -7], [0, -3, -6]]);
  const i = Tensor.arange(-4, 4);
  assert.equal(i.dtype, 'i32');
  assert.equal(i.div(2).dtype, 'f32');
  assert.equal(i.add(1.5).dtype, 'f32');
  assert.equal(i.cast('u8').add(i.cast('i8')).dtype, 'i16');
  assert.equal(i.cast('f16').add(new Tensor(1, {dtype: 'f64'})).dtype, 'f16');
  assert.equal(i.cast('f16').add(new Tensor([1], {dtype: 'f64'})).dtype, 'f64');
  assert.equal(i.gt(0).sum().dtype, 'i64');
  assert.deepEqual(await i.floorDivide(3).array(), [-2, -1, -1, -1, 0, 0, 0, 1]);
  assert.deepEqual(await i.floorDivide(-3).array(), [1, 1, 0, 0, 0, -1, -1, -1]);
  assert.deepEqual(await i.remainder(3).array(), [2, 0, 1, 2, 0, 1, 2, 0]);
  assert.deepEqual(await i.fmod(3).array(), [-1, 0, -2, -1, 0, 1, 2, 0]);
  assert.deepEqual(await i.cast('f32').remainder(3).array(), [2, 0, 1, 2, 0, 1, 2, 0]);
  assert.deepEqual(await i.gt(0).logicalOr(i.eq(-4)).array(), [true, false, false, false, false, true, true, true]);
  assert.deepEqual(await i.bitwiseAnd(3).array(), [0, 1, 2, 3, 0, 1, 2, 3]);
  assert.deepEqual(await i.clamp(-1, 2).array(), [-1, -1, -1, -1, 0, 1, 2, 2]);
  assert.deepEqual(await i.maskedFill(i.lt(0), 9).array(), [9, 9, 9, 9, 0, 1, 2, 3]);
  await near(new Tensor([1, -1, 0, -2]).atan2(new Tensor([-1, -1, 2, 0])), [2.35619, -2.35619, 0, -1.5708], TOLERANCE);
});

test('every dtype comes back as it went in', {skip}, async () => {
  for (const dtype of ['f64', 'f32', 'f16', 'i64', 'i32', 'i16', 'i8', 'u32', 'u16', 'u8', 'bool'] as const) {
    const t = new Tensor([0, 1, 1, 0], {dtype, shape: [2, 2]});
    const twice = Tensor.cat([t, t], 1);
    assert.equal(twice.dtype, dtype);
    const data = Array.from((await twice.data()) as ArrayLike<number | bigint>, Number);
    assert.deepEqual(data, [0, 1, 0, 1, 1, 0, 1, 0], dtype);
  }
  assert.equal(new Tensor(Uint16Array.of(7)).dtype, 'u16');
  assert.equal(new Tensor([true]).dtype, 'bool');
  assert.equal(new Tensor([1], {dtype: 'float64'}).dtype, 'f64');
  assert.deepEqual(await new Tensor([[1n, 2n ** 40n]]).array(), [[1n, 2n ** 40n]]);
});

test('reductions', {skip}, async () => {
  const x = ramp([2, 3, 4], 7, 11, 5, 4);
  await near(x.softmax(1).select(2, 0), [[0.1478, 0.66241, 0.18978], [0.38902, 0.11146, 0.49952]], TOLERANCE);
  await near(x.logsumexp([0, 2]), [2.56969, 2.3059, 2.12599], TOLERANCE);
  await near(x.var([0, 2]), [0.78125, 0.5971, 0.73214], TOLERANCE);
  await near(x.std(1, {correction: 0}), [[0.65617, 0.65617, 0.65617, 1.02062], [0.65617, 0.65617, 1.02062, 0.65617]], TOLERANCE);
  await near(x.norm(3, 2), [[1.60781, 1.12859, 1.50231], [1.30428, 1.34292, 1.36003]], TOLERANCE);
  await near(x.cumsum(1).select(0, 0), [[-1.25, 0.5, -0.5, 1.25], [-1, -0.25, 0.5, 1.25], [-2, 0.5, 0.25, 0]]);
  await near(x.add(0.1).prod(2), [[0.3726, -0.02502, -0.13196], [-0.1134, 0.06435, 0.08798]], TOLERANCE);
  await near(x.max([0, 2]), [1.25, 1, 0.75]);
  await near(x.sum(), -0.75);
  await near(x.mean(-1, true).squeeze(), [[0, 0.125, -0.4375], [0.375, -0.1875, -0.0625]]);
  assert.deepEqual(await x.argmax(1).array(), [[1, 2, 1, 0], [2, 1, 0, 2]]);
  assert.equal(await x.argmin().item(), 0);
  const {values, indices} = x.select(0, 0).topk(2, 1, false);
  assert.deepEqual(await values.array(), [[-1.25, -0.5], [-0.75, 0], [-1.25, -1]]);
  assert.deepEqual(await indices.array(), [[0, 2], [1, 3], [3, 0]]);
  assert.deepEqual(await new Tensor([3, 1, 2]).argsort().array(), [1, 2, 0]);
  assert.deepEqual(await x.gt(1).any([1, 2]).array(), [true, true]);
});

test('layout', {skip}, async () => {
  const x = Tensor.arange(24).reshape(2, 3, -1);
  assert.deepEqual(x.shape, [2, 3, 4]);
  assert.deepEqual(await x.index(1, [0, 2], -1).array(), [15, 19]);
  assert.deepEqual(await x.index('...', [null, null, -2]).index(0).array(), [[3, 1], [7, 5], [11, 9]]);
  assert.deepEqual(x.index(null, ':', 0, null).shape, [1, 2, 1, 4]);
  assert.deepEqual(await x.index(0, new Tensor([2, 0], {dtype: 'i32'}), 1).array(), [9, 1]);
  assert.deepEqual(await x.slice([0, 3], [1, 0], [0, 2], [1, -2]).array(), [[[3, 1], [7, 5], [11, 9]]]);
  const at = (...data: number[]): Tensor => new Tensor(data, {dtype: 'i32'});
  assert.deepEqual(await x.index(at(0, 1), at(2, -1)).array(), [[8, 9, 10, 11], [20, 21, 22, 23]]);
  assert.deepEqual(await x.index(':', at(0, 2), at(3, 1)).array(), [[3, 9], [15, 21]]);
  assert.deepEqual(await x.index(at(1, 0), [1, null], at(0, 2)).array(), [[16, 20], [6, 10]]);
  assert.deepEqual(await x.index(at(0, 1).unsqueeze(1), at(2, 0)).index(':', ':', 0).array(), [[8, 0], [20, 12]]);
  assert.deepEqual(await x.index(1, new Tensor([true, false, true])).array(), [[12, 13, 14, 15], [20, 21, 22, 23]]);
  assert.deepEqual(await x.index(new Tensor([[true, false, false], [false, true, true]]), 0).array(), [0, 16, 20]);
  assert.throws(() => x.index(x.gt(3)), {code: 'input', message: /a mask that is computed is not known yet/});
  assert.throws(() => x.index(new Tensor([true, false, true])), /a mask of shape \[3\] for axes of \[2\]/);
  assert.deepEqual(await x.index(0, 0).gt(1).bitwiseAnd(x.index(0, 0).lt(3)).bitwiseNot().array(), [true, true, false, true]);
  assert.deepEqual(x.permute(2, 0, 1).shape, [4, 2, 3]);
  assert.deepEqual(x.transpose(0, 2).shape, [4, 3, 2]);
  assert.deepEqual(x.flatten(1).shape, [2, 12]);
  assert.deepEqual(x.unsqueeze(-1).squeeze(-1).shape, x.shape);
  const v = new Tensor([1, 2, 3]);
  assert.deepEqual(await v.expand(2, -1).array(), [[1, 2, 3], [1, 2, 3]]);
  assert.deepEqual(await v.repeat(2, 2).array(), [[1, 2, 3, 1, 2, 3], [1, 2, 3, 1, 2, 3]]);
  assert.deepEqual(await v.flip(0).array(), [3, 2, 1]);
  assert.deepEqual(await v.roll(1).array(), [3, 1, 2]);
  assert.deepEqual(await Tensor.stack([v, v], 1).array(), [[1, 1], [2, 2], [3, 3]]);
  assert.deepEqual((await Promise.all(v.split([1, 2]).map((part) => part.array()))), [[1], [2, 3]]);
  assert.deepEqual(await v.pad([1, 2], 'constant', 7).array(), [7, 1, 2, 3, 7, 7]);
  assert.deepEqual(await v.pad([1, 2], 'replicate').array(), [1, 1, 2, 3, 3, 3]);
  assert.deepEqual(await F.pad(Tensor.ones([1, 1]), [0, 1, 2, 0]).array(), [[0, 0], [0, 0], [1, 0]]);
  const square = Tensor.arange(1, 10).reshape(3, 3);
  assert.deepEqual(await square.triu(1).array(), [[0, 2, 3], [0, 0, 6], [0, 0, 0]]);
  assert.deepEqual(await square.diagonal().array(), [1, 5, 9]);
  assert.deepEqual(await square.setValues(new Tensor([[0, -1]], {dtype: 'i32'}), [1, 1]).array(), [[1, 2, 3], [4, 0, -1], [7, 8, 9]]);
  const places = new Tensor([[2, 0]], {dtype: 'i32'});
  assert.deepEqual(await square.gather(1, places).array(), [[3, 1]]);
  assert.deepEqual(await square.indexSelect(1, places.select(0, 0)).array(), [[3, 1], [6, 4], [9, 7]]);
  assert.deepEqual(await square.scatterAdd(1, places, places).array(), [[1, 2, 5], [4, 5, 6], [7, 8, 9]]);
  assert.deepEqual(await places.oneHot(3).array(), [[[0, 0, 1], [1, 0, 0]]]);
  assert.deepEqual(await Tensor.einsum('ij,kj->ik', square, square.slice([0], [1])).array(), [[14], [32], [50]]);
  assert.deepEqual(await Tensor.linspace(0, 1, 3).array(), [0, 0.5, 1]);
  assert.deepEqual(await Tensor.eye(2).array(), [[1, 0], [0, 1]]);
});

test('convolutions, pools and resampling', {skip}, async () => {
  const img = ramp([2, 2, 5, 5], 13, 17, 8, 8);
  const k = ramp([3, 2, 3, 3], 5, 13, 6, 6);
  const made = F.conv2d(img, k, new Tensor([0.1, -0.2, 0.3]), {stride: 2, padding: 1});
  assert.deepEqual(made.shape, [2, 3, 3, 3]);
  await near(made.index(1, 2), [[0.94583, 0.94583, 0.675], [-1.90833, -0.47083, -0.40833], [0.32083, 0.63333, -0.53333]], TOLERANCE);
  await near(F.conv2d(img, ramp([4, 1, 3, 3], 5, 13, 6, 6), null, {groups: 2, dilation: 2}).index(0).flatten(), [1.25, 0.41667, -0.6875, -0.625], TOLERANCE);
  const small = img.slice([0, 0, 0, 0], [1, 2, 2, 2]);
  const transposed = F.convTranspose2d(small, k.slice([0], [2]), null, {stride: 2, padding: 1, outputPadding: 1});
  await near(transposed.index(0, 1), [
    [0.25, 0.77083, 0.25, -0.39583], [2.58333, -0.4375, -0.60417, -0.35417],
    [0.25, -0.29167, 0.25, -0.20833], [-1.33333, 0.54167, -0.58333, 0.04167],
  ], TOLERANCE);
  await near(F.maxPool2d(img, 2).index(0), [[[0.75, 0.125], [0.375, 1]], [[1, 0.375], [0.625, 0.875]]]);
  await near(F.avgPool2d(img, 3, {stride: 2, padding: 1}).index(0, 0), [[0.06944, -0.04167, -0.125], [0.08333, -0.15278, 0.26389], [-0.19444, -0.08333, 0.08333]], TOLERANCE);
  const tiny = img.slice([0, 0, 0, 0], [1, 1, 2, 2]);
  await near(F.interpolate(tiny, {size: [3, 4], mode: 'bilinear'}).index(0, 0), [[-1, -0.59375, 0.21875, 0.625], [-0.125, 0.01562, 0.29688, 0.4375], [0.75, 0.625, 0.375, 0.25]], TOLERANCE);
  await near(F.interpolate(img.slice([0, 0, 0, 0], [1, 1, 2, 3]), {size: [3, 4], mode: 'bilinear', alignCorners: true}).index(0, 0), [[-1, 0.08333, 0.45833, 0.125], [-0.125, 0.25, 0.27083, -0.0625], [0.75, 0.41667, 0.08333, -0.25]], TOLERANCE);
  await near(tiny.upsample([1, 1, 2, 2]).index(0, 0, 0), [-1, -1, 0.625, 0.625]);
  await near(F.layerNorm(ramp([2, 3, 4], 7, 11, 5, 4), [4]).index(0), [[-1.31306, 0.52522, -0.52522, 1.31306], [0.2, -1.39998, 1.39998, -0.2], [-0.72289, 1.5261, 0.24096, -1.04418]], TOLERANCE);
  await near(F.groupNorm(img, 2).index(0, ':', 0), [[-1.58589, 1.07088, 0.25341, -0.56405, -1.38152], [-1.30204, 1.34273, 0.52896, -0.28482, -1.0986]], TOLERANCE);
});

test('activations', {skip}, async () => {
  const x = new Tensor([-2, -0.5, 0, 1.5]);
  const wanted: [string, Tensor, Nested][] = [
    ['elu', F.elu(x), [-0.86466, -0.39347, 0, 1.5]],
    ['gelu', F.gelu(x), [-0.0455, -0.15427, 0, 1.39979]],
    ['gelu by tanh', F.gelu(x, 'tanh'), [-0.0454, -0.15429, 0, 1.39957]],
    ['selu', F.selu(x), [-1.52017, -0.69176, 0, 1.57605]],
    ['mish', F.mish(x), [-0.2525, -0.22074, 0, 1.40338]],
    ['softplus', F.softplus(x), [0.12693, 0.47408, 0.69315, 1.70141]],
    ['silu', F.silu(x), [-0.23841, -0.18877, 0, 1.22636]],
    ['hardsigmoid', F.hardsigmoid(x), [0.16667, 0.41667, 0.5, 0.75]],
    ['hardswish', F.hardswish(x), [-0.33333, -0.20833, 0, 1.125]],
    ['prelu', F.prelu(x, new Tensor([0.25])), [-0.5, -0.125, 0, 1.5]],
    ['leakyRelu', F.leakyRelu(x, 0.1), [-0.2, -0.05, 0, 1.5]],
  ];
  for (const [name, made, values] of wanted) await near(made, values, TOLERANCE, name);
});

test('losses', {skip}, async () => {
  const z = new Tensor([[1, -2, 0.5], [0, 0.25, -1]]);
  const t = new Tensor([2, 0], {dtype: 'i32'});
  const q = new Tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]);
  const w = new Tensor([1, 2, 3]);
  const wanted: [string, Tensor, Nested][] = [
    ['ce', F.crossEntropy(z, t), 0.98994],
    ['ce with weights', F.crossEntropy(z, t, {weight: w}), 0.99727],
    ['ce smoothed', F.crossEntropy(z, t, {labelSmoothing: 0.1}), 1.03577],
    ['ce of probabilities', F.crossEntropy(z, q), 1.26494],
    ['ce that ignores', F.crossEntropy(z, new Tensor([2, -100], {dtype: 'i32'}), {ignoreIndex: -100}), 1.0046],
    ['ce where two computed targets are no classes', F.crossEntropy(Tensor.cat([z, z]), new Tensor([2, 3, -1, 0], {dtype: 'i32'}).add(0), {reduction: 'none'}), [1.0046, NaN, NaN, 0.97528]],
    ['ce smoothed, of no class', F.crossEntropy(z, new Tensor([2, 3], {dtype: 'i32'}).add(0), {labelSmoothing: 0.1}), NaN],
    ['nll', F.nllLoss(z.logSoftmax(1), t, {reduction: 'none'}), [1.0046, 0.97528]],
    ['bce of logits', F.binaryCrossEntropyWithLogits(z, q), 0.7161],
    ['bce with a weight of ones', F.binaryCrossEntropyWithLogits(z, q, {posWeight: w}), 1.02203],
    ['bce', F.binaryCrossEntropy(z.sigmoid(), q), 0.7161],
    ['huber', F.huberLoss(z, q, {delta: 0.7}), 0.39354],
    ['smooth l1', F.smoothL1Loss(z, q, {beta: 0.5}), 0.62667],
    ['kl', F.klDiv(z.logSoftmax(1), q, {reduction: 'batchmean'}), 0.4306],
    ['mse', F.mseLoss(z, q), 1.24208],
    ['l1', F.l1Loss(z, q, {reduction: 'sum'}), 4.85],
  ];
  for (const [name, made, value] of wanted) await near(made, value, TOLERANCE, name);
});

test('a program whose results the compiler knows', {skip}, async () => {
  const x = new Tensor([[1, 2, 3]]);
  assert.deepEqual(await Promise.all([x.apply('Shape').array(), x.apply('Size').item()]), [[1n, 3n], 3]);
});

test('what does not fit is an error of the call, with the operator and the shapes', {skip}, () => {
  const a = new Tensor([[1, 2, 3]]);
  const throws = (call: () => unknown, message: RegExp, code = 'input'): void =>
    assert.throws(call, (problem) => {
      assert.ok(problem instanceof GossamerError, String(problem));
      assert.match(problem.message, message);
      assert.equal(problem.code, code);
      assert.match(problem.stack ?? '', /operations\.test/);
      return true;
    });
  throws(() => a.matmul(a), /MatMul.*\[1, 3\].*\[1, 3\]/);
  throws(() => a.add(new Tensor([1, 2])), /Add.*\[1, 3\].*\[2\]/);
  throws(() => a.reshape(2, -1), /reshape: 3 elements.*\[2, -1\]/);
  throws(() => a.sum(2), /ReduceSum: axis 2 of a tensor of 2 axes/);
  throws(() => a.bitwiseAnd(1), /BitwiseAnd\(f32 \[1, 3\], f32 \[\]\)/);
  throws(() => Tensor.arange(3).mean(), /mean is of floats, this tensor is i32/);
  throws(() => a.add(a.to('webgpu')), /Add: its tensors are on cpu and webgpu/);
  throws(() => new Tensor([1, 2, 3], {shape: [2, 2]}), /Tensor: 3 elements.*\[2, 2\]/);
  throws(() => new Tensor([[1], [2, 3]]), /rows of nested arrays/);
  throws(() => new Tensor([1], {dtype: 'f3' as 'f32'}), /"f3" is no element type/);
  throws(() => F.mseLoss(a, a.transpose()), /mseLoss: .*\[1, 3\].*\[3, 1\]/);
  throws(() => new nn.Linear(4, 2).forward(a), /linear: .*\[1, 3\].*\[2, 4\].*3 and 4 features/);
  a.dispose();
  throws(() => a.add(1), /was disposed/, 'disposed');
});
