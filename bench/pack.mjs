// node bench/pack.mjs [--before FOLDER] [--out FOLDER]: one folder that measures Gossamer against its peers on any
// machine with a Chromium and Node.js (node FOLDER/run.mjs), and that is a page, as static files, for any browser.
// Models are made from seeds there, and compiled there. Default: bench/.cache/pack.
import {cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {bench, builtBefore, layout} from './lib/layout.mjs';

// Of each folder that is served, what the page imports.
const ORT = 'onnxruntime-web/dist';
const JAX = '@jax-js/jax/dist';
export const PEERS = [
  `${ORT}/ort.webgpu.bundle.min.mjs`,
  `${ORT}/ort-wasm-simd-threaded.asyncify.mjs`,
  `${ORT}/ort-wasm-simd-threaded.asyncify.wasm`,
  `${ORT}/ort.all.bundle.min.mjs`,
  `${ORT}/ort-wasm-simd-threaded.jsep.mjs`,
  `${ORT}/ort-wasm-simd-threaded.jsep.wasm`,
  `${ORT}/ort.wasm.bundle.min.mjs`,
  `${ORT}/ort-wasm-simd-threaded.mjs`,
  `${ORT}/ort-wasm-simd-threaded.wasm`,
  `${ORT}/ort.webgl.min.mjs`,
  ...(existsSync(join(bench, 'node_modules', JAX)) ? readdirSync(join(bench, 'node_modules', JAX)) : []).filter((name) => name.endsWith('.js')).map((name) => `${JAX}/${name}`),
  '@litertjs/core/dist/index.js',
  '@litertjs/wasm-utils/dist/index.js',
  ...['', '_threaded'].flatMap((kind) => ['js', 'wasm'].map((end) => `@litertjs/core/wasm/litert_wasm${kind}_internal.${end}`)),
  '@tensorflow/tfjs/dist/tf.min.js',
  ...['webgpu', 'wasm'].map((backend) => `@tensorflow/tfjs-backend-${backend}/dist/tf-backend-${backend}.min.js`),
  ...['', '-simd', '-threaded-simd'].map((kind) => `@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm${kind}.wasm`),
];
const OWN = ['lib', 'models', 'page', 'parties.mjs'];

const START = '<!doctype html>\n<meta charset="utf-8" />\n<meta http-equiv="refresh" content="0; url=bench/page/index.html" />\n<title>Gossamer benchmark</title>\n';

/** Writes the pack; from: {address: folder} of lib/layout.mjs. */
export function writePack(out, from) {
  rmSync(out, {recursive: true, force: true});
  const copy = (source, target) => {
    mkdirSync(dirname(target), {recursive: true});
    cpSync(source, target, {recursive: true, dereference: true});
  };
  for (const name of OWN) copy(join(bench, name), join(out, 'bench', name));
  for (const name of PEERS.filter((each) => existsSync(join(from.peers, each)))) copy(join(from.peers, name), join(out, 'peers', name));
  for (const [address, folder] of Object.entries(from)) {
    if (!/^(now|before)\//.test(address)) continue;
    for (const name of readdirSync(folder)) {
      if (!/iife|\.map$|^test$/.test(name)) copy(join(folder, name), join(out, address, name));
    }
  }
  copy(join(bench, 'pack_run.mjs'), join(out, 'run.mjs'));
  copy(join(bench, 'tune_page.mjs'), join(out, 'bench', 'tune_page.mjs'));
  writeFileSync(join(out, 'index.html'), START);
}

const sizeOf = (path) => (statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0) : statSync(path).size);

if (process.argv[1] === import.meta.filename) {
  const {values: options} = parseArgs({options: {before: {type: 'string'}, out: {type: 'string', default: join(bench, '.cache/pack')}}});
  const before = options.before ? resolve(options.before) : builtBefore();
  if (!before) console.error('bench pack: no earlier build (bench/before.sh makes one), so it is no party');
  const out = resolve(options.out);
  writePack(out, layout({before}));
  console.log(`${out}: ${(sizeOf(out) / 2 ** 20).toFixed(0)} MiB; to send it: tar c -C ${out} . | xz -T0 -9 | split -b 50M - pack.`);
}
