// Bundles every *.test.ts below a folder and runs them with Node's test runner.
// node build/test.mjs [FOLDER] [--only PART] [--bundle-only]      --bundle-only: prints a line 'SOURCE TAB BUNDLE' for each
import {spawnSync} from 'node:child_process';
import {readdirSync, rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {bundle} from './bundle.mjs';

const args = process.argv.slice(2);
const only = args.includes('--only') ? args.splice(args.indexOf('--only'), 2)[1] : '';
const bundleOnly = args.includes('--bundle-only') && args.splice(args.indexOf('--bundle-only'), 1).length > 0;
const folder = resolve(args[0] ?? '.');
const out = join(folder, 'dist/test');
rmSync(out, {recursive: true, force: true});
const entryPoints = findTests(folder).filter((file) => file.includes(only));
await bundle({
  entryPoints,
  absWorkingDir: folder,
  outbase: folder,
  outdir: out,
  outExtension: {'.js': '.mjs'},
  platform: 'node',
  format: 'esm',
  packages: 'external',
  minify: false,
  sourcemap: 'inline',
});
const tests = entryPoints.map((file) => join(out, file.replace(/\.ts$/, '.mjs')));
if (bundleOnly) {
  entryPoints.forEach((source, at) => console.log(`${source}\t${tests[at]}`));
} else {
  const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...tests], {cwd: folder, stdio: 'inherit'});
  process.exitCode = run.status ?? 1;
}

function findTests(root) {
  return readdirSync(root, {recursive: true}).filter(
    (file) => file.endsWith('.test.ts') && !/(^|\/)(node_modules|dist)\//.test(file),
  );
}
