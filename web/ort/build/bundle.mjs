// dist/ort.js with compiler.wasm next to it, ort.single.js in one piece for service workers, which cannot import later, ort.iife.js
// (global `ort`), and declarations. Sessions, the compiler's caller and the run time are in chunks that the first session fetches.
import {createHash} from 'node:crypto';
import {copyFileSync, existsSync, mkdirSync, readFileSync, rmSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {compilerWasm, optimized} from '../../compiler/build/optimize.mjs';
import {bundle, bundleClassic, gzipBytes, tightenFolder, workersAsFiles, workersAsText} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
const entry = join(folder, 'src/index.ts');
const LIMIT = 6.5 * 1024;

rmSync(dist, {recursive: true, force: true});
mkdirSync(dist, {recursive: true});
const wasm = join(dist, 'compiler.wasm');
const linked = join(dirname(compilerWasm), 'models.wasm');
const built = existsSync(linked);
if (built) copyFileSync(await optimized(linked), wasm);
else console.log(`models.wasm is not built yet (make wasm): looked at ${linked}`);
// What another compiler made is compiled again (src/compiled.ts).
const compiler = built ? createHash('sha256').update(readFileSync(wasm)).digest('hex').slice(0, 16) : '';
const {version} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const define = {COMPILER: JSON.stringify(compiler), VERSION: JSON.stringify(version), NO_TUNER: 'true'};
const {metafile} = await bundle({
  entryPoints: {ort: entry},
  format: 'esm',
  splitting: true,
  chunkNames: '[name]-[hash]',
  outdir: dist,
  plugins: [workersAsFiles],
  define,
  metafile: true,
});
await bundle({entryPoints: {'ort.single': entry}, format: 'esm', outdir: dist, plugins: [workersAsText], define});
await bundleClassic({entry, globalName: 'ort', outfile: join(dist, 'ort.iife.js'), define});
await tightenFolder(dist, 500); // errors are thrown here, at the user's call

const outputs = new Map(Object.entries(metafile.outputs).map(([path, made]) => [resolve(path), made]));
const counted = new Set();
const count = (file) => {
  if (counted.has(file)) return;
  counted.add(file);
  for (const {path, kind} of outputs.get(file)?.imports ?? []) if (kind === 'import-statement') count(resolve(path));
};
count(join(dist, 'ort.js'));
const size = gzipBytes([...counted]);
console.log(`ort API: ${(size / 1024).toFixed(1)} KB gzip in ${counted.size} files`);
if (size > LIMIT) throw new Error('the ort API may take 6.5 KB gzip before its first session');
writeDeclarations(folder);
