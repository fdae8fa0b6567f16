// Who takes part. A row:
//   name; title; devices: where it runs (webgpu, webgl, wasm in a page; cpu in processes of their own)
//   reads: which rows of the table of models it takes, a name of READS
//   once: not with more threads; floor: computes nothing
//   open: the module that opens it (page/parties/ or lib/cpu/), and options for it
export const parties = [
  {name: 'gossamer', title: 'Gossamer', devices: ['webgpu', 'webgl', 'wasm', 'cpu'], reads: 'all', open: 'gossamer', options: {edition: 'now'}},
  {name: 'before', title: 'Gossamer before', devices: ['webgpu', 'webgl', 'wasm', 'cpu'], reads: 'runs', open: 'gossamer', options: {edition: 'before'}},
  {name: 'ort-native', title: 'ONNX Runtime, native WebGPU', devices: ['webgpu'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.webgpu.bundle.min.mjs', provider: 'webgpu'}},
  {name: 'ort-jsep', title: 'ONNX Runtime, JSEP', devices: ['webgpu'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.all.bundle.min.mjs', provider: 'webgpu'}},
  {name: 'ort-webgl', title: 'ONNX Runtime, WebGL', devices: ['webgl'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.webgl.min.mjs', provider: 'webgl'}},
  {name: 'ort-wasm', title: 'ONNX Runtime Web', devices: ['wasm'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.wasm.bundle.min.mjs', provider: 'wasm'}},
  {name: 'litert', title: 'LiteRT.js', devices: ['wasm', 'webgpu'], reads: 'net', open: 'litert', options: {}},
  {name: 'tfjs', title: 'TensorFlow.js', devices: ['webgpu', 'webgl', 'wasm'], reads: 'calls', open: 'tfjs', options: {}},
  {name: 'jax', title: 'jax-js', devices: ['webgpu', 'webgl', 'wasm'], reads: 'training', open: 'jax', options: {}},
  {name: 'ort-node', title: 'ONNX Runtime', devices: ['cpu'], reads: 'onnx', open: 'onnxruntime', options: {}},
  {name: 'tvm', title: 'Apache TVM, untuned', devices: ['cpu'], reads: 'models', open: 'tvm', options: {}, once: true},
  {name: 'floor', title: 'Empty run', devices: ['webgpu', 'webgl'], reads: 'runs', open: 'floor', options: {}, floor: true},
];

export const partyOf = (name) => parties.find((party) => party.name === name);

const READS = {
  all: () => true,
  onnx: ({training}) => !training,
  runs: ({training, decoding}) => !training && !decoding, // each alike, nothing kept
  models: ({part}) => part === 'models', // it compiles for long
  training: ({training}) => training,
  net: ({net}) => net, // networks that the table has as layers
  calls: ({net, part, training}) => net || training || part === 'matmul',
};

/** Those that run this model there. */
export const partiesFor = (model, device) => parties.filter(({devices, reads}) => devices.includes(device) && READS[reads](model));
