// dist/: the page and compiler.wasm, to be served by anything.
import {copyFileSync, existsSync, mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {bundle} from '../../runtime/build/bundle.mjs';

const here = import.meta.dirname;
const wasm = process.env['GOSSAMER_COMPILER_WASM'] ?? join(here, '../../compiler/dist/compiler.wasm');
const dist = process.argv[2] ?? join(here, 'dist');

mkdirSync(dist, {recursive: true});
await bundle({
  entryPoints: {main: join(here, 'main.ts'), style: join(here, 'style.css')},
  format: 'esm',
  splitting: true,
  chunkNames: 'chunk-[hash]',
  outdir: dist,
});
copyFileSync(join(here, 'index.html'), join(dist, 'index.html'));
if (existsSync(wasm)) copyFileSync(wasm, join(dist, 'compiler.wasm'));
else console.log(`compiler.wasm is not built yet (make wasm): looked at ${wasm}`);
