// dist/llm.js with compiler.wasm next to it, chunks of the run time and of the compiler's caller, which load() fetches, and declarations.
import {copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {compilerWasm, optimized} from '../../compiler/build/optimize.mjs';
import {bundle, gzipBytes, tightenFolder, workersAsFiles} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
const LIMIT = 60 * 1024;

rmSync(dist, {recursive: true, force: true});
mkdirSync(dist, {recursive: true});
const linked = join(dirname(compilerWasm), 'models.wasm');
if (existsSync(linked)) copyFileSync(await optimized(linked), join(dist, 'compiler.wasm'));
else console.log(`models.wasm is not built yet (make wasm): looked at ${linked}`);
const {metafile} = await bundle({
  entryPoints: {llm: join(folder, 'src/index.ts')},
  format: 'esm',
  splitting: true,
  chunkNames: '[name]-[hash]',
  outdir: dist,
  plugins: [workersAsFiles],
  define: {NO_TUNER: 'true'},
  metafile: true,
});
await tightenFolder(dist);

const outputs = new Map(Object.entries(metafile.outputs).map(([path, made]) => [resolve(path), made]));
const counted = new Set();
const count = (file) => {
  if (counted.has(file)) return;
  counted.add(file);
  for (const {path, kind} of outputs.get(file)?.imports ?? []) if (kind === 'import-statement') count(resolve(path));
};
count(join(dist, 'llm.js'));
const size = gzipBytes([...counted]);
console.log(`language models: ${(size / 1024).toFixed(1)} KB gzip in ${counted.size} files, besides the run time`);
if (size > LIMIT) throw new Error('language models may take 60 KB gzip besides the run time');
// The bundle contains these.
const licences = ['jinja', 'tokenizers'].map((name) => {
  const of = join(folder, '../node_modules/@huggingface', name);
  return `@huggingface/${name} ${JSON.parse(readFileSync(join(of, 'package.json'), 'utf8')).version}\n\n${readFileSync(join(of, 'LICENSE'), 'utf8')}`;
});
writeFileSync(join(dist, 'licences.txt'), licences.join('\n'));
writeDeclarations(folder);
