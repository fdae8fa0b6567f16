// What can run a model in Node: Gossamer's wasm and cpu packages, onnxruntime-web, onnxruntime-node.
// A party: {name, version, run(), output(): Float32Array}.
import {readFileSync, readdirSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {load, tensor} from '../../web/runtime/dist/runtime.js';
import {openCpu} from './cpu.mjs';
import {fill} from './feeds.mjs';

const require = createRequire(import.meta.url);
const version = (name) => JSON.parse(readFileSync(join(import.meta.dirname, '../node_modules', name, 'package.json'))).version;
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** model: {input: {name, shape}, output} */
export async function gossamerWasm(folder, {input, output}) {
  const files = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
  const model = await load(files, {device: 'wasm', threads: 1});
  const feeds = {[input.name]: tensor(fill(product(input.shape)), input.shape)};
  let last;
  return {
    name: 'gossamer wasm',
    run: async () => {
      last = await (await model.run(feeds))[output].data();
    },
    output: () => last,
    close: () => model.dispose(),
  };
}

async function onnxruntime(name, ort, file, {input, output}, options) {
  const session = await ort.InferenceSession.create(readFileSync(file), options);
  const feeds = {[input.name]: new ort.Tensor('float32', fill(product(input.shape)), input.shape)};
  let last;
  return {
    name,
    version: version(name.split(' ')[0]),
    run: async () => {
      last = (await session.run(feeds))[output].data;
    },
    output: () => last,
    close: () => session.release(),
  };
}

export async function onnxruntimeWeb(file, model) {
  const ort = require('onnxruntime-web');
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  return onnxruntime('onnxruntime-web wasm', ort, file, model, {executionProviders: ['wasm']});
}

export async function onnxruntimeNode(file, model) {
  const ort = require('onnxruntime-node');
  const options = {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3};
  return onnxruntime('onnxruntime-node', ort, file, model, options);
}

export async function gossamerCpu(folder, {dims = []}, build) {
  const model = await openCpu(folder, {build, dims, profile: false});
  return {
    name: 'gossamer cpu',
    run: async () => {
      const {wall, cpu} = await model.run(1);
      return {wall: wall[0], cpu: cpu[0]};
    },
    output: async () => {
      const file = join(tmpdir(), `gossamer-bench-${process.pid}.raw`);
      await model.save(file);
      const bytes = readFileSync(file);
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    },
    close: () => model.close(),
  };
}
