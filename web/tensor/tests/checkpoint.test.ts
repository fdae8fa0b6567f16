import assert from 'node:assert/strict';
import {test} from 'node:test';

import {checkpoint, grad, manualSeed, memory, nn, noGrad, optim, synchronize, Tensor} from '../src/index.ts';
import {near, ramp, skip} from './start.ts';

const F = nn.functional;

/** A deep net; each block is computed again where `again`. */
class Deep extends nn.Module {
  readonly blocks: nn.ModuleList;
  readonly again: boolean;
  constructor(depth: number, width: number, again: boolean) {
    super();
    this.again = again;
    this.blocks = new nn.ModuleList(Array.from({length: depth}, () => new nn.Sequential(
      new nn.Linear(width, width), new nn.Tanh(), new nn.Linear(width, width), new nn.GELU(), new nn.Dropout(0.1))));
  }
  forward(x: Tensor): Tensor {
    return [...this.blocks].reduce((y, block) => {
      const compute = (z: Tensor): Tensor => block.forward(z) as Tensor;
      return this.again ? checkpoint(compute, y) : compute(y);
    }, x);
  }
}

test('what is computed again has the same gradients, and is not kept', {skip}, async () => {
  const x = ramp([512, 32], 7, 11, 5, 4);
  const runs: {net: Deep; loss: Tensor}[] = [];
  const scratch: number[] = [];
  for (const again of [false, true]) {
    manualSeed(5); // the same weights and masks
    const net = new Deep(6, 32, again);
    const loss = F.mseLoss(net.forward(x), x.mul(0.5));
    loss.backward();
    runs.push({net, loss});
    const [value] = await Promise.all([loss.data(), ...net.parameters().map(({grad: made}) => (made as Tensor).data())]);
    assert.ok(Number(value[0]) > 0);
    scratch.push(memory().scratch);
  }
  const [plain, again] = runs as [(typeof runs)[number], (typeof runs)[number]];
  await near(again.loss, await plain.loss.array(), 1e-6);
  for (const [at, parameter] of again.net.parameters().entries()) {
    await near(parameter.grad as Tensor, await (plain.net.parameters()[at]?.grad as Tensor).array(), 1e-6, `parameter ${at}`);
  }
  const [kept = 0, remade = 0] = scratch;
  // Of each block 1.4 tensors instead of 3.3; what one block needs while it is gone through is needed in both.
  assert.ok(remade < 0.6 * kept, `${remade} bytes of ${kept}`);
});

test('gradients go through several, nested and beside others', {skip}, async () => {
  const w = new Tensor([0.5, -1.5], {requiresGrad: true});
  const x = new Tensor([2, 3], {requiresGrad: true});
  const compute = (wrap: typeof checkpoint): Tensor => {
    const first = wrap((a) => a.mul(w).tanh(), x);
    const [left, right] = wrap((a, b) => [wrap((c) => c.square().mul(w), a).add(b), a.exp()], first, x) as unknown as [Tensor, Tensor];
    return left.mul(right).add(first).sum().add(w.square().sum());
  };
  compute(checkpoint).backward();
  const made = [w, x].map((each) => each.grad as Tensor);
  const plain = ((fn: (...all: Tensor[]) => Tensor, ...all: Tensor[]) => fn(...all)) as unknown as typeof checkpoint;
  const wanted = grad(compute(plain), [w, x]);
  for (const [at, each] of made.entries()) await near(each, await (wanted[at] as Tensor).array(), 1e-5);
  const once = checkpoint((a) => a.mul(w), x).sum();
  once.backward();
  assert.throws(() => once.backward(), /gone through this checkpoint before/);
  assert.throws(() => grad(checkpoint((a) => a.mul(w), x).sum(), x, {createGraph: true}), /no gradients of gradients/);
  assert.equal(noGrad(() => checkpoint((a) => a.mul(w), x)).requiresGrad, false);
});

test('a step with checkpoints is one program', {skip}, async () => {
  const net = new Deep(2, 4, true);
  const optimizer = new optim.SGD(net.parameters(), {lr: 0.1});
  const x = ramp([4, 4], 7, 11, 5, 4);
  const step = async (): Promise<number> => {
    const loss = net.forward(x).square().mean();
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    return loss.item();
  };
  await synchronize(); // losses of other tests
  const first = await step();
  const {compiled} = memory();
  for (let at = 0; at < 5; ++at) await step();
  assert.equal(memory().compiled, compiled);
  assert.ok((await step()) < first);
});
