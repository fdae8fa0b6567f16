// dist/ort.js, which is the API, with sessions.js, which the first session fetches, compiler.wasm and scripts of workers next to it;
// ort.single.js in one piece for service workers, which cannot import later; ort.iife.js (global `ort`), and declarations.
import {createHash} from 'node:crypto';
import {copyFileSync, existsSync, mkdirSync, readFileSync, rmSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {compilerWasm, optimized} from '../../compiler/build/optimize.mjs';
import {bundle, bundleClassic, gzipBytes, tightenFolder, withoutGeneration, workersAsText} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';
import {bundleApart} from './sessions.mjs';

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
await bundleApart({entry, outfile: join(dist, 'ort.js'), define});
await bundle({entryPoints: {'ort.single': entry}, format: 'esm', outdir: dist, plugins: [withoutGeneration, workersAsText], define});
await bundleClassic({entry, globalName: 'ort', outfile: join(dist, 'ort.iife.js'), define, plugins: [withoutGeneration]});
await tightenFolder(dist, 500); // errors are thrown here, at the user's call

const size = gzipBytes([join(dist, 'ort.js')]);
console.log(`ort API: ${(size / 1024).toFixed(1)} KB gzip, sessions: ${(gzipBytes([join(dist, 'sessions.js')]) / 1024).toFixed(1)} KB`);
if (size > LIMIT) throw new Error('the ort API may take 6.5 KB gzip before its first session');
writeDeclarations(folder);
