// Runs in the page: builds each shader, runs it once on its inputs, returns the output's 32-bit words.

const typed = (words, storage) => {
  const bits = new Uint32Array(words);
  if (storage === 'f32') return new Float32Array(bits.buffer);
  return storage === 'i32' ? new Int32Array(bits.buffer) : bits;
};

async function runWebgpuCase(device, test) {
  device.pushErrorScope('validation');
  const started = performance.now();
  const module = device.createShaderModule({ code: test.code });
  const last = test.storage.length - 1;
  const entries = test.storage.map((_, i) => ({
    binding: i, visibility: GPUShaderStage.COMPUTE,
    buffer: { type: i === last ? 'storage' : 'read-only-storage' },
  }));
  if (test.scalars.length) {
    entries.push({ binding: last + 1, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'uniform' } });
  }
  const layout = device.createBindGroupLayout({ entries });
  const pipeline = device.createComputePipeline({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module, entryPoint: 'main' },
  });
  const upload = (words, usage) => {
    const buffer = device.createBuffer({ size: Math.ceil(words.length / 4) * 16, usage: usage | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(buffer, 0, new Uint32Array(words));
    return buffer;
  };
  const inputs = test.inputs.map((words) => upload(words, GPUBufferUsage.STORAGE));
  const bytes = test.expected.length * 4;
  const output = device.createBuffer({
    size: Math.ceil(bytes / 16) * 16, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC,
  });
  const resources = [...inputs, output];
  if (test.scalars.length) resources.push(upload(test.scalars, GPUBufferUsage.UNIFORM));
  const group = device.createBindGroup({
    layout, entries: resources.map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  const read = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  const x = Math.min(test.range, 65535);
  pass.dispatchWorkgroups(x, Math.ceil(test.range / x));
  pass.end();
  encoder.copyBufferToBuffer(output, 0, read, 0, bytes);
  device.queue.submit([encoder.finish()]);
  const error = await device.popErrorScope();
  if (error) return { error: error.message };
  await read.mapAsync(GPUMapMode.READ);
  const words = Array.from(new Uint32Array(read.getMappedRange()));
  for (const buffer of [...resources, read]) buffer.destroy();
  return { words, ms: performance.now() - started };
}

const formats = { f32: ['RGBA32F', 'FLOAT', 'RGBA'], i32: ['RGBA32I', 'INT', 'RGBA_INTEGER'], u32: ['RGBA32UI', 'UNSIGNED_INT', 'RGBA_INTEGER'] };

function makeTexture(gl, storage, [width, layers], texels, words) {
  const [internal, type, format] = formats[storage];
  const height = Math.ceil(texels / width);
  const target = layers > 1 ? gl.TEXTURE_2D_ARRAY : gl.TEXTURE_2D;
  const texture = gl.createTexture();
  gl.bindTexture(target, texture);
  gl.texParameteri(target, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(target, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  if (layers > 1) gl.texStorage3D(target, 1, gl[internal], width, height, layers);
  else gl.texStorage2D(target, 1, gl[internal], width, height);
  if (words) {
    for (let layer = 0; layer < layers; ++layer) {
      const padded = new Uint32Array(width * height * 4);
      padded.set(words.slice(layer * texels * 4, (layer + 1) * texels * 4));
      const data = typed(padded, storage);
      if (layers > 1) gl.texSubImage3D(target, 0, 0, 0, layer, width, height, 1, gl[format], gl[type], data);
      else gl.texSubImage2D(target, 0, 0, 0, width, height, gl[format], gl[type], data);
    }
  }
  return { texture, target, width, height, layers };
}

const vertexCode = `#version 300 es
void main() {
  gl_Position = vec4(float(gl_VertexID & 1) * 4.0 - 1.0, float(gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0);
}`;

function runWebglCase(gl, test) {
  const started = performance.now();
  const program = gl.createProgram();
  for (const [kind, code] of [[gl.VERTEX_SHADER, vertexCode], [gl.FRAGMENT_SHADER, test.code]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, code);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) return { error: gl.getShaderInfoLog(shader) };
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return { error: gl.getProgramInfoLog(program) };
  gl.useProgram(program);
  const last = test.storage.length - 1;
  const textures = test.textures.map((shape, i) => {
    const words = i < last ? test.inputs[i] : undefined;
    const count = (words ?? test.expected).length;
    return makeTexture(gl, test.storage[i], shape, count / 4 / shape[1], words);
  });
  textures.slice(0, last).forEach(({ texture, target }, i) => {
    gl.activeTexture(gl.TEXTURE0 + i);
    gl.bindTexture(target, texture);
    gl.uniform1i(gl.getUniformLocation(program, `b${i}`), i);
  });
  test.scalars.forEach((value, i) => gl.uniform1i(gl.getUniformLocation(program, `s${i}`), value));
  const out = textures[last];
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  const attachments = [];
  for (let layer = 0; layer < out.layers; ++layer) {
    attachments.push(gl.COLOR_ATTACHMENT0 + layer);
    if (out.layers > 1) gl.framebufferTextureLayer(gl.FRAMEBUFFER, attachments[layer], out.texture, 0, layer);
    else gl.framebufferTexture2D(gl.FRAMEBUFFER, attachments[layer], gl.TEXTURE_2D, out.texture, 0);
  }
  gl.drawBuffers(attachments);
  gl.viewport(0, 0, out.width, out.height);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
  const [, type, format] = formats[test.storage[last]];
  const texels = test.expected.length / 4 / out.layers;
  const words = [];
  for (let layer = 0; layer < out.layers; ++layer) {
    gl.readBuffer(attachments[layer]);
    const bits = new Uint32Array(out.width * out.height * 4);
    gl.readPixels(0, 0, out.width, out.height, gl[format], gl[type], typed(bits, 'u32') && new ({ f32: Float32Array, i32: Int32Array, u32: Uint32Array }[test.storage[last]])(bits.buffer));
    for (let i = 0; i < texels * 4; ++i) words.push(bits[i]);
  }
  const error = gl.getError();
  gl.deleteProgram(program);
  for (const { texture } of textures) gl.deleteTexture(texture);
  return error ? { error: `GL error ${error}` } : { words, ms: performance.now() - started };
}

window.runCases = async (api, cases) => {
  const results = [];
  if (api === 'webgpu') {
    const adapter = await navigator.gpu?.requestAdapter();
    if (!adapter) throw new Error('no WebGPU adapter');
    const device = await adapter.requestDevice();
    for (const test of cases) results.push(await runWebgpuCase(device, test));
    return results;
  }
  const gl = document.createElement('canvas').getContext('webgl2');
  if (!gl?.getExtension('EXT_color_buffer_float')) throw new Error('no WebGL 2 with float targets');
  for (const test of cases) results.push(runWebglCase(gl, test));
  return results;
};
