/** Pictures and buffers of the page as tensors on a device. */
import {type DeviceKind, type DeviceTensor, type ImageOptions, type ImageSource, load, openDevice} from '../../runtime/src/index.ts';
import {defaultNormal, fit, imageTensor, type Picture} from '../../runtime/src/image/preprocess.ts';
import {tinyPackage} from '../fixtures/tiny.ts';
import {check, k, rejects, same} from './check.ts';

/** Edges, ramps and noise; `alpha`: not opaque. */
function picture(width: number, height: number, alpha = false): Picture {
  const rgba = new Uint8ClampedArray(4 * width * height);
  let seed = 1;
  for (let at = 0; at < rgba.length; ++at) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    const x = (at >> 2) % width;
    rgba[at] = at % 4 === 3 ? (alpha ? seed >>> 24 : 255) : at % 4 === 0 ? (255 * x) / width : x % 7 < 3 ? 250 : seed >>> 24;
  }
  return {width, height, rgba};
}

/** What a page computes, in 64-bit floats. */
function wanted(from: Picture, {height, width, channels = 3, layout = 'nchw', dtype = 'f32', scale, mean, std}: ImageOptions): readonly number[] {
  const planes = layout === 'nchw';
  const axes = planes ? {channels, channelAxis: 1, rowAxis: 2} : {channels, channelAxis: 3, rowAxis: 1};
  const known = [mean, std].map((each) => (each === undefined ? undefined : [each].flat()));
  const normal = scale === undefined ? defaultNormal(dtype, channels) : {scale, mean: known[0] ?? [0], std: known[1] ?? [1]};
  return Array.from(imageTensor(fit(from, channels, height, width), axes, 4, dtype, normal).data as Float32Array);
}

async function close(found: DeviceTensor, from: Picture, options: ImageOptions, what: string): Promise<void> {
  const values = Array.from(await found.data<Float32Array>(), Number);
  const expected = wanted(from, options).map(Number);
  same(values.length, expected.length, `${what}: elements`);
  const worst = Math.max(...values.map((value, at) => Math.abs(value - (expected[at] ?? NaN))));
  // Sums of 32 bits: a half that they round the other way is one step of an integer.
  const most = /^[iu]/.test(options.dtype ?? 'f32') ? 1 : 1e-4 * Math.max(1, ...[255 * (options.scale ?? 0)]);
  check(worst <= most, `${what}: off by ${worst}`);
  found.dispose();
}

async function resizes(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  const all: [Picture, ImageOptions][] = [
    [picture(37, 23), {height: 8, width: 8}],
    [picture(37, 23, true), {height: 40, width: 50}],
    [picture(400, 300), {height: 32, width: 48, layout: 'nhwc'}],
    [picture(16, 16, true), {height: 5, width: 7, channels: 4, scale: 1 / 127.5, mean: 1, std: 0.5}],
    [picture(31, 64, true), {height: 28, width: 28, channels: 1}],
    [picture(64, 31), {height: 9, width: 9, channels: 1, layout: 'nhwc', scale: 1, mean: [3], std: [2]}],
    [picture(20, 30), {height: 10, width: 10, dtype: 'u8'}],
    [picture(20, 30), {height: 10, width: 10, dtype: 'i8', layout: 'nhwc', scale: 1, mean: 128}],
    [picture(20, 30), {height: 3, width: 3, dtype: 'i64'}],
    [picture(9, 9), {height: 3, width: 3, dtype: 'f64'}],
    [picture(1, 1), {height: 1, width: 1}],
  ];
  for (const [from, options] of all) {
    const found = await device.image(from, options);
    const {height, width, channels = 3, layout = 'nchw', dtype = 'f32'} = options;
    same([found.dtype, found.shape], [dtype, layout === 'nchw' ? [1, channels, height, width] : [1, height, width, channels]], 'shape');
    await close(found, from, options, JSON.stringify(options));
  }
  const from = picture(4, 4);
  for (const [options, message] of [
    [{height: 0, width: 4}, /\[0, 4\] is no size/],
    [{height: 4, width: 4, channels: 2 as 3}, /2 channels/],
    [{height: 4, width: 4, std: 0}, /std: 0 divides/],
    [{height: 4, width: 4, mean: [1, 2]}, /mean: 2 values, the image has 3 channels/],
    [{height: 4, width: 4, dtype: 'bool' as const}, /cannot become bool/],
    [{height: 4, width: 4, layout: 'chw' as 'nchw'}, /"chw" is no layout/],
  ] as const) {
    await rejects(device.image(from, options), 'input', message);
  }
  const none = {width: 0, height: 0, rgba: new Uint8Array()};
  await rejects(device.image(none, {height: 4, width: 4}), 'input', /0 x 0: it has not arrived yet/);
  same(device.memory().tensors, 0, 'tensors');
}

