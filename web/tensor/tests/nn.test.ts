// Expected numbers: PyTorch 2.15 on a CPU, the same modules with the same weights (fill), rounded to five digits.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {loadSafetensors, manualSeed, memory, nn, noGrad, saveSafetensors, Tensor} from '../src/index.ts';
import {fill, near, ramp, skip} from './start.ts';

const TOLERANCE = 2e-5;
const x = skip ? undefined as never : ramp([4, 2, 3], 7, 11, 5, 4);
const y = skip ? undefined as never : ramp([2, 3, 4], 7, 11, 5, 4);

test('recurrent layers', {skip}, async () => {
  const lstm = fill(new nn.LSTM(3, 2, {numLayers: 2, bidirectional: true}));
  assert.deepEqual(lstm.namedParameters().slice(4, 8).map(([name]) => name),
    ['weight_ih_l0_reverse', 'weight_hh_l0_reverse', 'bias_ih_l0_reverse', 'bias_hh_l0_reverse']);
  const [out, [h, c]] = lstm.forward(x);
  await near(out.select(1, 1), [
    [0.12146, -0.07921, 0.06272, 0.0916], [0.15133, -0.12489, 0.05043, 0.08812],
    [0.16624, -0.14567, 0.03278, 0.08019], [0.15995, -0.15819, 0.01244, 0.05211],
  ], TOLERANCE);
  await near(h.select(1, 0), [[0.40811, -0.15264], [0.25513, 0.03754], [0.16582, -0.15349], [0.05335, 0.078]], TOLERANCE);
  await near(c.select(1, 1), [[0.662, -0.38079], [0.45745, -0.44513], [0.24846, -0.38082], [0.10625, 0.2622]], TOLERANCE);
  const [rows, last] = fill(new nn.GRU(3, 2, {batchFirst: true})).forward(x, ramp([1, 4, 2], 3, 5, 2, 2));
  await near(rows.index(1), [[-0.33638, -0.18565], [-0.00606, -0.25414]], TOLERANCE);
  await near(last.index(0, 3), [0.74511, -0.51451], TOLERANCE);
  const [plain] = fill(new nn.RNN(3, 2)).forward(x);
  await near(plain.select(1, 0), [[0.8093, -0.84828], [-0.30808, -0.8672], [-0.64957, -0.46014], [-0.13597, -0.30283]], TOLERANCE);
});

test('attention and a transformer', {skip}, async () => {
  const attention = fill(new nn.MultiheadAttention(4, 2, {batchFirst: true}));
  const later = Tensor.ones([3, 3], {dtype: 'bool'}).triu(1);
  const [out, weights] = attention.forward(y, y, y, {attnMask: later, needWeights: true});
  const wanted = [[0.59028, 0.03819, 0.56944, -0.56944], [0.47679, -0.07394, 0.45865, -0.3665], [0.60338, 0.00642, 0.49279, -0.27727]];
  await near(out.index(1), wanted, TOLERANCE);
  await near((weights as Tensor).index(1), [[1, 0, 0], [0.52298, 0.47702, 0], [0.36125, 0.32212, 0.31662]], TOLERANCE);
  await near(attention.forward(y, y, y, {causal: true})[0].index(1), wanted, TOLERANCE);
  const padding = new Tensor([[false, true], [false, false]]);
  const [other] = attention.forward(y, y.slice([0], [2], [1]), y.slice([1], [3], [1]), {keyPaddingMask: padding});
  await near(other.index(0, 2), [0.60764, 0.05903, 0.59375, -0.67708], TOLERANCE);
  for (const [normFirst, row] of [[false, [-0.14832, -0.62726, 0.27376, -0.13303]], [true, [1.27699, -0.45343, -0.1896, -0.10563]]] as const) {
    const layer = fill(new nn.TransformerEncoderLayer(4, 2, {dimFeedforward: 8, dropout: 0, normFirst}));
    assert.ok(layer.namedParameters().some(([name]) => name === 'self_attn.out_proj.weight'));
    await near(layer.forward(y).index(1, 2), row, TOLERANCE);
  }
});

