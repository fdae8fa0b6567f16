import assert from 'node:assert/strict';
import {test} from 'node:test';

import {perceptron, smallModel} from '../../compiler/tests/onnx.ts';
import {exportOnnx, nn, OnnxModel, optim, Tensor} from '../src/index.ts';
import {fill, near, ramp, skip} from './start.ts';

const rows = (): Tensor => new Tensor([1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 10, 10], {shape: [4, 3]});
const wanted = [[1.5, 0], [3.5, 0], [5.5, 0], [81.5, 2]];

test('an ONNX model is a module', {skip}, async () => {
  const model = new OnnxModel(perceptron('n'));
  assert.deepEqual([model.inputs.map(({name}) => name), model.outputs, model.mode], [['x'], ['y'], 'inference']);
  await near(model.call(rows()), wanted);
  await near(model.forward({x: rows()})[0] as Tensor, wanted);
  await near(model.call([rows().slice([0], [2])]), wanted.slice(0, 2));
  assert.deepEqual(Object.keys(model.stateDict()), ['w', 'b']);
  assert.equal(model.call(rows()).requiresGrad, false);
  assert.deepEqual(model.getNodes().map(({opType, inputs, outputs}) => [opType, inputs, outputs]),
    [['MatMul', ['x', 'w'], ['product']], ['Add', ['product', 'b'], ['sum']], ['Relu', ['sum'], ['y']]]);
  assert.equal(model.getNodeWithOutput('sum')?.opType, 'Add');
  assert.equal(model.getNodeWithInput('b')[0]?.opType, 'Add');
  await near(model.resolveConstant('b') as Tensor, [0.5, -100]);
  assert.throws(() => model.forward([rows(), rows()]), /it takes 1 tensors: x/);
  assert.throws(() => model.call(new Tensor([[1, 2]])), /OnnxModel: .*MatMul.*\[1, 2\]/);
  assert.throws(() => new OnnxModel(Uint8Array.of(8)), /OnnxModel: /);
  const half = new OnnxModel(perceptron('n'), {precision: 16});
  assert.equal(half.parameters()[0]?.dtype, 'f16');
  await near(half.call(rows()), wanted);
});

test('parts of a model are frozen, and changes of low rank are learnt beside them', {skip}, async () => {
  const model = new OnnxModel(perceptron('n'), {mode: 'train'});
  assert.equal(model.call(rows()).requiresGrad, true);
  model.freeze((name) => name === 'w');
  assert.deepEqual(model.namedParameters().map(([name, {requiresGrad}]) => [name, requiresGrad]), [['w', false], ['b', true]]);
  const learnt = model.lora({rank: 2, alpha: 4});
  assert.deepEqual(learnt.map(({shape}) => shape), [[3, 2], [2, 2]]);
  assert.deepEqual(model.parameters().filter(({requiresGrad}) => requiresGrad), learnt);
  await near(model.call(rows()), wanted);
  (learnt[1] as Tensor).assign(Tensor.ones([2, 2]));
  (learnt[0] as Tensor).assign(Tensor.ones([3, 2]));
  // Each weight has 2 * 4 / 2 more.
  await near(model.call(rows()), [[5.5, 0], [7.5, 0], [9.5, 0], [165.5, 86]]);
});

test('a module goes out as an ONNX model and comes in again', {skip}, async () => {
  const net = fill(new nn.Sequential(new nn.Conv2d(1, 2, 3, {padding: 1}), new nn.BatchNorm2d(2), new nn.ReLU(), new nn.MaxPool2d(2), new nn.Flatten(), new nn.Dropout(), new nn.Linear(8, 2)));
  const image = ramp([2, 1, 4, 4], 13, 17, 8, 8);
  net.forward(image); // running statistics
  const bytes = await exportOnnx(net, [image], {name: 'small', inputs: ['image'], outputs: ['scores']});
  assert.ok(net.training);
  // opset_import of ai.onnx: 21, which ONNX Runtime 1.20 has, not the newest that is known here.
  assert.ok(Buffer.from(bytes).includes(Buffer.from([0x42, 4, 0x0a, 0, 0x10, 21])));
  const model = new OnnxModel(bytes);
  assert.deepEqual([model.inputs.map(({name}) => name), model.outputs], [['image'], ['scores']]);
  const names = (module: nn.Module): Set<string> => new Set(module.namedParameters().map(([name]) => name));
  assert.deepEqual(names(model), names(net));
  await near(model.call(image), await (net.eval().forward(image)).array());
  const stray = Tensor.ones([2]);
  class Odd extends nn.Module {
    forward(x: Tensor): Tensor {
      return x.add(stray);
    }
  }
  await near(new OnnxModel(await exportOnnx(new Odd(), [stray])).call(new Tensor([3, 4])), [4, 5]);
});

