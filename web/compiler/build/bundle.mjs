// dist/compiler.js, and compiler.iife.js (global `gossamerCompiler`), with compiler.wasm and tuner.wasm beside them. The wasm comes from `make wasm`; binaryen takes a tenth of its size
// and a fifth of its time away.
import {execFileSync} from 'node:child_process';
import {copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {gzipSync} from 'node:zlib';
import {bundle, bundleClassic, workersAsFiles} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
export const compilerWasm =
  process.env['GOSSAMER_COMPILER_WASM'] ?? resolve(folder, '../../build-wasm/compiler.wasm');

mkdirSync(dist, {recursive: true});
await bundle({
  entryPoints: {compiler: join(folder, 'src/index.ts')},
  format: 'esm',
  outdir: dist,
  plugins: [workersAsFiles],
});
await bundleClassic({entry: join(folder, 'src/index.ts'), globalName: 'gossamerCompiler', outfile: join(dist, 'compiler.iife.js')});
writeDeclarations(folder);
/** The optimized module, beside the linker's; 20 seconds where that is newer. */
function optimized(linked) {
  const made = linked.replace(/\.wasm$/, '.opt.wasm');
  if (!existsSync(made) || statSync(made).mtimeMs < statSync(linked).mtimeMs) {
    // What clang writes for wasm32-wasi, and every browser of the README has.
    const features = ['bulk-memory', 'multivalue', 'mutable-globals', 'nontrapping-float-to-int', 'reference-types', 'sign-ext'];
    const tool = resolve(folder, '../node_modules/binaryen/bin/wasm-opt');
    const enable = features.map((feature) => `--enable-${feature}`);
    execFileSync(process.execPath, [tool, '-O2', ...enable, linked, '-o', `${made}.part`], {stdio: 'inherit'});
    renameSync(`${made}.part`, made);
  }
  return made;
}

for (const [name, linked] of [['compiler.wasm', compilerWasm], ['tuner.wasm', join(dirname(compilerWasm), 'tuner.wasm')]]) {
  if (!existsSync(linked)) {
    console.log(`${name} is not built yet (make wasm): looked at ${linked}`);
    continue;
  }
  const module = optimized(linked);
  copyFileSync(module, join(dist, name));
  const size = gzipSync(readFileSync(module), {level: 9}).length;
  console.log(`${name}: ${(size / 2 ** 20).toFixed(2)} MB gzip`);
}
