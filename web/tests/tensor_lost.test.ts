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
