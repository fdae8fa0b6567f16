import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Compiler} from '../../compiler/src/index.ts';
import {load, tensor} from '../../runtime/src/index.ts';
import {type DynamicAxes, exportOnnx, grad, nn, noGrad, OnnxModel, Tensor} from '../src/index.ts';
import {fill, near, ramp, skip, wasm} from './start.ts';

const BN: DynamicAxes = {0: {0: 'b', 1: 'n'}};

class Of extends nn.Module {
  readonly compute: (...x: Tensor[]) => unknown;
  constructor(compute: (...x: Tensor[]) => unknown) {
    super();
    this.compute = compute;
  }
  forward(...x: Tensor[]): unknown {
    return this.compute(...x);
  }
}

/** The model gives what the module gives at all shapes of its input; it is traced with the first. */
async function check(module: nn.Module, make: (...shape: number[]) => Tensor, shapes: readonly number[][], dynamicAxes: DynamicAxes): Promise<OnnxModel> {
  const model = new OnnxModel(await exportOnnx(module, [make(...shapes[0] as number[])], {dynamicAxes}));
  module.eval();
  for (const shape of shapes) {
    const x = make(...shape);
    const made = [module.forward(x) as Tensor | Tensor[]].flat();
    const there = model.forward(x);
    for (const [at, each] of made.entries()) await near(there[at] as Tensor, await each.array(), 1e-4, `${shape.join()}, output ${at}:`);
  }
  return model;
}

const floats = (...shape: number[]): Tensor => ramp(shape, 7, 13, 6, 5);
const ids = (...shape: number[]): Tensor => ramp(shape, 7, 11, 0, 1).cast('i32');

class Positions extends nn.Module {
  readonly embed = new nn.Embedding(11, 8);
  readonly position = new nn.Embedding(64, 8);
  readonly layer = new nn.TransformerEncoderLayer(8, 2, {dimFeedforward: 16, dropout: 0, batchFirst: true});
  readonly lstm = new nn.LSTM(8, 4, {batchFirst: true});
  forward(x: Tensor): Tensor {
    const [rows = 0, count = 0] = x.shape;
    const y = this.embed.forward(x).add(this.position.forward(Tensor.arange(count)));
    const later = Tensor.ones([count, count]).tril().eq(0);
    const first = Tensor.full([1, rows, 4], 0.5);
    return this.lstm.forward(this.layer.forward(y, {srcMask: later}), [first, first])[0];
  }
}

test('positions, masks and first states follow from dimensions', {skip}, async () => {
  const model = await check(fill(new Positions()), ids, [[2, 5], [1, 1], [3, 11], [2, 40]], BN);
  assert.deepEqual(model.inputs, [{name: 'x0', dtype: 'i32', shape: ['b', 'n']}]);
  assert.deepEqual(model.namedBuffers(), []);
});

test('patches of images follow from their sizes', {skip}, async () => {
  class Patches extends nn.Module {
    readonly patch = new nn.Conv2d(3, 8, 4, {stride: 4});
    readonly token = new nn.Parameter(Tensor.ones([1, 1, 8]));
    forward(x: Tensor): Tensor {
      const y = this.patch.forward(x);
      const [b = 0, c = 0, h = 0, w = 0] = y.shape;
      return Tensor.cat([this.token.expand([b, 1, 8]), y.reshape(b, c, h * w).transpose(1, 2)], 1);
    }
  }
  const dims = {0: {0: 'b', 2: 'h', 3: 'w'}};
  await check(fill(new Patches()), (b = 0, h = 0, w = 0) => floats(b, 3, h, w), [[1, 16, 24], [2, 8, 8], [3, 18, 21]], dims);
  const pooled = fill(new nn.Sequential(new nn.Conv2d(3, 4, 3, {stride: 2}), new nn.BatchNorm2d(4), new nn.AdaptiveAvgPool2d(1), new nn.Flatten()));
  await check(pooled, (b = 0, h = 0, w = 0) => floats(b, 3, h, w), [[1, 16, 20], [2, 9, 33], [5, 7, 8]], dims);
});

