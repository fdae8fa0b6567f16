// dist/sessions.js: what the first session fetches, in one file. Bundlers copy it as they copy compiler.wasm, and the API imports it by its
// address. So applications have it once, however many of their packages are this one, and bundles without parts (workers of Vite) have it too.
import {writeFileSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {dirname, join, relative, resolve} from 'node:path';
import {build} from 'esbuild';
import {bundle, withoutGeneration, workersAt} from '../../runtime/build/bundle.mjs';

const web = resolve(import.meta.dirname, '../..');
const source = join(web, 'ort/src');
const packageFile = join(web, 'runtime/src/devices/wasm/package_file.ts');
/** What is fetched by then. */
const LATER = /^\.\/(session|providers)\.ts$/;

const later = (answer) => ({name: 'later', setup: ({onResolve}) => void onResolve({filter: LATER}, answer)});

/** Paths of the modules that the API consists of, which sessions share with it. */
async function apiModules(entry) {
  const {metafile} = await build({
    stdin: {contents: `export * from ${JSON.stringify(entry)}; export * from ${JSON.stringify(packageFile)};`, resolveDir: web},
    bundle: true, write: false, metafile: true, format: 'esm', logLevel: 'error', absWorkingDir: web,
    plugins: [later(({path}) => ({path, external: true}))],
  });
  return new Set(Object.keys(metafile.inputs).map((file) => resolve(web, file)));
}

const shared = (modules) => ({
  name: 'shared',
  setup: ({onResolve}) => void onResolve({filter: /^\..*\.ts$/}, ({path, resolveDir}) => {
    const file = join(resolveDir, path);
    return modules.has(file) ? {path: `shared:${relative(web, file)}`, external: true} : undefined;
  }),
});

/** Addresses of files next to the package's script, which are not next to this one in applications. */
const addressesGiven = {
  name: 'addresses',
  setup: ({onLoad}) => void onLoad({filter: /\/(compiler|runtime)\/src\/.*\.ts$/}, async ({path}) => ({
    contents: (await readFile(path, 'utf8')).replace(/new URL\('\.\/([^']+)', import\.meta\.url\)/g, "api.files['$1']"),
    loader: 'ts',
    resolveDir: dirname(path),
  })),
};

/** Writes the file. Gives the names that it wants of the API's modules, by their paths, and those of files. */
async function writeSessions(modules, {outdir, define}) {
  const {outputFiles: [{text}]} = await bundle({
    stdin: {contents: `export {create} from './session.ts'; export {openGpu} from './providers.ts';`, resolveDir: source},
    format: 'esm', outdir, write: false, define,
    plugins: [withoutGeneration, workersAt((name) => `api.files['${name}']`), shared(modules), addressesGiven],
  });
  const names = {}, imports = [];
  const pairsOf = (list) => list.split(',').map((each) => each.trim().split(/ as /));
  const body = text
    .replace(/\bimport ?\{([^}]*)\} ?from ?"shared:([^"]+)";?/g, (_, list, module) => {
      const pairs = pairsOf(list);
      names[module] = [...new Set([...(names[module] ?? []), ...pairs.map(([name]) => name)])];
      imports.push(`const {${pairs.map(([name, local = name]) => `${name}: ${local}`)}} = api[${JSON.stringify(module)}];`);
      return '';
    })
    .replace(/\bexport ?\{([^}]*)\};?\s*$/, (_, list) => `return {${pairsOf(list).map(([local, name = local]) => `${name}: ${local}`)}};`);
  writeFileSync(join(outdir, 'sessions.js'), `export default (api) => {${imports.join('')}${body}};`);
  return {names, files: [...new Set(Array.from(text.matchAll(/api\.files(?:\.(\w+)|\["([^"]+)"\])/g), ([, word, name]) => word ?? name))]};
}

/** The module that the API has for those that come later. */
function laterModule({names, files}) {
  const imports = Object.entries(names).map(([module, list], at) => `import {${list.map((name) => `${name} as ${name}_${at}`)}} from ${JSON.stringify(join(web, module))};`);
  const given = Object.entries(names).map(([module, list], at) => `${JSON.stringify(module)}: {${list.map((name) => `${name}: ${name}_${at}`)}}`);
  return `${imports.join('\n')}
import {packageFile} from ${JSON.stringify(packageFile)};
let started;
async function start() {
  const [sessions, ...places] = await Promise.all([new URL('./sessions.js', import.meta.url), ${files.map((name) => `new URL('./${name}', import.meta.url)`)}].map(packageFile));
  const {default: open} = await import(/* @vite-ignore */ /* webpackIgnore: true */ /* turbopackIgnore: true */ sessions.href);
  return open({files: Object.fromEntries(${JSON.stringify(files)}.map((name, at) => [name, places[at]])), ${given}});
}
const sessions = () => {
  started ??= start();
  started.catch(() => (started = undefined)); // the next session tries again
  return started;
};
export const create = async (given) => (await sessions()).create(given);
export const openGpu = async () => (await sessions()).openGpu();
`;
}

/** dist/ort.js of the API alone, and dist/sessions.js. */
export async function bundleApart({entry, outfile, define}) {
  const outdir = dirname(outfile);
  const modules = await apiModules(entry);
  const wanted = await writeSessions(modules, {outdir, define});
  await bundle({
    entryPoints: [entry], format: 'esm', outfile, define,
    minify: false, // comments that bundlers read stay
    plugins: [
      later(() => ({path: 'later', namespace: 'later'})),
      {name: 'later-module', setup: ({onLoad}) => void onLoad({filter: /.*/, namespace: 'later'}, () => ({contents: laterModule(wanted), resolveDir: web}))},
    ],
  });
}
