// dist/page: the page that `gossamer rpc` serves. dist/join.mjs: the same device in Node.js. dist/rpc.js, dist/types: for programs that join.
import {copyFileSync, mkdirSync, rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {bundle} from '../../runtime/build/bundle.mjs';
import {writeDeclarations} from '../../runtime/build/declarations.mjs';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
rmSync(dist, {recursive: true, force: true});
mkdirSync(join(dist, 'page'), {recursive: true});
// In one piece: what a run time fetches when it needs it would be files that the server does not have.
await bundle({entryPoints: {join: join(folder, 'page/page.ts')}, format: 'iife', outdir: join(dist, 'page')});
for (const name of ['index.html', 'style.css']) copyFileSync(join(folder, 'page', name), join(dist, 'page', name));
await bundle({
  entryPoints: [join(folder, 'src/node.ts')],
  platform: 'node',
  format: 'esm',
  packages: 'external',
  outfile: join(dist, 'join.mjs'),
});
await bundle({entryPoints: [join(folder, 'src/index.ts')], format: 'esm', outfile: join(dist, 'rpc.js')});
writeDeclarations(folder);
