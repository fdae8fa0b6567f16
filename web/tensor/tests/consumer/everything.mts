// The API as a consumer calls it; compiled, not run. What a declaration lacks or has wrong does not compile.
import {
  checkpoint, CPUTensor, type Data, type Device, type DType, detectAnomaly, enableGrad, exportOnnx, Floats, GossamerError, GPUTensor,
  grad, init, loadSafetensors, manualSeed, memory, nn, noGrad, numericalGradient, OnnxModel, optim, type Picture, saveSafetensors,
  setNumThreads, SparseTensor, synchronize, Tensor, tidy, util, Variable, WASMTensor,
} from '@gossamer/tensor';

class Net extends nn.Module {
  readonly hidden = new nn.Linear(4, 8, {bias: true});
  readonly norm = new nn.LayerNorm(8);
  readonly out = new nn.Sequential(new nn.ReLU(), new nn.Dropout(0.1), new nn.Linear(8, 2));
  forward(x: Tensor): Tensor {
    return this.out.forward(checkpoint((y) => this.norm.forward(this.hidden.forward(y)), x));
  }
}

export async function everything(picture: Picture, bytes: ArrayBuffer): Promise<number> {
  await init({wasm: bytes});
  setNumThreads(2);
  manualSeed(1);
  const device: Device = 'webgpu';
  const dtype: DType = 'f32';
  const data: Data = [[1, 2], [3, 4]];
  using a = new Tensor(data, {dtype, device, requiresGrad: true});
  const b: Tensor = a.matmul(a.T).add(1).mul(0.5).sum([0], true).to('cpu').toDevice('cpu').cast('float16');
  const shape: readonly number[] = b.shape;
  const parts: Tensor[] = a.split(1).concat(a.chunk(2));
  const {values, indices} = a.topk(1);
  const {values: distinct, inverse, counts} = await a.unique();
  const found: Tensor[] = [await a.nonzero(), await a.maskedSelect(a.gt(1)), values, indices, distinct, inverse, counts];
  const made = tidy(() => ({all: Tensor.cat([...parts, ...found]), one: Tensor.where(a.gt(0), a, 0)}));
  const image: Tensor = Tensor.fromData(picture, {device, dtype: 'f32'}).index(0, [null, null, 2], '...', null);
  const [gradient] = grad(a.sum(), [a], {createGraph: true}) as [Tensor];
  const numbers: Float32Array = await (await numericalGradient((x) => x.sum(), gradient)).data<Float32Array>();

  const net = new Net().train().to(device);
  const optimizer = new optim.AdamW(net.parameters(), {lr: 1e-3, weightDecay: 0.01});
  const schedule = new optim.CosineAnnealingLR(optimizer, 10);
  const loss = nn.functional.crossEntropy(net.forward(a), new Tensor([0, 1], {dtype: 'i32'}), {labelSmoothing: 0.1});
  optimizer.zeroGrad();
  loss.backward();
  optim.clipGradNorm(net.parameters(), 1);
  optimizer.step();
  schedule.step();
  net.loadStateDict(net.stateDict(), {strict: true});
  await net.load(await net.save());
  const state: Record<string, Tensor> = await loadSafetensors(await saveSafetensors({a}));
  const model = new OnnxModel(await exportOnnx(net, [a], {name: 'net', inputs: ['x']}), {mode: 'train'});
  const outputs: Tensor[] = model.forward({x: a});
  const learnt: nn.Parameter[] = model.lora({rank: 2});

  const sparse = SparseTensor.coo([[0, 1]], [2], [2, 2]).add(await SparseTensor.fromDense(new Tensor([[1, 0], [0, 0]])));
  const product: Tensor = sparse.matmul(a);
  const old = [new CPUTensor([2], [1, 2]), new WASMTensor([1]), new GPUTensor([1], [1]), Variable.create([1], [1])];
  const before: boolean = detectAnomaly(true);
  const kept: Tensor = enableGrad(() => noGrad(() => a.apply('Celu', [a], {alpha: new Floats(0.5)})));
  const position: number = util.shape.indexToPos([0, 1], util.shape.computeStrides(shape));
  await synchronize();
  try {
    await kept.item();
  } catch (problem) {
    if (problem instanceof GossamerError && problem.code === 'lost') net.toDevice('cpu');
  }
  const counted = [outputs, learnt, old, Object.values(state)].map(({length}) => length);
  return memory().bytes + position + numbers.length + counted.length + Number(before) + (made.all.grad?.size ?? product.size + image.size + made.one.size);
}
