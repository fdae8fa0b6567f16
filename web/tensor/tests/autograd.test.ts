// Expected numbers: PyTorch 2.15 on a CPU, the same calls on the same ramps and weights, rounded to five digits.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {detectAnomaly, grad, memory, nn, noGrad, numericalGradient, optim, SparseTensor, synchronize, Tensor, tidy} from '../src/index.ts';
import {fill, near, ramp, skip} from './start.ts';

const F = nn.functional;
const TOLERANCE = 2e-5;
const gradOf = ({grad: made}: Tensor): Tensor => {
  assert.ok(made, 'there is no gradient');
  return made;
};

test('gradients broadcast back to the shape of what they are of', {skip}, async () => {
  const a = new Tensor([[1, 2, 3], [4, 5, 6]], {requiresGrad: true});
  const b = new Tensor([[0.5], [-1]], {requiresGrad: true});
  a.mul(b).tanh().add(a.exp().log().mul(2)).pow(2).sum().backward();
  await near(gradOf(a), [[11.78479, 21.04612, 28.8684], [27.98391, 35.99709, 43.99951]], TOLERANCE);
  await near(gradOf(b), [[19.35848], [0.09468]], TOLERANCE);
});

test('three steps of Adam on a small net go where PyTorch\'s go, in one program each', {skip}, async () => {
  const net = fill(new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.Linear(4, 2)));
  const optimizer = new optim.Adam(net.parameters(), {lr: 0.1});
  const [x, t] = [ramp([4, 3], 7, 11, 5, 4), new Tensor([0, 1, 1, 0], {dtype: 'i32'})];
  const before = memory().compiled;
  for (const wanted of [0.73033, 0.61077, 0.54152]) {
    const loss = F.crossEntropy(net.forward(x), t);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    await near(loss, wanted, TOLERANCE);
  }
  assert.equal(memory().compiled, before + 1);
  const [w0, , , b2] = net.parameters() as [Tensor, Tensor, Tensor, Tensor];
  await near(w0, [[-0.35059, 0.18309, -0.6496], [0.46627, -0.22797, 0.16433], [-0.09018, 0.44187, -0.40785], [0.71652, 0.12632, 0.49532]], 1e-4);
  await near(b2, [0.03853, -0.03853], 1e-4);
});

test('a loss that is read first has the same gradient', {skip}, async () => {
  const w = new Tensor([1, 2], {requiresGrad: true});
  const loss = w.square().sum();
  assert.equal(await loss.item(), 5);
  loss.backward();
  await near(gradOf(w), [2, 4]);
});

test('layers', {skip}, async () => {
  const net = fill(new nn.Sequential(
    new nn.Conv2d(1, 2, 3, {padding: 1}), new nn.BatchNorm2d(2), new nn.ReLU(), new nn.MaxPool2d(2), new nn.Flatten(), new nn.Linear(8, 2)));
  const img = ramp([2, 1, 4, 4], 13, 17, 8, 8);
  img.requiresGrad = true;
  (net.forward(img)).square().sum().backward();
  const [conv, , norm] = net.parameters() as [Tensor, Tensor, Tensor];
  await near(gradOf(conv).index(1, 0), [[1.1506, -0.12198, -0.21399], [1.17852, -0.11889, -0.23047], [1.15633, -0.11172, -0.23284]], 1e-4);
  await near(gradOf(norm).index(1), -0.38806, 1e-4); // the other channel is all ties
  await near(gradOf(img).index(1, 0, 0), [-0.00052, -0.04687, 0.01288, -0.08008], 1e-4);

  const lstm = fill(new nn.LSTM(3, 2, {batchFirst: true}));
  const [out, [, c]] = lstm.forward(ramp([2, 3, 3], 7, 11, 5, 4));
  out.sum().add(c.square().sum()).backward();
  const named = Object.fromEntries(lstm.namedParameters());
  await near(gradOf(named['weight_hh_l0'] as Tensor).slice([0], [3]), [[0.19529, -0.05852], [0.03615, -0.01996], [0.10429, -0.03124]], 1e-4);
  await near(gradOf(named['bias_ih_l0'] as Tensor), [1.07574, 0.08979, 0.4561, 0.08177, 3.03385, 0.15251, 0.39579, -0.29744], 1e-4);

  const layer = fill(new nn.TransformerEncoderLayer(4, 2, {dimFeedforward: 8, dropout: 0, batchFirst: true}));
  layer.forward(ramp([2, 3, 4], 7, 11, 5, 4)).pow(3).sum().backward();
  await near(gradOf(layer.selfAttn.inProjWeight).slice([0], [12], [0], [5]),
    [[0.0323, -0.02263, -0.00498, 0.04306], [-0.03886, 0.0429, -0.03644, -0.02259], [-0.01696, -0.0194, 0.00417, 0.01772]], 1e-4);
  await near(gradOf(layer.linear1.bias as Tensor), [0.95337, -3.12187, 1.86457, 0.37922, 0, 0.63931, 0, 0.75817], 1e-4);

  const table = fill(new nn.Embedding(5, 2));
  table.forward(new Tensor([1, 4, 1], {dtype: 'i32'})).square().sum().backward();
  await near(gradOf(table.weight), [[0, 0], [-1.66667, 0.66667], [0, 0], [0, 0], [-0.33333, 0.83333]], TOLERANCE);
});

