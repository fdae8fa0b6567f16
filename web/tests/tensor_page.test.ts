// @gossamer/tensor as a page has it: the published bundle, imported by its address, on each device.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {inPage, openTensorPage, tensorBundle} from './src/tensor_page.ts';

const skip = existsSync(join(tensorBundle, 'compiler.wasm')) ? false : 'the tensor API is not built with compiler.wasm (make web)';

test('the signs of zeros decide angles on every device', {skip}, async () => {
  const {page, close} = await openTensorPage();
  try {
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      const far = await inPage(page, `
        const [y, x] = [[0, -0, 0, -0, 0, -0, 0, -0, 1, -1, -2, Infinity], [-1, -1, 1, 1, 0, 0, -0, -0, -0, 0, -3, -Infinity]];
        const made = await new Tensor(y, {device: '${device}'}).atan2(new Tensor(x, {device: '${device}'})).array();
        return made.map((angle, at) => [y[at], x[at], angle]).filter(([y, x, angle]) => !(Math.abs(angle - Math.atan2(y, x)) < 1e-6)).map(String);
      `);
      assert.deepEqual(far, [], device);
    }
  } finally {
    await close();
  }
});

test('tensors in a page are computed, and a net is trained, on wasm, webgpu and webgl alike', {skip}, async () => {
  const {page, origin, close} = await openTensorPage();
  try {
    let first: unknown;
    let trained: number[] | undefined;
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      assert.deepEqual(await inPage(page, `
        const a = new Tensor([1, 2, 3, 4, 5, 6], {shape: [2, 3], device: '${device}'});
        const b = new Tensor([[1, 2], [3, 4], [5, 6]]).to('${device}');
        const product = a.matmul(b);
        const picked = Tensor.where(product.gt(28), product, 0).topk(2).indices;
        return Promise.all([product.array(), picked.to('cpu').array(), product.device]);
      `), [[[22, 28], [49, 64]], [[0, 1], [1, 0]], device], device);
      const drawn = (await inPage(page, `
        manualSeed(5);
        const layer = new nn.Linear(2, 2).to('${device}');
        const dropped = new nn.Dropout(0.5).forward(Tensor.ones([4, 8], {device: '${device}'}));
        return Promise.all([layer.weight.array(), dropped.flatten().array()]);
      `)) as [number[][], number[]];
      const losses = (await inPage(page, `
        manualSeed(2);
        const net = new nn.Sequential(new nn.Linear(1, 16), new nn.Tanh(), new nn.Linear(16, 1)).to('${device}');
        const optimizer = new optim.Adam(net.parameters(), {lr: 0.03});
        const x = Tensor.linspace(-2, 2, 32, {device: '${device}'}).unsqueeze(1);
        const y = new Tensor(Float32Array.from({length: 32}, (_, at) => Math.sin(at / 31 * 4 - 2)), {shape: [32, 1], device: '${device}'});
        const read = [];
        const before = memory().compiled;
        for (let step = 0; step < 120; ++step) {
          const loss = nn.functional.mseLoss(net.forward(x), y);
          optimizer.zeroGrad();
          loss.backward();
          optimizer.step();
          if (step % 40 === 39) read.push(await loss.item());
        }
        return [...read, memory().compiled - before];
      `)) as number[];
      // The first steps' program, and that of steps whose loss is read.
      assert.equal(losses.pop(), 2, device);
      assert.ok((losses[2] ?? 1) < 0.003, `${device}: ${losses.join(', ')}`);
      trained ??= losses;
      losses.forEach((loss, at) => assert.ok(Math.abs(loss - (trained?.[at] ?? 0)) < 2e-4, `${device}: ${losses.join(', ')} against ${trained?.join(', ')}`));
      first ??= drawn;
      assert.deepEqual(drawn, first, device);
      assert.deepEqual(new Set(drawn[1]), new Set([0, 2]));
    }
    assert.deepEqual(await inPage(page, `
      const canvas = new OffscreenCanvas(3, 2);
      const context = canvas.getContext('2d');
      context.fillStyle = 'rgb(255, 0, 128)';
      context.fillRect(1, 0, 2, 2);
      const bitmap = await createImageBitmap(canvas);
      const frame = new VideoFrame(bitmap, {timestamp: 0});
      const pictures = [canvas, bitmap, frame, context.getImageData(0, 0, 3, 2)].map((each) => Tensor.fromData(each));
      frame.close();
      return Promise.all(pictures.map((each) => each.select(0, 1).array()));
    `), new Array(4).fill([[0, 0, 0, 0], [255, 0, 128, 255], [255, 0, 128, 255]]));
    // On a GPU a picture is read where it lies, as it is at the call: no pixel of it comes to the page.
    for (const device of ['webgpu', 'webgl']) {
      assert.deepEqual(await inPage(page, `
        const canvas = new OffscreenCanvas(3, 2);
        const context = canvas.getContext('2d');
        const paint = (colour) => {
          context.fillStyle = colour;
          context.fillRect(0, 0, 3, 2);
        };
        paint('rgb(255, 0, 128)');
        const {prototype} = OffscreenCanvasRenderingContext2D;
        const read = prototype.getImageData;
        let reads = 0;
        prototype.getImageData = function (...given) {
          ++reads;
          return read.apply(this, given);
        };
        const bitmap = await createImageBitmap(canvas);
        const frame = new VideoFrame(canvas, {timestamp: 0});
        const made = [canvas, bitmap].map((each) => Tensor.fromData(each, {device: '${device}'}));
        paint('rgb(1, 2, 3)');
        bitmap.close();
        const floats = Tensor.fromData(canvas, {device: '${device}', dtype: 'f32'}).mul(2);
        const rest = [made.map(({shape, dtype}) => dtype + shape.join()), await floats.index(1, 2).array()];
        const pixels = await Promise.all(made.map((each) => each.reshape(-1, 4).index(0).array()));
        const counted = reads;
        // WebGPU on adapters in software copies no frames, so that the run time reads them.
        const framed = Tensor.fromData(frame, {device: '${device}'});
        frame.close();
        pixels.push(await framed.index(1, 1).array());
        prototype.getImageData = read;
        return [...rest, pixels, counted];
      `), [new Array(2).fill('u82,3,4'), [2, 4, 6, 510], new Array(3).fill([255, 0, 128, 255]), 0], device);
    }
    // A video shows the frame it is at, and says so where it has none yet.
    assert.deepEqual(await inPage(page, `
      const canvas = document.createElement('canvas');
      canvas.width = 4;
      canvas.height = 2;
      const context = canvas.getContext('2d');
      const video = document.createElement('video');
      let problem;
      try {
        Tensor.fromData(video);
      } catch (error) {
        problem = error.code;
      }
      video.muted = true;
      video.srcObject = canvas.captureStream();
      const painting = setInterval(() => {
        context.fillStyle = 'rgb(0, 255, 0)';
        context.fillRect(0, 0, 4, 2);
      }, 20);
      await new Promise((resolve) => {
        video.onloadeddata = resolve;
        void video.play();
      });
      const made = [];
      for (const device of ['cpu', 'webgpu', 'webgl']) {
        const picture = Tensor.fromData(video, {device});
        const [red, green, blue] = await picture.index(1, 2).array();
        made.push([...picture.shape, red < 60 && green > 200 && blue < 60]);
      }
      clearInterval(painting);
      video.srcObject.getTracks().forEach((track) => track.stop());
      return [problem, ...made];
    `), ['input', ...new Array<unknown>(3).fill([2, 4, 4, true])]);
    // Other batches are one program on every device.
    const batches: {compiled: number; values: number[]}[][] = [];
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      batches.push(await inPage(page, `
        manualSeed(7);
        const device = '${device}';
        const net = new nn.Sequential(
          new nn.Conv2d(1, 3, 3, {padding: 1}), new nn.BatchNorm2d(3), new nn.ReLU(), new nn.MaxPool2d(2), new nn.Flatten(), new nn.Linear(12, 2)).to(device);
        const made = [];
        for (const rows of [3, 5, 8, 4]) {
          const x = new Tensor(Float32Array.from({length: rows * 16}, (_, at) => Math.sin(at)), {shape: [rows, 1, 4, 4], device});
          const {compiled} = memory();
          net.zeroGrad();
          const loss = net.forward(x).softmax(1).select(1, 0).square().sum();
          loss.backward();
          const read = await Promise.all([loss.data(), ...net.parameters().map(({grad}) => grad.data())]);
          made.push({compiled: memory().compiled - compiled, values: read.flatMap((each) => [...each])});
        }
        return made;
      `) as {compiled: number; values: number[]}[]);
    }
    for (const made of batches) {
      const counts = made.map(({compiled}) => compiled);
      assert.ok(counts.at(-1) === 0 && counts.reduce((sum, each) => sum + each) <= 3, counts.join());
      made.forEach(({values}, run) => values.forEach((value, at) => {
        assert.ok(Math.abs(value - (batches[0]?.[run]?.values[at] ?? NaN)) < 2e-4, `run ${run}, element ${at}: ${value}`);
      }));
    }
    // A frozen model's weights are programs' own, and never those from before a change.
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      const [first, changed, held] = (await inPage(page, `
        manualSeed(11);
        const device = '${device}';
        const x = Tensor.linspace(-1, 1, 256).reshape(1, 4, 8, 8);
        const net = new nn.Sequential(
          new nn.Conv2d(4, 8, 3, {padding: 1, bias: false}), new nn.BatchNorm2d(8), new nn.ReLU(), new nn.Flatten(), new nn.Linear(512, 3)).eval();
        const file = await exportOnnx(net, [x]);
        const before = memory().weights;
        const model = new OnnxModel(file, {device});
        const far = async (shift) => {
          const [is, was] = [await model.call(x.to(device)).data(), await net.forward(x).data()];
          return Math.max(...is.map((value, at) => Math.abs(value - was[at] - shift)));
        };
        const bias = model.namedParameters().find(([, {shape}]) => shape.length === 1 && shape[0] === 3)[1];
        const made = [await far(0)];
        const held = [memory().weights - before > 4 * 3 * 512];
        bias.assign(new Tensor(await bias.data()).add(5).to(device));
        made.push(await far(5), await far(5), await far(5), await far(5));
        for (const each of [model, net]) each.dispose();
        await new Promise((resolve) => setTimeout(resolve, 100));
        held.push(memory().weights === before);
        return [made[0], Math.max(...made), held];
      `)) as [number, number, boolean[]];
      assert.ok(first < 1e-4 && changed < 1e-4, `${device}: ${first}, ${changed}`);
      assert.deepEqual(held, [true, true], device);
    }
    // In a worker, too.
    assert.deepEqual(await inPage(page, `
      const script = "import {Tensor} from '${origin}/dist/tensor.js'; postMessage(await new Tensor([1, 2]).add(1).array());";
      const worker = new Worker(URL.createObjectURL(new Blob([script], {type: 'text/javascript'})), {type: 'module'});
      return new Promise((resolve, reject) => {
        worker.onmessage = ({data}) => resolve(data);
        worker.onerror = ({message}) => reject(new Error(message));
      });
    `), [2, 3]);
    assert.deepEqual(page.takeLog(), []);
  } finally {
    await close();
  }
});
