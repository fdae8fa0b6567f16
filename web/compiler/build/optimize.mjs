// Modules of the compiler, which binaryen makes smaller by an eighth and faster by a fifth. Each is made again when the linker's is newer.
import {execFile} from 'node:child_process';
import {existsSync, renameSync, statSync} from 'node:fs';
import {resolve} from 'node:path';
import {promisify} from 'node:util';

const binaries = resolve(import.meta.dirname, '../../node_modules/binaryen/bin');
/** The linker's module; the others are next to it. */
export const compilerWasm = process.env['GOSSAMER_COMPILER_WASM'] ?? resolve(import.meta.dirname, '../../../build-wasm/compiler.wasm');

// What clang writes for wasm32-wasi, and every browser of the README has.
const FEATURES = ['bulk-memory', 'multivalue', 'mutable-globals', 'nontrapping-float-to-int', 'reference-types', 'sign-ext'].map((name) => `--enable-${name}`);
const run = (tool, words) => promisify(execFile)(process.execPath, [resolve(binaries, tool), ...FEATURES, ...words], {maxBuffer: 1 << 26});
const isNewer = (made, linked) => existsSync(made) && statSync(made).mtimeMs >= statSync(linked).mtimeMs;

/** -O1 takes half the time of -O2, and the module is as fast and 2 % smaller after gzip. Removing unused parameters saves another 0.5 %, values that a
 * variable has already (rse) 0.3 %. */
async function optimize(linked, made) {
  // Instances of a template are alike and have names alike: side by side they lie in one window of gzip, which makes the module 4 % smaller.
  const passes = ['--dae-optimizing', '-O1', '--code-folding', '--rse', '--vacuum', '--reorder-locals', '--duplicate-function-elimination', '--reorder-functions-by-name',
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