test('tensors that forward() makes are weights of an exported model', {skip}, async () => {
  class Positions extends nn.Module {
    readonly embed = new nn.Embedding(11, 8);
    readonly position = new nn.Embedding(32, 8);
    readonly layer = new nn.TransformerEncoderLayer(8, 2, {dimFeedforward: 16, dropout: 0, batchFirst: true});
    readonly lstm = new nn.LSTM(8, 4, {batchFirst: true});
    forward(ids: Tensor): Tensor {
      const count = ids.shape[1] as number;
      const x = this.embed.forward(ids).add(this.position.forward(Tensor.arange(count)));
      const later = Tensor.ones([count, count]).tril().eq(0);
      const first = Tensor.full([1, ids.shape[0] as number, 4], 0.5);
      return this.lstm.forward(this.layer.forward(x, {srcMask: later}), [first, first])[0];
    }
  }
  const module = new Positions().eval();
  const ids = new Tensor([[1, 2, 3], [4, 5, 10]], {dtype: 'i32'});
  const model = new OnnxModel(await exportOnnx(module, [ids], {inputs: ['ids']}));
  assert.deepEqual(model.inputs.map(({name}) => name), ['ids']);
  await near(model.call(ids), await module.forward(ids).array());
});

const SQUARE = [[3, 2], [1, 2, 3, 4, 5, 6]] as const;

// y = ((x w' + b) * scale) w * 0.5 + offset: w is read behind Transpose and Identity, b behind Identity.
const tied = (): Uint8Array => smallModel({
  inputs: {x: ['n', 2]},
  nodes: [
    ['Identity', ['w'], 'again'],
    ['Transpose', ['w'], 'turned'],
    ['MatMul', ['x', 'turned'], 'h0'],
    ['Identity', ['b'], 'bias'],
    ['Add', ['h0', 'bias'], 'h1'],
    ['Mul', ['h1', 'scale'], 'h2'],
    ['MatMul', ['h2', 'again'], 'h3'],
    ['Constant', [0.5], 'half'],
    ['Mul', ['h3', 'half'], 'h4'],
    ['Identity', ['offset'], 'same'],
    ['Add', ['h4', 'same'], 'y'],
  ],
  initializers: {w: SQUARE, b: [[3], [1, 0, -1]], scale: [[], [2]], offset: [[1, 2], [0.25, -0.25]]},
  outputs: ['y'],
});