test('batch normalisation keeps running statistics', {skip}, async () => {
  const norm = fill(new nn.BatchNorm2d(2));
  const z = ramp([2, 2, 2, 3], 7, 11, 5, 4);
  await near(norm.forward(z).index(1, ':', 0), [[-0.49537, 0.12451, -0.96028], [0.35115, 0.24425, 0.43133]], TOLERANCE);
  await near(norm.runningMean as Tensor, [0.01042, -0.01667], TOLERANCE);
  await near(norm.runningVar as Tensor, [0.97098, 0.96629], TOLERANCE);
  norm.forward(z.mul(2));
  norm.eval();
  await near(norm.forward(z).index(0, 1), [[0.41534, 0.33711, 0.25889], [0.39578, 0.31756, 0.23933]], TOLERANCE);
  assert.deepEqual(Object.keys(norm.stateDict()), ['weight', 'bias', 'running_mean', 'running_var']);
});

test('dropout follows from the seed, differs from call to call and compiles once', {skip}, async () => {
  const drop = new nn.Dropout(0.25);
  const ones = Tensor.ones([64, 64]);
  const draw = async (seed: number): Promise<number[][]> => {
    manualSeed(seed);
    const first = Array.from(await drop.forward(ones).data<Float32Array>());
    return [first, Array.from(await drop.forward(ones).data<Float32Array>())];
  };
  const [first, second] = (await draw(1)) as [number[], number[]];
  const {compiled} = memory();
  assert.deepEqual((await draw(1)), [first, second]);
  assert.equal(memory().compiled, compiled);
  assert.notDeepEqual(first, second);
  assert.deepEqual(new Set(first), new Set([0, Math.fround(4 / 3)]));
  const kept = first.filter((value) => value !== 0).length / 4096;
  assert.ok(Math.abs(kept - 0.75) < 0.03, `${kept} were kept`);
  const channels = await new nn.Dropout2d(0.5).forward(Tensor.ones([8, 8, 3, 3])).sum([2, 3]).data<Float32Array>();
  assert.deepEqual(new Set(channels), new Set([0, 18]));
  assert.equal(drop.eval().forward(ones), ones);
});

test('initial values are PyTorch\'s in kind and follow from the seed', {skip}, async () => {
  const make = (): nn.Linear => (manualSeed(7), new nn.Linear(64, 32));
  const [a, b] = [make(), make()];
  const weight = await a.weight.data<Float32Array>();
  assert.deepEqual(weight, await b.weight.data());
  assert.ok(weight.every((value) => Math.abs(value) <= 0.125));
  assert.ok(Math.max(...weight) > 0.12 && Math.min(...weight) < -0.12);
  const kernel = await new nn.Conv2d(4, 8, 3, {groups: 2}).weight.data<Float32Array>();
  assert.ok(Math.max(...kernel.map(Math.abs)) <= 1 / Math.sqrt(18) && kernel.length === 144);
  const table = await new nn.Embedding(100, 50, {paddingIndex: 3}).weight.data<Float32Array>();
  assert.ok(table.subarray(150, 200).every((value) => value === 0));
  const spread = table.reduce((sum, value) => sum + value ** 2, 0) / 4950;
  assert.ok(Math.abs(spread - 1) < 0.1);
  await near(fill(new nn.Embedding(5, 2)).forward(new Tensor([[1, 4]], {dtype: 'i32'})), [[[-0.41667, 0.16667], [-0.16667, 0.41667]]], TOLERANCE);
});