/** The same picture in everything that a page may have it in. */
async function sources(kind: DeviceKind): Promise<void> {
  using device = await openDevice(kind);
  const from = picture(45, 33);
  const {width, height} = from;
  const data = new ImageData(Uint8ClampedArray.from(from.rgba), width, height);
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext('2d', {willReadFrequently: true})?.putImageData(data, 0, 0);
  const element = document.createElement('canvas');
  [element.width, element.height] = [width, height];
  element.getContext('2d')?.putImageData(data, 0, 0);
  const image = new Image();
  image.src = element.toDataURL('image/png');
  await image.decode();
  const frames = typeof VideoFrame === 'undefined' ? [] : [new VideoFrame(canvas, {timestamp: 0, alpha: 'discard'})];
  const all: ImageSource[] = [data, canvas, element, image, await createImageBitmap(data), ...frames];
  const options = {height: 16, width: 20};
  for (const source of all) await close(await device.image(source, options), from, options, source.constructor.name);
  frames.forEach((frame) => frame.close());
  const {gpuDevice, context: gl} = device;
  if (gpuDevice) {
    const {TEXTURE_BINDING, COPY_DST} = GPUTextureUsage;
    const texture = gpuDevice.createTexture({size: [width, height], format: 'rgba8unorm', usage: TEXTURE_BINDING | COPY_DST});
    gpuDevice.queue.writeTexture({texture}, data.data, {bytesPerRow: 4 * width}, [width, height]);
    for (let turn = 0; turn < 2; ++turn) await close(await device.image({texture, width, height}, options), from, options, 'a GPUTexture');
  }
  if (gl) {
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, data);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    for (let turn = 0; turn < 2; ++turn) await close(await device.image({texture, width, height}, options), from, options, 'a WebGLTexture');
  }
}

/** A GPUDevice of the page's own, its buffers as feeds and outputs' buffers in its own commands. */
async function ownBuffers(): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter();
  const gpu = await (adapter as GPUAdapter).requestDevice();
  using device = await openDevice(gpu);
  check(device.gpuDevice === gpu, 'the GPUDevice');
  const {STORAGE, COPY_SRC, COPY_DST, MAP_READ} = GPUBufferUsage;
  for (const n of [4, 6]) {
    using model = await load(await tinyPackage('webgpu', {n}), {device});
    const values = Float32Array.from({length: n}, (_, at) => at);
    const mine = gpu.createBuffer({size: 4 * n, usage: STORAGE | COPY_SRC | COPY_DST});
    gpu.queue.writeBuffer(mine, 0, values);
    const x = device.fromBuffer(mine, {shape: [1, n]});
    for (let turn = 0; turn < 2; ++turn) {
      const {y} = await model.run<DeviceTensor>({x, k}, {location: 'device', fetches: ['m']});
      const read = gpu.createBuffer({size: 4 * n, usage: MAP_READ | COPY_DST});
      const encoder = gpu.createCommandEncoder();
      encoder.copyBufferToBuffer(y?.gpuBuffer as GPUBuffer, 0, read, 0, 4 * n);
      gpu.queue.submit([encoder.finish()]);
      await read.mapAsync(GPUMapMode.READ);
      same(new Float32Array(read.getMappedRange()), values.map((value) => 5 * value + 3), 'y');
      same(await x.data(), values, 'x');
      y?.dispose();
    }
    x.dispose();
    gpu.queue.writeBuffer(mine, 0, values); // still the page's
    const wrong = (): unknown => device.fromBuffer(mine, {shape: [1, n + 1]});
    await rejects(Promise.resolve().then(wrong), 'input', /is \d+ bytes of STORAGE and COPY_SRC on webgpu, not a buffer of \d+ bytes/);
  }
  same(device.memory().bytes, 0, 'bytes');
  const x = device.tensor([1, 2]);
  gpu.destroy();
  await gpu.lost;
  await rejects(x.data(), 'lost', /device was lost/);
}

export function addImages(tests: Map<string, () => Promise<void>>): void {
  for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
    tests.set(`${kind}: pictures are resized and normalised on the device`, () => resizes(kind));
    tests.set(`${kind}: pictures come from everything that has pixels`, () => sources(kind));
  }
  tests.set('webgpu: buffers of a GPUDevice of the page', ownBuffers);
}
