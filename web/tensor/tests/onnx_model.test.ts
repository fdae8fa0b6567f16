import assert from 'node:assert/strict';
import {test} from 'node:test';

import {perceptron} from '../../compiler/tests/onnx.ts';
import {exportOnnx, nn, OnnxModel, Tensor} from '../src/index.ts';
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
