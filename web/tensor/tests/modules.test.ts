// Buffers, hooks, names and text of modules; forms in place; values in consoles.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {inspect} from 'node:util';

import {nn, noGrad, optim, Tensor} from '../src/torch.ts';
import {near, skip} from './start.ts';

class Tied extends nn.Module {
  readonly embed = new nn.Embedding(5, 3);
  readonly head = new nn.Linear(3, 5, {bias: false});
  declare readonly scale: nn.BufferTensor;
  constructor() {
    super();
    (this.head as {weight: nn.Parameter}).weight = this.embed.weight;
    this.registerBuffer('scale', new Tensor([2]));
    this.registerBuffer('mask', Tensor.ones([3]), {persistent: false});
  }
  forward(x: Tensor): Tensor {
    return this.head.forward(this.embed.forward(x)).mul(this.scale);
  }
}

test('tied weights are in the state under both names', {skip}, async () => {
  const model = new Tied();
  assert.deepEqual(Object.keys(model.stateDict()), ['embed.weight', 'head.weight', 'scale']);
  assert.deepEqual([model.parameters().length, model.namedBuffers().map(([name]) => name)], [1, ['scale', 'mask']]);
  const other = new Tied();
  other.loadStateDict(model.stateDict());
  const x = new Tensor([1, 4], {dtype: 'i32'});
  assert.deepEqual(await model.forward(x).array(), await other.forward(x).array());
  assert.equal(model.getParameter('head.weight'), model.embed.weight);
  assert.equal(model.getSubmodule('embed'), model.embed);
  assert.throws(() => model.getBuffer('shape'), {code: 'input', message: /there is no buffer "shape"; there are scale, mask/});
  assert.throws(() => model.registerBuffer('a.b', null), /has no dots/);
  const step = new optim.SGD(model.parameters(), 0.1);
  model.forward(x).sum().backward();
  step.step();
  assert.equal(model.embed.weight, model.head.weight);
});

test('hooks see and change what goes through', {skip}, async () => {
  const double = new nn.Linear(2, 2, false);
  const model = new nn.Sequential({double, act: new nn.ReLU()});
  double.weight.assign(Tensor.eye(2).mul(2));
  const seen: unknown[] = [];
  const before = double.registerForwardPreHook((_, [x]) => (x as Tensor).add(1));
  const after = model.layers[1]?.registerForwardHook((_, __, output) => void seen.push((output as Tensor).shape));
  await near(model.forward(new Tensor([[1, -3]])), [[4, 0]]);
  assert.deepEqual(seen, [[1, 2]]);
  before.remove();
  after?.remove();
  await near(model.forward(new Tensor([[1, -3]])), [[2, 0]]);
  assert.deepEqual([seen.length, model.namedChildren().map(([name]) => name)], [1, ['double', 'act']]);
  const names: string[] = [];
  model.apply((module) => void names.push(module.constructor.name));
  assert.deepEqual(names, ['Linear', 'ReLU', 'Sequential']);
  assert.equal(String(model), 'Sequential(\n  (double): Linear(inFeatures=2, outFeatures=2, bias=false)\n  (act): ReLU()\n)');
});

test('forms in place follow gradients', {skip}, async () => {
  const x = new nn.Parameter([1, -2]);
  const y = x.mul(3);
  y.mul_(2).clampMin_(-6);
  y.sum().backward();
  await near(y, [6, -6]);
  await near(x.grad as Tensor, [6, 0]);
  assert.throws(() => x.exp_(), /exp_: this is a leaf that requires a gradient/);
  assert.throws(() => new Tensor([1, 2], {dtype: 'i32'}).sqrt_(), /sqrt_: a tensor of i32 cannot become one of f32/);
  assert.throws(() => new Tensor([1, 2]).add_(Tensor.ones([2, 2])), /add_: a tensor of shape \[2\] cannot become one of \[2, 2\]/);
  noGrad(() => x.mul_(2));
  await near(x, [2, -4]);
  assert.ok(x.requiresGrad);
  await near(Tensor.zeros([2, 3]).fill_(7).zero_().add_(1).t_(), [[1, 1], [1, 1], [1, 1]]);
});

test('consoles show values and names', {skip}, async () => {
  assert.equal(inspect(new Tensor([[1, 2.5], [3, -4]])), 'Tensor([[1, 2.5], [3, -4]], f32 [2, 2], cpu)');
  const made = Tensor.arange(20).mul(2);
  assert.equal(String(made), 'Tensor(i32 [20], cpu, not read yet)');
  await made.data();
  assert.equal(String(made), 'Tensor([0, 2, 4, ..., 34, 36, 38], i32 [20], cpu)');
  assert.match(nn.summary(new Tied(), new Tensor([1, 2], {dtype: 'i32'})), /embed +Embedding +\[2, 3\] +15\n[^]*15 parameters, 15 of them learn; 4 numbers in buffers$/);
  assert.equal(optim.LBFGS.name, 'LBFGS');
});

test('lazy layers, fractional pools, functions in place, sparse Adam', {skip}, async () => {
  const lazy = new nn.Sequential(new nn.LazyConv2d(4, 3), new nn.LazyBatchNorm2d(), new nn.Flatten(), new nn.LazyLinear(2)).eval();
  assert.deepEqual(lazy.parameters(), []);
  assert.deepEqual(lazy.forward(Tensor.ones([1, 3, 5, 5])).shape, [1, 2]);
  assert.deepEqual(Object.keys(lazy.stateDict()), ['0.weight', '0.bias', '1.weight', '1.bias', '3.weight', '3.bias', '1.running_mean', '1.running_var']);
  lazy.setSubmodule('3', new nn.Identity());
  assert.deepEqual(lazy.forward(Tensor.ones([1, 3, 5, 5])).shape, [1, 36]);
  const [values, places] = nn.functional.fractionalMaxPool2dWithIndices(Tensor.arange(36).cast('f32').reshape(1, 1, 6, 6), 2, 3) as [Tensor, Tensor];
  assert.deepEqual(await values.data(), await places.cast('f32').data());
  const x = new Tensor([-1, 2]);
  assert.equal(nn.functional.relu_(x), x);
  await near(x, [0, 2]);
  const table = new nn.Embedding(4, 2);
  const before = table.weight.clone();
  const optimizer = new optim.SparseAdam(table.parameters(), 0.1);
  for (let step = 0; step < 3; ++step) {
    optimizer.zeroGrad();
    table.forward(new Tensor([1, 3], {dtype: 'i32'})).sum().backward();
    optimizer.step();
  }
  await near(table.weight.sub(before), [[0, 0], [-0.3, -0.3], [0, 0], [-0.3, -0.3]]);
});
