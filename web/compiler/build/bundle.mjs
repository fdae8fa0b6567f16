// dist/compiler.js with compiler.wasm beside it. The wasm comes from `make wasm`.
import {copyFileSync, existsSync, mkdirSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {gzipSync} from 'node:zlib';
import {bundle} from '../../runtime/build/bundle.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
export const compilerWasm =
  process.env['GOSSAMER_COMPILER_WASM'] ?? resolve(folder, '../../build-wasm/compiler.wasm');

mkdirSync(dist, {recursive: true});
await bundle({
  entryPoints: {compiler: join(folder, 'src/index.ts')},
  format: 'esm',
  outdir: dist,
});
if (existsSync(compilerWasm)) {
  copyFileSync(compilerWasm, join(dist, 'compiler.wasm'));
  const size = gzipSync(readFileSync(compilerWasm), {level: 9}).length;
  console.log(`compiler.wasm: ${(size / 2 ** 20).toFixed(2)} MB gzip`);
} else {
  console.log(`compiler.wasm is not built yet (make wasm): looked at ${compilerWasm}`);
}
