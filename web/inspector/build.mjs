// dist/inspector.html: the page with its style and script inside, and an empty element for a document (src/inspect/page.h fills it in).
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {bundle} from '../runtime/build/bundle.mjs';

const here = import.meta.dirname;
const dist = join(here, 'dist');
/** The page is in each file that is saved. */
const MOST = 60 * 1024;

rmSync(dist, {recursive: true, force: true});
mkdirSync(dist, {recursive: true});
const text = async (entry, format) => (await bundle({entryPoints: [join(here, 'src', entry)], format, write: false})).outputFiles[0].text.trim();
const style = await text('style.css');
const script = (await text('main.ts', 'iife')).replaceAll('</script', '<\\/script');
const licence = ['dagre', 'graphlib'].map((name) => `Contains @dagrejs/${name}:\n${readFileSync(join(here, `../node_modules/@dagrejs/${name}/LICENSE`), 'utf8').trim()}`).join('\n\n');
const html = readFileSync(join(here, 'src/index.html'), 'utf8')
  .replace('</head>', () => `<!--\n${licence}\n-->\n  </head>`)
  .replace('<link rel="stylesheet" href="style.css" />', () => `<style>${style}</style>`)
  .replace('<script src="main.js"></script>', () => `<script>${script}</script>`);
writeFileSync(join(dist, 'inspector.html'), html);
const size = gzipSync(html, {level: 9}).length;
console.log(`inspector: ${(size / 1024).toFixed(1)} KB gzip`);
if (size > MOST) throw new Error(`the inspector may take ${MOST / 1024} KB gzip`);
