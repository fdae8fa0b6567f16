// An example's dist/: the page and compiler.wasm, to be served by anything.
import {copyFileSync, existsSync, mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {bundle} from '../runtime/build/bundle.mjs';

/** Bundles main.ts, style.css and index.html of a folder into the one that the command line names, or dist/ there. */
export async function bundleExample(here, compilerWasm) {
  const wasm = process.env['GOSSAMER_COMPILER_WASM'] ?? compilerWasm;
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
}
