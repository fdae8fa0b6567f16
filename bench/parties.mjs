// Who takes part. A row:
//   name; title; devices: where it runs (webgpu, webgl, wasm in a page; cpu in processes of their own)
//   reads: 'onnx'; or 'net': only networks that the table of models has as layers
//   open: the module that opens it (page/parties/ or lib/cpu/), and options for it
export const parties = [
  {name: 'gossamer', title: 'Gossamer', devices: ['webgpu', 'webgl', 'wasm', 'cpu'], reads: 'onnx', open: 'gossamer', options: {edition: 'now'}},
  {name: 'before', title: 'Gossamer before', devices: ['webgpu', 'webgl', 'wasm', 'cpu'], reads: 'onnx', open: 'gossamer', options: {edition: 'before'}},
  {name: 'ort-native', title: 'ONNX Runtime, native WebGPU', devices: ['webgpu'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.webgpu.bundle.min.mjs', provider: 'webgpu'}},
  {name: 'ort-jsep', title: 'ONNX Runtime, JSEP', devices: ['webgpu'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.all.bundle.min.mjs', provider: 'webgpu'}},
  {name: 'ort-webgl', title: 'ONNX Runtime, WebGL', devices: ['webgl'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.webgl.min.mjs', provider: 'webgl'}},
  {name: 'ort-wasm', title: 'ONNX Runtime Web', devices: ['wasm'], reads: 'onnx', open: 'onnxruntime', options: {bundle: 'ort.wasm.bundle.min.mjs', provider: 'wasm'}},
  {name: 'ort-node', title: 'ONNX Runtime', devices: ['cpu'], reads: 'onnx', open: 'onnxruntime', options: {}},
  {name: 'floor', title: 'Empty run', devices: ['webgpu'], reads: 'onnx', open: 'floor', options: {}, floor: true},
];

export const partyOf = (name) => parties.find((party) => party.name === name);

/** Those that run this model there. */
export const partiesFor = (model, device) =>
  parties.filter(({devices, reads}) => devices.includes(device) && (reads === 'onnx' || model.net));
