// Modules of the compiler, which binaryen makes smaller by an eighth and faster by a fifth. Each is made again when the linker's is newer.
import {execFile} from 'node:child_process';
import {existsSync, renameSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {promisify} from 'node:util';

const binaries = resolve(import.meta.dirname, '../../node_modules/binaryen/bin');
/** The linker's module. */
export const compilerWasm = process.env['GOSSAMER_COMPILER_WASM'] ?? resolve(import.meta.dirname, '../../../build-wasm/compiler.wasm');

// What clang writes for wasm32-wasi, and every browser of the README has.
const FEATURES = ['bulk-memory', 'multivalue', 'mutable-globals', 'nontrapping-float-to-int', 'reference-types', 'sign-ext'].map((name) => `--enable-${name}`);
const run = (tool, words) => promisify(execFile)(process.execPath, [resolve(binaries, tool), ...FEATURES, ...words], {maxBuffer: 1 << 26});
const isNewer = (made, linked) => existsSync(made) && statSync(made).mtimeMs >= statSync(linked).mtimeMs;

/** -O1 takes half the time of -O2, and the module is as fast and 2 % smaller after gzip. Removing unused parameters saves another 0.5 %. */
async function optimize(linked, made) {
  // Instances of a template are alike and have names alike: side by side they lie in one window of gzip, which makes the module 4 % smaller.
  const passes = ['--dae-optimizing', '-O1', '--code-folding', '--reorder-locals', '--duplicate-function-elimination', '--reorder-functions-by-name',
    '--strip-producers', '--strip-target-features'];
  await run('wasm-opt', [...passes, linked, '-o', `${made}.part`]);
  renameSync(`${made}.part`, made);
}

/** The address of the optimized module. */
export async function optimized(linked) {
  const made = linked.replace(/\.wasm$/, '.opt.wasm');
  if (!isNewer(made, linked)) await optimize(linked, made);
  return made;
}

/** The same for a page that compiles models and records no lazy tensors: their calls are a fortieth of the module. */
export async function optimizedForModels(linked) {
  const made = linked.replace(/\.wasm$/, '.models.opt.wasm');
  if (isNewer(made, linked)) return made;
  const kept = ['memory', '_initialize', 'gs_alloc', 'gs_free', 'gs_compile', 'gs_release'];
  const exports = kept.map((name) => ({name, export: name}));
  const [graph, fewer] = ['json', 'wasm'].map((extension) => `${made}.fewer.${extension}`);
  writeFileSync(graph, JSON.stringify([{name: 'page', root: true, reaches: kept}, ...exports]));
  await run('wasm-metadce', ['-g', `--graph-file=${graph}`, linked, '-o', fewer]);
  await optimize(fewer, made);
  for (const file of [graph, fewer]) rmSync(file);
  return made;
}
