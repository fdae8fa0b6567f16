// dist/webpack.js, which webpack's process loads, and declarations.
import {rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {build} from 'esbuild';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
rmSync(join(folder, 'dist'), {recursive: true, force: true});
await build({
  entryPoints: {webpack: join(folder, 'src/index.ts')}, outdir: join(folder, 'dist'), bundle: true, format: 'esm', platform: 'node', target: 'node20',
  packages: 'external', logLevel: 'warning',
});
writeDeclarations(folder);