const extent = (x: Tensor, axis: number): number => x.shape[axis] ?? 0;

for (const [what, compute] of Object.entries<(x: Tensor) => unknown>({
  'numbers': (x) => x.div(extent(x, 1)).add(Math.sqrt(extent(x, 0))).sub(1 / Math.sqrt(extent(x, 1))),
  'a diagonal and a range from behind': (x) => x.matmul(Tensor.eye(extent(x, 1)).mul(0.5)).add(Tensor.arange(extent(x, 1) - 1, -1, -1)),
  'even steps': (x) => x.add(Tensor.linspace(-1, 1, extent(x, 1))),
  'products of dimensions': (x) => Tensor.arange(x.size).reshape(x.shape).mul(x.reshape(x.size).reshape(x.shape)),
  'a mask of half the row': (x) => Tensor.where(Tensor.arange(extent(x, 1)).lt(Math.floor(extent(x, 1) / 2)), x, x.neg()),
  'ends and parts of rows': (x) => [Tensor.cat([x, Tensor.zeros([extent(x, 0), 3])], 1).narrow(1, 3, extent(x, 1)), ...x.chunk(2, 1)],
  'means': (x) => [x.mean(1), x.mean(), x.softmax(1)],
})) {
  test(`${what} follow from dimensions`, {skip}, async () => {
    await check(new Of((x) => compute(x)), floats, [[2, 6], [3, 5], [7, 2]], BN);
  });
}

test('inputs by name share dimensions that are named alike, in the order of the call', {skip}, async () => {
  const module = new Of((a, _, c) => ({sum: (c).add(a), others: [(a).neg()]}));
  const x = floats(2, 3);
  const bytes = await exportOnnx(module, [x, x, x], {input_names: ['a', 'b', 'c'], outputs: ['sum', 'negative'], dynamic_axes: {a: {0: 'rows'}, c: {[-2]: 'rows'}, b: [1], sum: [0]}} as never);
  const model = new OnnxModel(bytes);
  assert.deepEqual(model.inputs.map(({name, shape}) => [name, shape]), [['a', ['rows', 3]], ['b', [2, 'b_1']], ['c', ['rows', 3]]]);
  assert.deepEqual(model.outputs, ['sum', 'negative']);
  const [sum, negative] = model.forward([floats(4, 3), floats(2, 9), Tensor.ones([4, 3])]);
  await near(sum as Tensor, await floats(4, 3).add(1).array());
  await near(negative as Tensor, await floats(4, 3).neg().array());
});

test('what cannot be a dimension is said', {skip}, async () => {
  const refuses = (compute: (x: Tensor) => unknown, dynamicAxes: DynamicAxes, what: RegExp): Promise<void> =>
    assert.rejects(exportOnnx(new Of((x) => compute(x)), [floats(2, 5)], {dynamicAxes}), what);
  await refuses((x) => (extent(x, 0) > 5 ? x.mul(2) : x), BN, /depends on the extents/);
  await refuses((x) => x.add(Tensor.randn([extent(x, 1)])), BN, /a tensor of shape \[5\]/);
  await refuses((x) => x, {y: [0]}, /no input 'y'; there are x0/);
  await refuses((x) => x, {0: [2]}, /has no axis 2/);
  await refuses((x) => x, {0: {0: 'n', 1: 'n'}}, /'n' is 2 and 5/);
  await refuses((x) => x.add(Tensor.ones([5])), BN, /dynamicAxes|\[5\]/);
  await refuses(() => 'text', {}, /other things than tensors/);
});

class Loss extends nn.Module {
  readonly net: nn.Module;
  constructor(net: nn.Module) {
    super();
    this.net = net;
  }
  forward(x: Tensor, classes: Tensor): Tensor {
    return nn.functional.crossEntropy(this.net.forward(x) as Tensor, classes);
  }
}

