// dist/compiler.js, and compiler.iife.js (global `gossamerCompiler`), with compiler.wasm and tuner.wasm beside them. The wasm comes from `make wasm`; binaryen takes an eighth of its size
// and a fifth of its time away.
import {execFile} from 'node:child_process';
import {copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import {gzipSync} from 'node:zlib';
import {bundle, bundleClassic, workersAsFiles} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
export const compilerWasm =
  process.env['GOSSAMER_COMPILER_WASM'] ?? resolve(folder, '../../build-wasm/compiler.wasm');

/**
 * The optimized module, next to the linker's; made when that is newer. -O1 takes half the time of -O2, and the module is as
 * fast and 2 % smaller after gzip. Removing unused parameters saves another 0.5 %.
 */
async function optimized(linked) {
  const made = linked.replace(/\.wasm$/, '.opt.wasm');
  if (!existsSync(made) || statSync(made).mtimeMs < statSync(linked).mtimeMs) {
    // What clang writes for wasm32-wasi, and every browser of the README has.
    const features = ['bulk-memory', 'multivalue', 'mutable-globals', 'nontrapping-float-to-int', 'reference-types', 'sign-ext'];
    const tool = resolve(folder, '../node_modules/binaryen/bin/wasm-opt');
    const enable = features.map((feature) => `--enable-${feature}`);
    // Instances of a template are alike and have names alike: side by side they lie in one window of gzip, which makes the module 4 % smaller.
    const passes = ['--dae-optimizing', '-O1', '--duplicate-function-elimination', '--reorder-functions-by-name'];
    await promisify(execFile)(process.execPath, [tool, ...passes, ...enable, linked, '-o', `${made}.part`]);
    renameSync(`${made}.part`, made);
  }
  return made;
}

// Side by side, and beside the bundles below.
const modules = [['compiler.wasm', compilerWasm], ['tuner.wasm', join(dirname(compilerWasm), 'tuner.wasm')]].map(([name, linked]) => ({
  name,
  linked,
  module: existsSync(linked) ? optimized(linked) : undefined,
}));

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
rmSync(records, {recursive: true, force: true});
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
  if (name === 'compiler.wasm' && size > 1.15e6) throw new Error('compiler.wasm may take 1.15 MB gzip');
}
