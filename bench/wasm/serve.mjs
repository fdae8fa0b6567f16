// Runs a model on WebAssembly in Node.js on commands from stdin, as cpu/serve.cc does, so that it can take turns with another process:
//
//   node bench/wasm/serve.mjs gossamer PACKAGE THREADS NAME=SHAPE=FILE...
//   node bench/wasm/serve.mjs onnxruntime-web MODEL THREADS NAME=SHAPE=FILE...
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {pathToFileURL} from 'node:url';
import {halfOf} from '../lib/half.mjs';
import {bench, root} from '../lib/layout.mjs';
import {TYPES} from '../page/parties/onnxruntime.mjs';

const ARRAYS = {f32: Float32Array, f16: Uint16Array, i32: Int32Array, i64: BigInt64Array, i8: Int8Array, u8: Uint8Array, bool: Uint8Array};
const importFile = (...parts) => import(pathToFileURL(join(...parts)));

/** {types: of inputs by name, run(feeds): outputs as [type, array]}; feeds: {name: {type, shape, data}}, 16-bit floats as their bits. */
const ENGINES = {
  async gossamer(folder, threads) {
    const {load, tensor} = await importFile(root, 'web/runtime/dist/runtime.js');
    const model = await load(pathToFileURL(`${folder}/`), {device: 'wasm', threads});
    const numbers = ({type, data}) => (type === 'f16' ? Float32Array.from(data, halfOf) : data);
    return {
      types: Object.fromEntries(model.inputs.map(({name, dtype}) => [name, dtype])),
      prepare: (feeds) => Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, tensor(numbers(feed), feed.shape, feed.type)])),
      async run(feeds) {
        const out = await model.run(feeds);
        return Promise.all(model.outputs.map(async ({name, dtype}) => [dtype === 'f16' ? 'f32' : dtype, await out[name].data()]));
      },
    };
  },
  async 'onnxruntime-web'(file, threads) {
    const ort = await importFile(bench, 'node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs');
    ort.env.wasm.numThreads = threads;
    ort.env.logLevel = 'error';
    const session = await ort.InferenceSession.create(readFileSync(file));
    const names = Object.fromEntries([...Object.entries(TYPES), ['f16', 'float16']].map(([ours, theirs]) => [theirs, ours]));
    return {
      types: Object.fromEntries(session.inputMetadata.map(({name, type}) => [name, names[type]])),
      prepare: (feeds) => Object.fromEntries(Object.entries(feeds).map(([name, {type, shape, data}]) => [name, new ort.Tensor(type === 'f16' ? 'float16' : TYPES[type], data, shape)])),
      async run(feeds) {
        const out = await session.run(feeds);
        return session.outputNames.map((name) => (out[name].type === 'float16' ? ['f32', Float32Array.from(new Uint16Array(out[name].data.buffer), halfOf)] : [names[out[name].type], out[name].data]));
      },
    };
  },
};

const [engine, file, threads, ...inputs] = process.argv.slice(2);
const {types, prepare, run} = await ENGINES[engine](file, Number(threads));
const feeds = prepare(Object.fromEntries(inputs.map((text) => {
  const [name, shape, from] = text.split('=');
  const {buffer, byteOffset, byteLength} = readFileSync(from);
  const type = types[name];
  return [name, {type, shape: shape.split('x').filter(Boolean).map(Number), data: new ARRAYS[type](buffer.slice(byteOffset, byteOffset + byteLength))}];
})));
const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
const cpuMs = () => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1e3;
};

let outputs = [];
tell({device: engine});
for await (const line of createInterface({input: process.stdin})) {
  const [command, argument] = line.split(' ');
  if (command === 'run') {
    const wall = [], cpu = [];
    for (let round = 0; round < Number(argument); ++round) {
      const used = cpuMs(), begin = performance.now();
      outputs = await run(feeds);
      wall.push(performance.now() - begin);
      cpu.push(cpuMs() - used);
    }
    tell({wall, cpu});
  } else if (command === 'save') {
    outputs.forEach(([, data], at) => writeFileSync(`${argument}${at}`, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));
    tell({types: outputs.map(([type]) => type)});
  }
}
process.exit();
