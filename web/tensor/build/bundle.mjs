// dist/tensor.js with compiler.wasm beside it, and declarations. The compiler's caller is part of tensor.js; the run time stays in
// chunks of its own, which are fetched when the first program runs.
import {copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {bundle, gzipBytes, tightenFolder, workersAsFiles} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
const LIMIT = 60 * 1024;

rmSync(dist, {recursive: true, force: true});
mkdirSync(dist, {recursive: true});
const {metafile} = await bundle({
  entryPoints: {tensor: join(folder, 'src/index.ts'), torch: join(folder, 'src/torch.ts')},
  define: {NO_TUNER: 'true'},
  format: 'esm',
  splitting: true,
  chunkNames: 'chunk-[hash]',
  outdir: dist,
  plugins: [workersAsFiles],
  metafile: true,
});
await tightenFolder(dist, 500); // errors are thrown here, at the user's call
// Chunks share long lists of names, which stay one line each.
for (const file of readdirSync(dist).filter((name) => name.endsWith('.js')).map((name) => join(dist, name))) {
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\b(?:import|export)\{[^}]{500,}\}/g, (list) => list.replace(/.{400,480}?,/g, '$&\n')));
}

// What an import of tensor.js fetches at once counts; the run time's chunks have a limit of their own.
const outputs = new Map(Object.entries(metafile.outputs).map(([path, made]) => [resolve(path), made]));
const counted = new Set();
const count = (file) => {
  if (counted.has(file)) return;
  counted.add(file);
  for (const {path, kind} of outputs.get(file)?.imports ?? []) if (kind === 'import-statement') count(resolve(path));
};
count(join(dist, 'tensor.js'));
const size = gzipBytes([...counted]);
console.log(`tensor API: ${(size / 1024).toFixed(1)} KB gzip in ${counted.size} files of ${readdirSync(dist).length}`);
if (size > LIMIT) throw new Error('the tensor API may take 60 KB gzip');

writeDeclarations(folder);

const wasm = process.env['GOSSAMER_COMPILER_WASM'] ?? resolve(folder, '../compiler/dist/compiler.wasm');
if (existsSync(wasm)) copyFileSync(wasm, join(dist, 'compiler.wasm'));
else console.log(`compiler.wasm is not built yet (make wasm): looked at ${wasm}`);
