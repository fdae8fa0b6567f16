// What no engine on WebGPU can go below: the inputs' bytes written, as many as the outputs have copied to where
// they can be read, and read.
const BYTES = {f32: 4, i64: 4, i32: 4, i8: 4, u8: 4, bool: 4}; // in a buffer of the GPU

const counted = ({shape, dims, type}) => Math.max(4, (shape ?? dims).reduce((product, extent) => product * (Number(extent) || 1), 1) * BYTES[type]);

export async function open({graph}) {
  const adapter = await navigator.gpu.requestAdapter({powerPreference: 'high-performance'});
  const {maxBufferSize, maxStorageBufferBindingSize} = adapter.limits;
  const device = await adapter.requestDevice({requiredLimits: {maxBufferSize, maxStorageBufferBindingSize}});
  const buffer = (size, usage) => device.createBuffer({size, usage});
  const inputs = graph.inputs.map((port) => {
    const bytes = new Uint8Array(counted(port));
    return {bytes, to: buffer(bytes.length, GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST)};
  });
  const outputs = graph.outputs.map((port) => {
    const size = counted(port);
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
