import assert from 'node:assert/strict';
import {test} from 'node:test';

import {grad, nn, optim, Tensor} from '../src/index.ts';
import './start.ts';

const F = nn.functional;
const x = (...shape: number[]): Tensor => Tensor.randn(shape);
const parameter = (): nn.Parameter => new nn.Parameter([1, 2, 3]);
// As JavaScript calls it.
const loose = (call: unknown): ((...given: unknown[]) => unknown) => call as (...given: unknown[]) => unknown;
const make = (Made: unknown, ...given: unknown[]): unknown => new (Made as new (...given: unknown[]) => unknown)(...given);

test('options go by place, by name, and by Python\'s spelling', async () => {
  assert.equal(new nn.Linear(2, 3, false).bias, null);
  assert.equal(new nn.Linear(2, 3, {bias: false}).bias, null);
  assert.equal(new nn.Linear(2, 3, undefined).bias?.size, 3);
  const placed = new nn.Conv2d(4, 6, 3, 2, 1, 1, 2, false);
  const named = new nn.Conv2d(4, 6, 3, {stride: 2, padding: 1, groups: 2, bias: false});
  assert.deepEqual([placed.options, placed.bias, placed.weight.shape], [named.options, null, [6, 2, 3, 3]]);
  assert.deepEqual(named.forward(x(1, 4, 8, 8)).shape, [1, 6, 4, 4]);
  const wider = new nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2, false, 1);
  assert.deepEqual([wider.bias, wider.forward(x(1, 4, 4, 4)).shape], [null, [1, 6, 8, 8]]);
  const norm = new nn.BatchNorm2d(3, {track_running_stats: false, eps: 1e-3});
  assert.deepEqual([norm.runningMean, norm.eps], [null, 1e-3]);
  assert.equal(new nn.LayerNorm(4, 1e-6, false).weight, null);
  assert.equal(new nn.LayerNorm(4, {elementwise_affine: false}).weight, null);
  assert.equal(new nn.Embedding(5, 2, 1).paddingIndex, 1);
  assert.equal(new nn.Embedding(5, 2, {padding_idx: 3}).paddingIndex, 3);
  assert.deepEqual(new nn.LSTM(3, 4, {num_layers: 2, batch_first: true}).forward(x(2, 5, 3))[0].shape, [2, 5, 4]);
  assert.deepEqual(new nn.LSTM(3, 4, 2, true, true).forward(x(2, 5, 3))[0].shape, [2, 5, 4]);
  assert.equal(new nn.TransformerEncoderLayer(8, 2, 16, 0, 'gelu').activation, 'gelu');
  assert.deepEqual(F.interpolate(x(1, 1, 4, 4), undefined, 2, 'bilinear').shape, [1, 1, 8, 8]);
  assert.deepEqual(F.interpolate(x(1, 1, 4, 4), {scale_factor: 0.5}).shape, [1, 1, 2, 2]);
  assert.deepEqual(F.maxPool2d(x(1, 1, 5, 5), 2, 2, 0, 1, true).shape, [1, 1, 3, 3]);
  assert.deepEqual(F.avgPool2d(x(1, 1, 5, 5), 2, {ceil_mode: true}).shape, [1, 1, 3, 3]);
  const q = x(1, 2, 3, 4);
  const mask = Tensor.zeros([3, 3]);
  const wanted = await F.scaledDotProductAttention(q, q, q, {causal: true}).data();
  assert.deepEqual(await F.scaledDotProductAttention(q, q, q, {is_causal: true, attn_mask: mask}).data(), wanted);
});

