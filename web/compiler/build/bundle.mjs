// dist/compiler.js, and compiler.iife.js (global `gossamerCompiler`), with compiler.wasm, tuner.wasm and gguf.wasm next to them. The wasm comes from
// `make wasm`.
import {copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {gzipSync} from 'node:zlib';
import {bundle, bundleClassic, workersAsFiles} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';
import {compilerWasm, optimized} from './optimize.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
// Side by side, and beside the bundles below.
const modules = [['compiler.wasm', compilerWasm], ...['tuner.wasm', 'gguf.wasm'].map((name) => [name, join(dirname(compilerWasm), name)])].map(([name, linked]) => ({
  name,
  linked,
  module: existsSync(linked) ? optimized(linked) : undefined,
}));

rmSync(dist, {recursive: true, force: true});
mkdirSync(dist, {recursive: true});
await bundle({
  entryPoints: {compiler: join(folder, 'src/index.ts')},
  format: 'esm',
  outdir: dist,
  plugins: [workersAsFiles],
});
await bundleClassic({entry: join(folder, 'src/index.ts'), globalName: 'gossamerCompiler', outfile: join(dist, 'compiler.iife.js')});
writeDeclarations(folder);

/** Those of classes that pages may have (src/shipped.ts), as its addresses say. */
const records = join(dist, 'records'), shipped = resolve(folder, '../../src/shipped');
mkdirSync(records);
for (const name of readdirSync(shipped).filter((each) => each.endsWith('.jsonl'))) {
  const lines = readFileSync(join(shipped, name), 'utf8').split('\n').filter((line) => /"(class|costs)":"(webgpu|webgl|wasm)/.test(line));
  if (lines.length > 0) writeFileSync(join(records, name), lines.map((line) => `${line}\n`).join(''));
}

for (const {name, linked, module} of modules) {
  if (!module) {
    console.log(`${name} is not built yet (make wasm): looked at ${linked}`);
    continue;
  }
  const made = await module;
  copyFileSync(made, join(dist, name));
  const size = gzipSync(readFileSync(made), {level: 9}).length;
  console.log(`${name}: ${(size / 1e6).toFixed(3)} MB gzip`);
  if (name === 'compiler.wasm' && size > 1.2e6) throw new Error('compiler.wasm may take 1.2 MB gzip');
}