test('initializers behind Identity and Transpose and scalars are parameters, Constant nodes are not', {skip}, async () => {
  const model = new OnnxModel(tied(), {mode: 'train'});
  assert.deepEqual(model.namedParameters().map(([name, {shape, requiresGrad}]) => [name, [...shape], requiresGrad]),
    [['w', [3, 2], true], ['b', [3], true], ['scale', [], true], ['offset', [1, 2], true]]);
  assert.deepEqual(model.namedBuffers(), []);
  const x = new Tensor([[1, -1], [0.5, 2]]);
  const by = (w: Tensor, b: Tensor, scale: Tensor, offset: Tensor): Tensor => x.matmul(w.t()).add(b).mul(scale).matmul(w).mul(0.5).add(offset);
  const own = model.parameters().map((each) => new nn.Parameter(each.detach()));
  const loss = (y: Tensor): Tensor => y.pow(2).mean();
  const [mine, wanted] = [new optim.Adam(model.parameters(), 0.1), new optim.Adam(own, 0.1)];
  for (let step = 0; step < 5; ++step) {
    const here = loss(model.call(x));
    const there = loss(by(...own as [Tensor, Tensor, Tensor, Tensor]));
    await near(here, await there.item(), 1e-5, `loss ${step}`);
    here.backward();
    there.backward();
    for (const [at, each] of model.parameters().entries()) await near(each.grad as Tensor, await (own[at]?.grad as Tensor).array(), 1e-4, `gradient ${at}`);
    for (const optimizer of [mine, wanted]) {
      optimizer.step();
      optimizer.zeroGrad();
    }
  }
  // What was learnt goes out under its name in its own layout, and in again.
  const again = new OnnxModel(await exportOnnx(model, [x]), {mode: 'train'});
  assert.deepEqual(again.namedParameters().map(([name]) => name).sort(), ['b', 'offset', 'scale', 'w']);
  for (const [name, each] of model.namedParameters()) await near(again.getParameter(name), await each.array(), 0, name);
  await near(again.call(x), await model.call(x).array());
});

test('normalizations that were equal when a model was exported learn on their own, and keep their statistics', {skip}, async () => {
  const model = new OnnxModel(smallModel({
    inputs: {x: ['n', 1, 3]},
    nodes: [
      ['Identity', ['ones'], 'bn.weight'],
      ['Identity', ['zeros'], 'bn.bias'],
      ['Identity', ['ones'], 'bn.running_var'],
      ['Mul', ['x', 'ones'], 'h0'],
      ['Add', ['h0', 'zeros'], 'h1'],
      ['BatchNormalization', ['h1', 'bn.weight', 'bn.bias', 'bn.mean', 'bn.running_var'], 'y'],
    ],
    initializers: {ones: [[1], [1]], zeros: [[1], [0]], 'bn.mean': [[1], [0.5]]},
    outputs: ['y'],
  }), {mode: 'train'});
  assert.deepEqual(model.namedParameters().map(([name]) => name).sort(), ['bn.bias', 'bn.weight', 'ones', 'zeros']);
  await near(model.call(new Tensor([[[1.5, 0.5, -0.5]]])), [[[1, 0, -1]]]);
});

test('an exporter that says which initializers are parameters is believed', {skip}, async () => {
  const bytes = smallModel({
    inputs: {x: [2]},
    nodes: [['Add', ['x', 'table'], 'h0'], ['Mul', ['h0', 'lifted'], 'h1'], ['Max', ['h1', 'floor'], 'y']],
    initializers: {table: [[2], [1, 2]], lifted: [[], [0.5]], floor: [[2], [-1, -1]]},
    outputs: ['y'],
    kinds: {table: 'BUFFER', floor: 'PARAMETER'},
  });
  const model = new OnnxModel(bytes, {mode: 'train'});
  assert.deepEqual(model.namedParameters().map(([name]) => name), ['floor']);
  const y = model.call(new Tensor([1, -9]));
  await near(y, [1, -1]);
  y.sum().backward();
  await near(model.getParameter('floor').grad as Tensor, [0, 1]);
});

test('what is no parameter of an exported module is none of the model', {skip}, async () => {
  class Mixed extends nn.Module {
    readonly gain = new nn.Parameter(new Tensor([1.5], {shape: []}));
    readonly layer = new nn.Linear(2, 2);
    readonly table: nn.BufferTensor;
    constructor() {
      super();
      this.table = new nn.BufferTensor(ramp([2], 1, 3, 1, 2));
    }
    forward(x: Tensor): Tensor {
      return this.layer.forward(x.add(this.table).mul(0.5)).mul(this.gain).add(Tensor.full([2], 0.125));
    }
  }
  const module = fill(new Mixed());
  const x = ramp([3, 2], 5, 7, 3, 4);
  const model = new OnnxModel(await exportOnnx(module, [x]), {mode: 'train'});
  assert.deepEqual(model.namedParameters().map(([name]) => name).sort(), ['gain', 'layer.bias', 'layer.weight']);
  await near(model.call(x), await module.forward(x).array());
});
