// dist/llm.js with llm_worker.js, compiler.wasm and gguf.wasm next to it, chunks of the run time and of the compiler's caller, which load() fetches, and declarations.
import {createHash} from 'node:crypto';
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
const linked = join(dirname(compilerWasm), 'language.wasm');
const wasm = join(dist, 'compiler.wasm');
if (existsSync(linked)) copyFileSync(await optimized(linked), wasm);
else console.log(`language.wasm is not built yet (make wasm): looked at ${linked}`);
const gguf = join(dirname(compilerWasm), 'gguf.wasm');
if (existsSync(gguf)) copyFileSync(await optimized(gguf), join(dist, 'gguf.wasm'));
else console.log(`gguf.wasm is not built yet (make wasm): looked at ${gguf}`);
// What another compiler made is compiled again (src/kept_model.ts).
const digest = createHash('sha256');
for (const file of [wasm, join(dist, 'gguf.wasm')].filter((each) => existsSync(each))) digest.update(readFileSync(file));
const compiler = existsSync(wasm) ? digest.digest('hex').slice(0, 16) : '';
const {version} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const {metafile} = await bundle({
  entryPoints: {llm: join(folder, 'src/index.ts'), llm_worker: join(folder, 'src/worker.ts')},
  format: 'esm',
  splitting: true,
  chunkNames: '[name]-[hash]',
  outdir: dist,
  plugins: [workersAsFiles],
  define: {NO_TUNER: 'true', COMPILER: JSON.stringify(compiler), VERSION: JSON.stringify(version)},
  metafile: true,
});
await tightenFolder(dist);

const isOwn = ({inputs}) => Object.keys(inputs).some((path) => resolve(path).startsWith(join(folder, 'src')) || path.includes('@huggingface'));
const own = Object.entries(metafile.outputs).filter(([path, made]) => path.endsWith('.js') && isOwn(made)).map(([path]) => resolve(path));
const size = gzipBytes(own);
console.log(`language models: ${(size / 1024).toFixed(1)} KB gzip in ${own.length} files, besides the run time`);
if (size > LIMIT) throw new Error('language models may take 60 KB gzip besides the run time');
// The bundle contains these.
const licences = ['jinja', 'tokenizers'].map((name) => {
  const of = join(folder, '../node_modules/@huggingface', name);
  return `@huggingface/${name} ${JSON.parse(readFileSync(join(of, 'package.json'), 'utf8')).version}\n\n${readFileSync(join(of, 'LICENSE'), 'utf8')}`;
});
writeFileSync(join(dist, 'licences.txt'), licences.join('\n'));
writeDeclarations(folder);
