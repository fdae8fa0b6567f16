// A model by its address, twice, from what the first session left in the cache; a picture through the library's own tensor.
globalThis.useOrt = async (ort, {device, onGpu}) => {
  const options = {executionProviders: [device], graphOptimizationLevel: 'all', ...(onGpu ? {preferredOutputLocation: 'gpu-buffer'} : {})};
  const [first, second] = [await ort.InferenceSession.create('/files/digits.onnx', options), await ort.InferenceSession.create('/files/digits.onnx', options)];
  const kept = await (await caches.open('gossamer-compiled')).keys();
  if (kept.length !== 1) throw new Error(`${kept.length} models are kept`);
  const pixels = new Float32Array(await (await fetch('/files/image')).arrayBuffer());
  const bytes = new Uint8ClampedArray(4 * 784);
  pixels.forEach((value, at) => bytes.fill(Math.round(255 * value), 4 * at, 4 * at + 4));
  const colours = await ort.Tensor.fromImage(new ImageData(bytes, 28, 28));
  if (colours.dims.join() !== '1,3,28,28' || Math.abs(colours.data[400] - pixels[400]) > 1 / 255) throw new Error(`the picture became ${colours.dims}`);
  const back = colours.toImageData();
  if (back.data.some((value, at) => at % 4 < 3 && value !== bytes[at])) throw new Error('the picture came back changed');
  const feeds = {[first.inputNames[0]]: new ort.Tensor('float32', pixels, [1, 1, 28, 28])};
  const [one, other] = await Promise.all([first.run(feeds), second.run(feeds)]);
  const tensors = [one.probabilities, other.probabilities];
  for (const tensor of tensors) if (tensor.location !== (onGpu ? 'gpu-buffer' : 'cpu')) throw new Error(`the location is ${tensor.location}`);
  if (onGpu) {
    const gpuDevice = await ort.env.webgpu.device;
    if (!(gpuDevice instanceof GPUDevice) || tensors[0].gpuBuffer.size < 40) throw new Error('it has no buffer');
    // Another session takes it as it lies, as does one the buffer alone.
    const image = gpuDevice.createBuffer({size: 4 * 784, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST});
    gpuDevice.queue.writeBuffer(image, 0, pixels);
    const mine = ort.Tensor.fromGpuBuffer(image, {dataType: 'float32', dims: [1, 1, 28, 28]});
    tensors.push((await first.run({image: mine})).probabilities);
  }
  const all = await Promise.all(tensors.map((tensor) => tensor.getData(true)));
  if (all.some((values) => values.some((value, at) => Math.abs(value - all[0][at]) > 1e-6))) throw new Error('two runs differ');
  await first.release();
  await second.release();
  return {values: Array.from(all[0])};
};