test('operations that TensorJS has no gradient of', {skip}, async () => {
  const of = async (x: Tensor, compute: (x: Tensor) => Tensor, wanted: Parameters<typeof near>[1], what: string): Promise<void> => {
    x.requiresGrad = true;
    compute(x).sum().backward();
    await near(gradOf(x), wanted, TOLERANCE, what);
  };
  const rows = (): Tensor => ramp([2, 3], 7, 11, 5, 4);
  await of(rows(), (x) => x.max(1), [[0, 1, 0], [1, 0, 0]], 'max');
  await of(rows(), (x) => x.softmax(1).select(1, 0), [[0.10001, -0.07312, -0.0269], [0.2227, -0.1628, -0.05989]], 'softmax');
  await of(ramp([5], 7, 11, 5, 4), (x) => x.indexSelect(0, new Tensor([3, 0, 3], {dtype: 'i32'})).mul(new Tensor([1, 2, 3])), [2, 0, 0, 4, 0], 'gather');
  await of(ramp([1, 1, 2, 2], 7, 11, 5, 4), (x) => F.interpolate(x, {scale: 2, mode: 'bilinear'}).index(0, 0, 1), [[[[1.5, 1.5], [0.5, 0.5]]]], 'upsample');
  await of(ramp([1, 2, 2, 2], 7, 11, 5, 4), (x) => F.convTranspose2d(x, ramp([2, 1, 2, 2], 5, 7, 3, 3), null, {stride: 2}).square(),
    [[[[-4.77778, 2.05556], [-2.11111, 4.72222]], [[1.38889, -3.44444], [4.55556, -0.27778]]]], 'convTranspose');
  await of(rows(), (x) => x.setValues(new Tensor([[1]]), [0, 1]).cast('f64').hardSigmoid(0.2), [[0.2, 0, 0.2], [0.2, 0.2, 0.2]], 'setValues, cast, hardSigmoid');
});

test('gradients of gradients, with respect to anything, and by differences', {skip}, async () => {
  const x = new Tensor([0.5, -1.5], {requiresGrad: true});
  const first = grad(x.pow(3).sum(), x, {createGraph: true});
  first.mul(x).sum().backward();
  await near(gradOf(x), [2.25, 20.25], TOLERANCE);
  const middle = x.mul(2);
  await near(grad(middle.square(), middle, {seed: new Tensor([1, 10])}), [2, -60], TOLERANCE);
  const compute = (y: Tensor): Tensor => y.sin().mul(y).sum();
  await near(grad(compute(x), x), await (await numericalGradient(compute, x)).array(), 1e-3);
});

