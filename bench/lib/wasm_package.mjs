// Runs a wasm package's launches one by one on this thread, so that each can be timed. The run time
// proper (web/runtime) hides its launches in a worker; it is what run.mjs measures.

const PAGE = 65536;
const RELAXED = 'kernels.relaxed.wasm';

function readWeights(bytes) {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  delete header.__metadata__;
  return new Map(
    Object.entries(header).map(([name, {data_offsets: [begin, end]}]) => [name, bytes.subarray(8 + size + begin, 8 + size + end)]),
  );
}

/**
 * Loads and runs `init`. read: gives (a promise of) the bytes of a file of the package by its name;
 * dims: the values of dynamic dimensions, in the manifest's order.
 */
export async function openWasmPackage(read, dims = []) {
  const manifest = JSON.parse(new TextDecoder().decode(await read('manifest.json')));
  const memory = new WebAssembly.Memory({initial: 2, maximum: 65536});
  // With relaxed SIMD where the package and this engine have it.
  const fast = manifest.files.some(({name}) => name === RELAXED) && (await read(RELAXED));
  const relaxed = fast && WebAssembly.validate(fast);
  const module = relaxed ? fast : await read('kernels.wasm');
  const {exports} = (await WebAssembly.instantiate(module, {env: {memory}})).instance;
  let end = 4096;
  const allocate = (bytes) => {
    const begin = end;
    end += Math.ceil(bytes / 64) * 64 + 64;
    if (end > memory.buffer.byteLength) memory.grow(Math.ceil((end - memory.buffer.byteLength) / PAGE) + 1);
    return begin;
  };
  const planned = manifest.plan?.values ?? 0;
  const values = new Int32Array(planned);
  if (planned > 0) {
    const at = allocate(4 * (dims.length + planned));
    new Int32Array(memory.buffer).set(dims, at / 4);
    exports.plan(at, at + 4 * dims.length);
    values.set(new Int32Array(memory.buffer, at + 4 * dims.length, planned));
  }
  const known = (value) => (typeof value === 'number' ? value : values[value.plan]);
  const slots = manifest.slots.map(({bytes}) => allocate(known(bytes)));
  const address = (tensor) => slots[manifest.tensors[tensor].slot];
  const weights = readWeights(await read('weights.safetensors'));
  for (const {name, tensor} of manifest.weights) {
    new Uint8Array(memory.buffer).set(weights.get(name), address(tensor));
  }
  const prepare = (launch) => {
    const {kernel, tensors, scalars, range, origin} = {...launch, ...(relaxed ? launch.hardware : {})};
    const args = allocate(4 * (tensors.length + scalars.length));
    new Int32Array(memory.buffer).set([...tensors.map(address), ...scalars.map(known)], args / 4);
    const {entry, name, schedule} = manifest.kernels[kernel];
    const call = exports[entry];
    const count = known(range);
    return {name, schedule, origin, range: count, run: () => call(0, count, args)};
  };
  for (const launch of manifest.init.map(prepare)) launch.run();
  const launches = manifest.run.map(prepare);
  const elements = (port) => known(manifest.tensors[port.tensor].elements);
  const view = (port) => new Float32Array(memory.buffer, address(port.tensor), elements(port));
  return {
    launches,
    input: () => view(manifest.inputs[0]),
    output: () => view(manifest.outputs[0]),
    run: () => launches.forEach((launch) => launch.run()),
  };
}