test('modules know their parts', {skip}, () => {
  const net = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU(), new nn.ModuleDict({head: new nn.Linear(3, 1, {bias: false})}));
  assert.deepEqual(net.namedParameters().map(([name]) => name), ['0.weight', '0.bias', '2.head.weight']);
  net.eval();
  assert.deepEqual(net.modules().map(({training}) => training), [false, false, false, false, false]);
  net.freeze();
  assert.ok(net.parameters().every(({requiresGrad}) => !requiresGrad));
  const shared = new nn.Linear(2, 2);
  assert.equal(new nn.ModuleList([shared, shared]).parameters().length, 2);
  const {tensors} = memory();
  net.dispose();
  assert.equal(memory().tensors, tensors - 3);
});

test('state goes through a safetensors file; another model\'s, a cut and a changed one are refused', {skip}, async () => {
  const net = new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3));
  const file = await net.save();
  const other = new nn.Sequential(new nn.Linear(2, 3), new nn.BatchNorm1d(3));
  const before = await other.save();
  const refuses = async (bytes: Uint8Array, message: RegExp): Promise<void> => {
    await assert.rejects(other.load(bytes), message);
    assert.deepEqual(await other.save(), before);
  };
  await refuses(file.subarray(0, file.length - 1), /./);
  await refuses(file.subarray(0, 40), /header is cut off|not JSON/);
  await refuses(file.map((byte, at) => (at === file.length - 1 ? byte ^ 1 : byte)), /not those that were written/);
  await refuses(await new nn.Linear(2, 3).save(), /lacks 0\.weight/);
  await refuses(await saveSafetensors({...net.stateDict(), '0.weight': Tensor.zeros([3, 3])}), /"0\.weight" has shape \[3, 3\], the module wants \[3, 2\]/);
  await refuses(await saveSafetensors({...net.stateDict(), extra: Tensor.zeros([1])}), /has no extra/);
  await other.load(file);
  assert.deepEqual(await other.save(), file);
  const mixed = {h: new Tensor([1.5, -2], {dtype: 'f16'}), b: new Tensor([true, false]), i: new Tensor([2n ** 40n]), s: new Tensor(3)};
  const back = await loadSafetensors(await saveSafetensors(mixed));
  assert.deepEqual(await Promise.all(Object.values(back).map((each) => each.array())), [[1.5, -2], [true, false], [2n ** 40n], 3]);
  assert.deepEqual(Object.values(back).map(({dtype}) => dtype), ['f16', 'bool', 'i64', 'f32']);
});

test('cosine similarity, normalising and attention as functions', {skip}, async () => {
  const a = new Tensor([[3, 4], [0, 1]]);
  await near(nn.functional.normalize(a), [[0.6, 0.8], [0, 1]]);
  await near(nn.functional.cosineSimilarity(a, new Tensor([[4, 3], [1, 0]])), [0.96, 0]);
  const q = y.unsqueeze(1);
  const open = noGrad(() => nn.functional.scaledDotProductAttention(q, q, q, {causal: true}));
  await near(open.index(0, 0, 0), [-1.25, 0.5, -0.5, 1.25]);
});

test('what lies between layers, and in losses, goes at once', {skip}, () => {
  class Keeps extends nn.Module {
    kept: Tensor | undefined;
    forward(y: Tensor): Tensor {
      return (this.kept = y).mul(2);
    }
  }
  const keeps = new Keeps();
  const net = new nn.Sequential(
    new nn.Linear(2, 4), new nn.BatchNorm1d(4), new nn.Dropout(0.5), new nn.GELU(), new nn.Identity(), keeps, new nn.Tanh(), new nn.Linear(4, 2));
  const [x, t] = [Tensor.ones([3, 2]), new Tensor([0, 1, 0], {dtype: 'i32'})];
  const before = memory().tensors;
  const y = net.forward(x);
  // What is given, and what a module of the user's own was given and gave.
  assert.equal(memory().tensors, before + 3);
  nn.functional.crossEntropy(y, t);
  assert.equal(memory().tensors, before + 4);
  assert.deepEqual(keeps.kept?.shape, [3, 4]);
});
