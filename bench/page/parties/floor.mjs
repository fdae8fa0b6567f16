// What no engine on a GPU can go below: the inputs written, as many numbers as the outputs have read back, and
// nothing computed.
const counted = ({shape, dims}) => (shape ?? dims).reduce((product, extent) => product * (Number(extent) || 1), 1);

async function openWebgpu({graph}) {
  const adapter = await navigator.gpu.requestAdapter({powerPreference: 'high-performance'});
  const {maxBufferSize, maxStorageBufferBindingSize} = adapter.limits;
  const device = await adapter.requestDevice({requiredLimits: {maxBufferSize, maxStorageBufferBindingSize}});
  const buffer = (size, usage) => device.createBuffer({size, usage});
  const inputs = graph.inputs.map((port) => {
    const bytes = new Uint8Array(4 * counted(port));
    return {bytes, to: buffer(bytes.length, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST)};
  });
  const outputs = graph.outputs.map((port) => {
    const size = 4 * counted(port);
    return {size, from: buffer(size, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC), to: buffer(size, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST)};
  });
  return {
    run: async () => {
      for (const {bytes, to} of inputs) device.queue.writeBuffer(to, 0, bytes);
      const encoder = device.createCommandEncoder();
      for (const {from, to, size} of outputs) encoder.copyBufferToBuffer(from, 0, to, 0, size);
      device.queue.submit([encoder.finish()]);
      await Promise.all(outputs.map(({to}) => to.mapAsync(GPUMapMode.READ)));
      for (const {to} of outputs) {
        to.getMappedRange().slice(0);
        to.unmap();
      }
    },
    close: () => device.destroy(),
  };
}

async function openWebgl({graph}) {
  const gl = new OffscreenCanvas(1, 1).getContext('webgl2');
  if (!gl?.getExtension('EXT_color_buffer_float')) throw new Error('cannot render to floats');
  /** A texture of four numbers a texel, and numbers to fill it. */
  const textureOf = (port) => {
    const texels = Math.ceil(counted(port) / 4);
    const width = Math.min(2048, texels);
    const height = Math.ceil(texels / width);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, width, height);
    return {texture, width, height, values: new Float32Array(4 * width * height)};
  };
  const inputs = graph.inputs.map(textureOf);
  const outputs = graph.outputs.map((port) => {
    const made = textureOf(port);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, made.texture, 0);
    return {...made, frame};
  });
  return {
    run: async () => {
      for (const {texture, width, height, values} of inputs) {
        gl.bindTexture(gl.TEXTURE_2D, texture);
        gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, gl.RGBA, gl.FLOAT, values);
      }
      for (const {frame, width, height, values} of outputs) {
        gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
        gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, values);
      }
      if (gl.getError()) throw new Error('the context is lost');
    },
    close: () => gl.getExtension('WEBGL_lose_context')?.loseContext(),
  };
}

export const open = (given) => (given.device === 'webgl' ? openWebgl(given) : openWebgpu(given));
