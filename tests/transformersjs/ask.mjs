// Answers cases in Node.js: node ask.mjs '{"folder", "models", "dtype", "names", ...}'. `folder`: where @huggingface/transformers is installed, with
// the ONNX Runtime that npm put there. One line of JSON for each case.
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {asker} from './cases.mjs';

const {folder, models, names, ...options} = JSON.parse(process.argv[2]);
const {env} = createRequire(path.join(folder, 'node_modules/x.js'))('onnxruntime-node');
env.wasm.numThreads = 1;
if (env.gossamer) env.gossamer.cache = false; // each run compiles
// onnxruntime-web's own files, which Transformers.js would fetch from a server of others.
const files = path.join(folder, 'node_modules/onnxruntime-web/dist/');
if (existsSync(path.join(files, 'ort-wasm-simd-threaded.wasm'))) env.wasm.wasmPaths = String(pathToFileURL(files));
const library = await import(pathToFileURL(path.join(folder, 'node_modules/@huggingface/transformers/dist/transformers.node.mjs')));
library.env.allowRemoteModels = false;
library.env.localModelPath = models;
const ask = asker(library, options);
for (const name of names) process.stdout.write(`${JSON.stringify({name, ...(await ask(name))})}\n`);
process.exit(0); // workers of wasm would keep it alive