test('a loss and its gradients are a training graph, whose parameters are inputs with defaults', {skip}, async () => {
  const module = fill(new Loss(new nn.Sequential(new nn.Linear(3, 4), new nn.BatchNorm1d(4), new nn.ReLU(), new nn.Linear(4, 5))));
  const x = floats(4, 3);
  const classes = ramp([4], 3, 5, 0, 1).cast('i64');
  module.eval();
  const before = await Promise.all(module.buffers().map((each) => each.array()));
  const bytes = await exportOnnx(module, [x, classes], {inputs: ['x', 'classes'], outputs: ['loss'], gradients: true, dynamicAxes: {x: {0: 'n'}, classes: {0: 'n'}}});
  assert.equal(module.training, false);
  for (const [at, each] of module.buffers().entries()) await near(each, before[at] as never, 0);
  const names = module.namedParameters().map(([name]) => name);
  using compiler = await Compiler.open({wasm});
  using package_ = await load(await compiler.compile(bytes, {target: 'wasm', keepInputs: names}));
  module.train();
  for (const rows of [4, 7]) {
    const [a, b] = [floats(rows, 3), ramp([rows], 3, 5, 0, 1).cast('i64')];
    const feeds = {x: tensor(await a.data<Float32Array>(), [rows, 3]), classes: tensor(await b.data<BigInt64Array>(), [rows])};
    const made = await package_.run(feeds);
    const loss = module.forward(a, b);
    const gradients = grad(loss, module.parameters());
    await near(new Tensor(await made['loss']?.data() as Float32Array, {shape: []}), await loss.item(), 1e-4, 'loss');
    for (const [at, name] of names.entries()) {
      const wanted = gradients[at] as Tensor;
      await near(new Tensor(await made[`${name}.grad`]?.data() as Float32Array, {shape: wanted.shape}), await wanted.array(), 1e-4, name);
    }
    // Other parameters than the model's own.
    noGrad(() => module.parameters().forEach((each) => each.assign(each.mul(0.5))));
    const halves = await Promise.all(module.namedParameters().map(async ([name, each]) => [name, tensor(await each.data<Float32Array>(), [...each.shape])] as const));
    const other = await package_.run({...feeds, ...Object.fromEntries(halves)});
    await near(new Tensor(await other['loss']?.data() as Float32Array, {shape: []}), await module.forward(a, b).item(), 1e-4, 'other loss');
    noGrad(() => module.parameters().forEach((each) => each.assign(each.mul(2))));
  }
});

test('dropout draws in each run of what is exported for training', {skip}, async () => {
  const x = Tensor.ones([64]);
  const module = new nn.Dropout(0.25);
  const model = new OnnxModel(await exportOnnx(module, [x], {training: true}));
  assert.equal(model.getNodes().filter(({opType}) => opType === 'Dropout').length, 1);
  const first = await model.call(x).data<Float32Array>();
  assert.ok(first.every((each) => each === 0 || Math.abs(each - 4 / 3) < 1e-6));
  assert.ok(first.some((each) => each === 0) && first.some((each) => each !== 0));
  await near(new OnnxModel(await exportOnnx(module, [x])).call(x), await x.array());
  await assert.rejects(exportOnnx(module, [x], {gradients: true}), /no parameters/);
  await assert.rejects(exportOnnx(new nn.Linear(2, 2), [floats(1, 2)], {gradients: true}), /shape \[1, 2\]; a loss is one number/);
});

test('a module that is deeper than what is recorded at once is exported', {skip}, async () => {
  const module = new Of((x) => Array.from({length: 1100}).reduce<Tensor>((y) => y.tanh().add(x), x));
  const model = new OnnxModel(await exportOnnx(module, [floats(3)], {dynamicAxes: {0: [0]}}));
  assert.equal(model.getNodes().length, 2200);
});