test('optimizers and schedules take what PyTorch\'s take', () => {
  const rates = ({groups}: optim.AdamW) => groups.map(({lr, weightDecay, betas}) => [lr, weightDecay, betas]);
  assert.deepEqual(rates(new optim.AdamW([parameter()], 0.01)), [[0.01, 0.01, [0.9, 0.999]]]);
  assert.deepEqual(rates(new optim.AdamW([parameter()], {lr: 0.1, weight_decay: 0.5})), [[0.1, 0.5, [0.9, 0.999]]]);
  const groups = [{params: [parameter()], lr: 2}, {params: [parameter()]}];
  assert.deepEqual(rates(new optim.AdamW(groups, 0.01)), [[2, 0.01, [0.9, 0.999]], [0.01, 0.01, [0.9, 0.999]]]);
  const adam = new optim.Adam([parameter()], 0.1, [0.8, 0.9], 1e-7, 0.3, true).groups[0];
  assert.deepEqual([adam?.lr, adam?.betas, adam?.eps, adam?.weightDecay, adam?.amsgrad], [0.1, [0.8, 0.9], 1e-7, 0.3, true]);
  // TensorJS's order.
  assert.deepEqual(new optim.Adam([parameter()], 0.1, 0.8, 0.95).groups[0]?.betas, [0.8, 0.95]);
  const sgd = new optim.SGD([parameter()], 0.1, 0.9, 0, 1e-4, true);
  assert.deepEqual([sgd.groups[0]?.momentum, sgd.groups[0]?.weightDecay, sgd.groups[0]?.nesterov], [0.9, 1e-4, true]);
  const schedule = new optim.StepLR(sgd, 1, {gamma: 0.5});
  schedule.step();
  assert.deepEqual(schedule.getLastLr(), [0.05]);
  assert.deepEqual(new optim.LinearLR(new optim.SGD([parameter()], 1), 0.5, 1, 10).getLastLr(), [0.5]);
});

test('an option that there is not throws, and names the nearest', () => {
  const image = x(1, 1, 4, 4);
  for (const [call, message] of [
    [() => loose(F.interpolate)(image, {scale: 2, antialiased: true}), /interpolate: there is no option 'antialiased'; did you mean 'antialias'/],
    [() => loose(F.gelu)(image, {approximat: 'tanh'}), /gelu: .*did you mean 'approximate'/],
    [() => make(nn.GLU, {dims: 1}), /glu: .*did you mean 'dim'/],
    [() => make(nn.Linear, 2, 3, {biass: false}), /Linear: .*'biass'; did you mean 'bias'/],
    [() => make(nn.Conv2d, 1, 1, 3, {strides: 2}), /Conv2d: .*'strides'; did you mean 'stride'/],
    [() => make(nn.BatchNorm2d, 3, {momentun: 0.1}), /did you mean 'momentum'/],
    [() => make(nn.LSTM, 3, 4, {num_layer: 2}), /LSTM: .*did you mean 'numLayers'/],
    [() => make(optim.AdamW, [parameter()], {learningRate: 0.1}), /AdamW: there is no option 'learningRate'/],
    [() => make(optim.SGD, [{params: [parameter()], Lr: 1}]), /SGD: .*did you mean 'lr'/],
    [() => loose(F.crossEntropy)(x(2, 3), Tensor.zeros([2], {dtype: 'i64'}), {label_smooth: 0.1}), /crossEntropy: .*did you mean 'labelSmoothing'/],
    [() => make(Tensor, [1, 2], {requireGrad: true}), /Tensor: .*did you mean 'requiresGrad'/],
    [() => Tensor.zeros([2], {type: 'f16'} as object), /Tensor: .*did you mean 'dtype'/],
    [() => loose(grad)(x(1), x(1), {create_graphs: true}), /grad: .*did you mean 'createGraph'/],
  ] as const) assert.throws(call, {code: 'input', message});
});

test('a value of another type than an option\'s throws', () => {
  assert.throws(() => make(nn.Linear, 2, 3, 1), /Linear: bias is 1; it must be true or false/);
  assert.throws(() => make(optim.AdamW, [parameter()], true), /AdamW: lr is true; it must be a number/);
  assert.throws(() => make(nn.GroupNorm, 1, 2, {eps: '1e-5'}), /eps is 1e-5; it must be a number/);
  assert.throws(() => make(nn.Linear, 2, 3, true, 7), /Linear: too many arguments; its options are bias/);
  assert.equal(new nn.Linear(2, 3, {bias: undefined}).bias?.size, 3);
});
