// @gossamer/tensor when its GPU goes away: the error says what to do, and doing it works.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {inPage, openTensorPage, tensorBundle} from './src/tensor_page.ts';

const skip = existsSync(join(tensorBundle, 'compiler.wasm')) ? false : 'the tensor API is not built with compiler.wasm (make web)';

/** Before the bundle is imported: how the page takes its device away. */
const LOSE = `
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    const device = await request.apply(this, given);
    globalThis.loseWebgpu = () => device.destroy();
    return device;
  };
  for (const {prototype} of [OffscreenCanvas, HTMLCanvasElement]) {
    const get = prototype.getContext;
    prototype.getContext = function (kind, ...given) {
      const context = get.call(this, kind, ...given);
      if (kind === 'webgl2' && context) globalThis.loseWebgl = () => context.getExtension('WEBGL_lose_context').loseContext();
      return context;
    };
  }`;

test('a lost GPU is an error that can be recovered from', {skip}, async () => {
  const {page, close} = await openTensorPage(LOSE);
  try {
    for (const device of ['webgpu', 'webgl']) {
      const made = (await inPage(page, `
        manualSeed(3);
        const device = '${device}';
        const net = new nn.Sequential(new nn.Linear(2, 4), new nn.Tanh(), new nn.Linear(4, 1)).to(device);
        const x = new Tensor([[1, 2], [3, 4]], {device});
        let optimizer = new optim.SGD(net.parameters(), {lr: 0.1});
        const step = async () => {
          const loss = net.forward(x.to(net.parameters()[0].device)).square().mean();
          optimizer.zeroGrad();
          loss.backward();
          optimizer.step();
          return loss.item();
        };
        const losses = [await step(), await step()];
        const saved = await net.save();
        const wanted = await net.forward(x).data();
        const computed = x.mul(2).exp();
        await computed.data();
        (device === 'webgpu' ? loseWebgpu : loseWebgl)();
        let problem;
        try {
          for (let at = 0; at < 5; ++at) await step();
        } catch (thrown) {
          problem = thrown;
        }
        // What was uploaded, and what was read, is there; the rest comes from the saved state.
        net.toDevice('cpu');
        await net.load(saved);
        optimizer = new optim.SGD(net.parameters(), {lr: 0.1});
        const again = await net.forward(x.toDevice('cpu')).data();
        losses.push(await step());
        // The device itself can be had anew.
        const back = await x.mul(3).array();
        return {code: problem?.code, message: problem?.message, losses, wanted: [...wanted], again: [...again], back, read: [...await computed.data()].map(Math.log)};
      `)) as {code: string; message: string; losses: number[]; wanted: number[]; again: number[]; back: number[][]; read: number[]};
      assert.equal(made.code, 'lost', `${device}: ${made.message}`);
      assert.match(made.message, /toDevice\('cpu'\).*loadStateDict/);
      made.again.forEach((value, at) => assert.ok(Math.abs(value - (made.wanted[at] ?? NaN)) < 1e-5, `${device}: ${made.again.join()} against ${made.wanted.join()}`));
      assert.ok((made.losses[2] ?? NaN) < (made.losses[1] ?? NaN), `${device}: ${made.losses.join()}`);
      assert.deepEqual(made.back, [[3, 6], [9, 12]], device);
      made.read.forEach((value, at) => assert.ok(Math.abs(value - 2 * (at + 1)) < 1e-4, `${device}: ${made.read.join()}`));
    }
  } finally {
    await close();
  }
});

/** Before the bundle is imported: while `full` is set nothing large can be had. */
const FILL = `
  let refused = false;
  const scopes = [];
  const before = (prototype, name, change) => {
    const own = prototype[name];
    prototype[name] = function (...given) {
      return change.call(this, () => own.apply(this, given), ...given);
    };
  };
  const refuse = (large) => (refused ||= Boolean(globalThis.full && large));
  before(GPUDevice.prototype, 'createBuffer', (make, {size}) => (refuse(size >= 2 ** 20), make()));
  before(GPUDevice.prototype, 'pushErrorScope', (push, filter) => (scopes.push(filter), push()));
  before(GPUDevice.prototype, 'popErrorScope', (pop) => {
    const told = scopes.pop() === 'out-of-memory' && refused;
    if (told) refused = false;
    return pop().then((found) => (told ? new GPUOutOfMemoryError('there is none left') : found));
  });
  const {prototype} = WebGL2RenderingContext;
  before(prototype, 'texStorage2D', (make, target, levels, format, width, height) => (refuse(width * height >= 2 ** 16), make()));
  before(prototype, 'getError', function (get) {
    if (!refused) return get();
    refused = false;
    return this.OUT_OF_MEMORY;
  });`;

test('a full GPU is an error, what is on it stays, and the page goes on elsewhere or with less', {skip}, async () => {
  const {page, close} = await openTensorPage(FILL);
  try {
    for (const device of ['webgpu', 'webgl']) {
      assert.deepEqual(await inPage(page, `
        const device = '${device}';
        const x = new Tensor([1, 2], {device});
        const kept = x.mul(3);
        const first = await kept.add(1).data();
        const large = (from) => from.expand(2 ** 19, 2).mul(from).sum([0]);
        const whole = (from) => from.expand(2 ** 19, 2).exp();
        globalThis.full = true;
        let problem;
        try {
          await Promise.all([large(x).data(), whole(x).data()]);
        } catch (thrown) {
          problem = thrown;
        }
        const small = await x.add(1).array();
        const elsewhere = await large(x.toDevice('cpu')).array();
        globalThis.full = false;
        const again = (await whole(x).slice([7], [8]).array()).flat().map(Math.log).map(Math.round);
        return [[...first], problem?.code, /toDevice/.test(problem?.message), small, elsewhere, await kept.array(), again];
      `), [[4, 7], 'out-of-memory', true, [2, 3], [2 ** 19, 2 ** 21], [3, 6], [1, 2]], device);
    }
  } finally {
    await close();
  }
});
