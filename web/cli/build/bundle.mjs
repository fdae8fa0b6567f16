// dist/gossamer.js: the command with the libraries that it parses arguments and reads images with. Run time, compiler and language models are packages of their own.
import {copyFileSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {build} from 'esbuild';

const folder = resolve(import.meta.dirname, '..');
const dist = join(folder, 'dist');
const {version} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
rmSync(dist, {recursive: true, force: true});
await build({
  entryPoints: {gossamer: join(folder, 'src/main.ts')}, outdir: dist, bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20',
  chunkNames: '[name]-[hash]', external: ['@gossamer/*', 'webgpu'], minifySyntax: true, legalComments: 'none', logLevel: 'warning',
  define: {VERSION: JSON.stringify(version)},
  // What comes from CommonJS asks for modules of Node.js by require().
  banner: {js: "import {createRequire as requireHere} from 'node:module'; const require = requireHere(import.meta.url);"},
});
// What `inspect --html` fills in.
copyFileSync(join(folder, '../inspector/dist/inspector.html'), join(dist, 'inspector.html'));
const licences = ['commander', 'pngjs', 'jpeg-js', '@dagrejs/dagre', '@dagrejs/graphlib'].map((name) => {
  const of = resolve(folder, [`node_modules/${name}`, `../node_modules/${name}`].find((place) => readable(join(folder, place, 'package.json'))));
  return `${name} ${JSON.parse(readFileSync(join(of, 'package.json'), 'utf8')).version}\n\n${readFileSync(join(of, 'LICENSE'), 'utf8')}`;
});
writeFileSync(join(dist, 'licences.txt'), licences.join('\n'));

function readable(file) {
  try {
    return Boolean(readFileSync(file));
  } catch {
    return false;
  }
}