test('what adds up, what stops and what is kept', {skip}, async () => {
  const w = new Tensor([1, 2], {requiresGrad: true});
  w.mul(3).sum().backward();
  w.mul(w.detach()).sum().backward();
  await near(gradOf(w), [4, 5]);
  w.grad = null;
  const hidden = w.square().retainGrad();
  hidden.mul(hidden).sum().backward();
  await near(gradOf(hidden), [2, 8]);
  await near(gradOf(w), [4, 32]);
  assert.equal(noGrad(() => w.mul(2)).requiresGrad, false);
  assert.equal(w.argmax().requiresGrad, false);
  tidy(() => w.sum().backward());
  await near(gradOf(w), [5, 33]);
  assert.throws(() => new Tensor([1]).sum().backward(), /nothing that this was computed from requires a gradient/);
  assert.throws(() => w.mul(2).backward(), /shape of \[2\] it needs the gradient/);
  assert.throws(() => w.mul(2).backward(new Tensor([1])), /gradient has shape \[1\], the tensor \[2\]/);
  assert.throws(() => new Tensor([1], {dtype: 'i32', requiresGrad: true}), /gradients are of floats, this tensor is i32/);
});

test('losses of earlier steps are read, other tensors of old parameters for two steps more', {skip}, async () => {
  const w = new nn.Parameter([2]);
  const optimizer = new optim.SGD([w], {lr: 1});
  const step = (): Tensor => {
    const loss = w.square().sum();
    w.grad = null;
    loss.backward();
    optimizer.step();
    return loss;
  };
  const first = step();
  const second = step();
  const other = w.mul(5);
  assert.throws(() => first.backward(), /was replaced since/);
  assert.equal(await first.item(), 4);
  step();
  const third = step();
  step();
  await assert.rejects(other.item(), /replaced more than two steps ago/);
  assert.equal(await second.mul(2).item(), 8);
  assert.equal(await third.item(), 4);
});

test('a step that nobody reads keeps memory and programs constant', {skip}, async () => {
  const net = new nn.Sequential(new nn.Linear(1, 8), new nn.BatchNorm1d(8), new nn.Tanh(), new nn.Dropout(0.1), new nn.Linear(8, 1));
  const optimizer = new optim.AdamW(net.parameters());
  const step = (): void => tidy(() => {
    const loss = F.mseLoss(net.forward(Tensor.rand([16, 1])), Tensor.ones([16, 1]));
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
  });
  for (let at = 0; at < 4; ++at) step();
  await synchronize();
  const {tensors, bytes, compiled} = memory();
  for (let at = 0; at < 40; ++at) {
    step();
    if (at % 8 === 7) await synchronize();
  }
  const after = memory();
  assert.ok(after.tensors <= tensors, `${after.tensors} tensors after ${tensors}`);
  assert.equal(after.compiled, compiled);
  assert.ok(after.bytes <= bytes, `${after.bytes} bytes after ${bytes}`);
});

test('NaN is told with the call that made it', {skip}, async () => {
  detectAnomaly();
  try {
    const x = new Tensor([1, -1]);
    const bad = x.log().mul(2).sum();
    await assert.rejects(bad.item(), (problem: Error) => {
      assert.match(problem.message, /Log\(\[2\]\) gave NaN in a result of shape \[2\]/);
      assert.match(problem.stack ?? '', /autograd\.test/);
      return true;
    });
    assert.equal(await x.exp().log().sum().item(), 0);
  } finally {
    detectAnomaly(false);
  }
});

test('stored elements of sparse tensors have gradients', {skip}, async () => {
  const values = new Tensor([2, 1, -3], {requiresGrad: true});
  const sparse = new SparseTensor(values, [[0, 1], [1, 0], [1, 2]], [2, 3]);
  sparse.matmul(new Tensor([[1], [2], [3]])).square().sum().backward();
  // d/dv of (2 v0)^2 + (v1 + 3 v2)^2
  await near(values.grad as Tensor, [16, -16, -48]);
});
