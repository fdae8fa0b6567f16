// Builds the site into build/site, for any static server: node site/build.mjs [--base /PATH/] [--out FOLDER]
//
// Pages are staged in build/site-pages: those of site/pages, the documents that contents.mjs lists, and references made of declarations.
// Needs the packages of web/ (make web) and site/node_modules (npm ci).
import {execFileSync} from 'node:child_process';
import {cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {charts} from './charts.mjs';
import {DOCUMENTS, FOLDERS, PLACES} from './contents.mjs';
import {copyExamples, copyPackages} from './examples.mjs';
import {cppPages, packagePages, pythonPage} from './references.mjs';

const here = import.meta.dirname;
const root = path.resolve(here, '..');
const {values} = parseArgs({options: {base: {type: 'string', default: '/'}, out: {type: 'string', default: path.join(root, 'build/site')}}});
const pages = path.join(root, 'build/site-pages/pages');
const read = (file) => readFileSync(path.join(root, file), 'utf8');
const write = (route, text) => {
  const file = path.join(pages, route);
  mkdirSync(path.dirname(file), {recursive: true});
  writeFileSync(file, text);
};

/** Vue would take braces for its own. */
const plain = (text) => `::: v-pre\n\n${text}\n\n:::\n`;
const titleOf = (file) => /^# (.*)$/m.exec(read(file))?.[1].replaceAll('`', '') ?? path.basename(file, '.md');

function documents() {
  const routes = new Map(Object.entries(DOCUMENTS));
  for (const [folder, to] of Object.entries(FOLDERS)) {
    for (const name of readdirSync(path.join(root, folder)).filter((each) => each.endsWith('.md')).sort()) {
      const file = `${folder}/${name}`;
      if (!routes.has(file)) routes.set(file, `${to}/${name.toLowerCase().replaceAll('_', '-')}`);
    }
  }
  return routes;
}

rmSync(path.dirname(pages), {recursive: true, force: true});
mkdirSync(path.dirname(pages), {recursive: true});
// Pages import Vue from where they are.
symlinkSync(path.join(here, 'node_modules'), path.join(path.dirname(pages), 'node_modules'));
cpSync(path.join(here, 'pages'), pages, {recursive: true});
cpSync(path.join(here, 'snippets'), path.join(pages, 'snippets'), {recursive: true});
const routes = documents();
for (const [file, route] of routes) write(route, plain(read(file)));
write('benchmarks.md', read('site/pages/benchmarks.md').replace('<!-- charts -->', charts(path.join(root, 'bench/results'))));
await packagePages(write);
cppPages(write);
pythonPage(write);
const shared = path.join(pages, 'public');
cpSync(path.join(here, 'public'), shared, {recursive: true});
cpSync(path.join(root, 'docs/pictures'), path.join(shared, 'pictures'), {recursive: true});
for (const name of readdirSync(path.join(root, 'bench/results')).filter((each) => each.endsWith('.svg'))) cpSync(path.join(root, 'bench/results', name), path.join(shared, 'pictures', name));
copyExamples(shared);
copyPackages(shared);
cpSync(path.join(here, 'snippets'), path.join(shared, 'snippets'), {recursive: true});

const listed = (folder) => [...routes].filter(([file]) => path.posix.dirname(file) === folder && !file.endsWith('README.md')).map(([file, route]) => [titleOf(file), `/${route.replace(/\.md$/, '')}`]);
const index = (title, folder, links) => write(`${folder}/index.md`, `# ${title}\n\n${links.map(([name, link]) => `- [${name}](${link})`).join('\n')}\n`);
index('Specifications', 'specs', listed('docs/specs'));
index('Results of benchmarks', 'results', listed('bench/results'));
const about = path.join(path.dirname(pages), 'site.json');
const {version} = JSON.parse(read('web/runtime/package.json'));
writeFileSync(about, JSON.stringify({pages, out: values.out, base: values.base, version, routes: [...routes], places: PLACES, specs: listed('docs/specs'), decisions: listed('docs/decisions').reverse()}));
execFileSync(process.execPath, [path.join(here, 'node_modules/vitepress/bin/vitepress.js'), 'build', here], {cwd: here, stdio: 'inherit', env: {...process.env, GOSSAMER_SITE: about}});
