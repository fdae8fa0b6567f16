// Runs in the page: opens parties by name, runs one on request, compares their outputs.
import {load, tensor} from '/web/runtime/dist/runtime.js';
import {fill} from '/bench/lib/feeds.mjs';
import {relativeError} from '/bench/lib/measure.mjs';
import {simdPeak} from '/bench/lib/simd_peak.mjs';
import {openWasmPackage} from '/bench/lib/wasm_package.mjs';
import {matmul, mobilenetv2, resnet18} from '/bench/models/networks.mjs';
import {tfjsNetwork} from './tfjs_network.mjs';

const modules = '/bench/node_modules';
const product = (shape) => shape.reduce((a, b) => a * b, 1);

async function gossamer({device, folder, input, output}) {
  const model = await load(new URL(`${folder}/`, location.href), {device, threads: 1});
  const feeds = {[input.name]: tensor(fill(product(input.shape)), input.shape)};
  const {adapter} = model.report();
  return {adapter, run: async () => (await model.run(feeds))[output].data()};
}

async function onnxruntime({file, input, output}) {
  const ort = await import(`${modules}/onnxruntime-web/dist/ort.wasm.min.mjs`);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = `${modules}/onnxruntime-web/dist/`;
  ort.env.logLevel = 'error';
  const session = await ort.InferenceSession.create(file, {executionProviders: ['wasm']});
  const feeds = {[input.name]: new ort.Tensor('float32', fill(product(input.shape)), input.shape)};
  return {run: async () => (await session.run(feeds))[output].data};
}

function script(url) {
  return new Promise((resolve, reject) => {
    const element = document.createElement('script');
    Object.assign(element, {src: url, onload: resolve, onerror: () => reject(new Error(`no ${url}`))});
    document.head.append(element);
  });
}

async function startTfjs(backend) {
  const packages = `${modules}/@tensorflow`;
  if (!globalThis.tf) await script(`${packages}/tfjs/dist/tf.min.js`);
  const {tf} = globalThis;
  if (backend === 'wasm') {
    await script(`${packages}/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`);
    tf.wasm.setWasmPaths(`${packages}/tfjs-backend-wasm/dist/`);
    tf.wasm.setThreadsCount(1);
  }
  if (backend === 'webgpu') {
    await script(`${packages}/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js`);
  }
  if (!(await tf.setBackend(backend))) throw new Error(`tfjs has no backend ${backend} here`);
  await tf.ready();
  return tf;
}

async function tfjs({device, network, input}) {
  const tf = await startTfjs(device);
  const values = fill(product(input.shape));
  if (network.startsWith('matmul')) {
    const {weight} = matmul(input.shape[0]);
    const b = tf.tensor2d(weight.data, weight.shape);
    return {run: () => readAndFree(tf.tidy(() => tf.matMul(tf.tensor2d(values, input.shape), b)))};
  }
  const net = tfjsNetwork(tf, {resnet18, mobilenetv2}[network]());
  const [, channels, height, width] = input.shape;
  const nhwc = new Float32Array(values.length);
  for (let at = 0; at < height * width; ++at) {
    for (let c = 0; c < channels; ++c) nhwc[at * channels + c] = values[c * height * width + at];
  }
  return {
    run: () => readAndFree(tf.tidy(() => net.run(tf.tensor4d(nhwc, [1, height, width, channels])))),
  };
}

async function readAndFree(result) {
  const values = await result.data();
  result.dispose();
  return values;
}

/** A wasm package's launches alone, without the run time. */
async function kernel({folder}) {
  const fetched = async (name) => new Uint8Array(await (await fetch(`${folder}/${name}`)).arrayBuffer());
  const model = await openWasmPackage(fetched);
  model.input().set(fill(model.input().length));
  return {
    run: () => {
      model.run();
      return model.output();
    },
  };
}

async function peak() {
  const {run} = await simdPeak();
  return {run: () => [run()]};
}

/** The compiler in its worker; what it makes is told by its size. */
async function compiler({file, device}) {
  const {compile} = await import('/web/compiler/dist/compiler.js');
  const model = await (await fetch(file)).arrayBuffer();
  return {
    run: async () => {
      const files = await compile(model, {target: device});
      return [[...files.values()].reduce((sum, {length}) => sum + length, 0)];
    },
  };
}

const makers = {compiler, kernel, peak, gossamer, 'onnxruntime-web': onnxruntime, tfjs};
const open = [];

/** Loads a party and runs it once; gives {ms: until the first result, error: against the first party}. */
globalThis.openParty = async ({maker, ...options}) => {
  const begin = performance.now();
  const party = await makers[maker](options);
  party.first = await party.run();
  open.push(party);
  const ms = performance.now() - begin;
  return {ms, adapter: party.adapter, error: relativeError(open[0].first, party.first)};
};

/** Runs; their wall time in ms. */
globalThis.runParty = async (at, turns) => {
  const begin = performance.now();
  for (let turn = 0; turn < turns; ++turn) await open[at].run();
  return performance.now() - begin;
};

globalThis.ready = true;
