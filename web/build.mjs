// Builds the workspaces that have a build and whose sources changed, at the same time: node build.mjs [--all] [WORKSPACE ...]
// Those named alone, and those that make a compiler for them.
import {spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

const here = import.meta.dirname;
const read = (folder) => JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
const present = read('.').workspaces.filter((folder) => existsSync(join(here, folder, 'package.json')));
const folders = present.filter((folder) => read(folder).scripts?.build);

/** The workspaces whose sources or built files a workspace contains. */
const needs = {
  runtime: [],
  compiler: ['runtime'],
  tensor: ['runtime', 'compiler'],
  ort: ['runtime', 'compiler'],
  llm: ['runtime', 'compiler', 'ort'],
  rpc: ['runtime', 'compiler'],
  vite: ['runtime', 'compiler', 'ort'],
  webpack: ['runtime', 'compiler', 'ort', 'vite'],
  inspector: ['runtime'],
  cli: ['runtime', 'compiler', 'ort', 'llm', 'rpc', 'inspector'],
  examples: ['runtime', 'compiler', 'tensor', 'llm', 'rpc', 'inspector'],
};
/** Workspaces whose files these copy, such as compiler.wasm. */
const after = {tensor: ['compiler'], examples: ['compiler', 'llm', 'inspector'], llm: ['ort'], cli: ['inspector']};
/** Files outside of web/ that end up in a workspace's dist. */
const outside = {
  compiler: ['../build-wasm/compiler.wasm', '../build-wasm/tuner.wasm', '../build-wasm/gguf.wasm', '../src/shipped'],
  ort: ['../build-wasm/models.wasm'],
  llm: ['../build-wasm/language.wasm', '../build-wasm/gguf.wasm'],
  examples: ['../examples/digits/model.onnx'],
};

const skipped = /(^|\/)(dist|node_modules|tests)(\/|$)/;

function filesOf(place) {
  const full = join(here, place);
  if (!existsSync(full)) return [];
  const entries = readdirSync(full, {withFileTypes: true}).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.filter(({name}) => !skipped.test(name)).flatMap((entry) =>
    (entry.isDirectory() ? filesOf(join(place, entry.name)) : entry.isFile() ? [join(place, entry.name)] : []));
}

const keys = {};
/** A hash of everything that a workspace is built from. */
function keyOf(folder) {
  if (keys[folder]) return keys[folder];
  const hash = createHash('sha256');
  const shared = readdirSync(here).filter((name) => /\.(json|mjs|js)$/.test(name)).sort();
  const others = (outside[folder] ?? []).flatMap((place) => (/\.\w+$/.test(place) ? [place].filter((file) => existsSync(join(here, file))) : filesOf(place)));
  for (const file of [...shared, ...filesOf(folder), ...others]) hash.update(`${file}\0`).update(readFileSync(join(here, file))).update('\0');
  for (const other of needs[folder] ?? []) hash.update(keyOf(other));
  return (keys[folder] = hash.digest('hex'));
}

const stamps = join(here, 'node_modules/.gossamer-built');
const stampOf = (folder) => join(stamps, folder);
const isBuilt = (folder) => existsSync(join(here, folder, 'dist')) && existsSync(stampOf(folder)) && readFileSync(stampOf(folder), 'utf8') === keyOf(folder);

const building = {};
/** Resolves to whether the workspace is built. */
function build(folder) {
  building[folder] ??= (async () => {
    if ((await Promise.all((after[folder] ?? []).map(build))).includes(false)) return false;
    if (!all && isBuilt(folder)) return true;
    const code = await new Promise((resolve) => {
      spawn('npm', ['run', '--silent', 'build', '-w', folder], {cwd: here, stdio: 'inherit'}).on('close', resolve);
    });
    if (code === 0) {
      mkdirSync(stamps, {recursive: true});
      writeFileSync(stampOf(folder), keyOf(folder));
    } else {
      console.error(`${folder} is not built`);
      process.exitCode = 1;
    }
    return code === 0;
  })();
  return building[folder];
}

const words = process.argv.slice(2);
const all = words.includes('--all');
const chosen = words.filter((word) => word !== '--all');
for (const folder of chosen) if (!folders.includes(folder)) throw new Error(`there is no workspace "${folder}": ${folders.join(', ')}`);
await Promise.all((chosen.length > 0 ? chosen : folders).map(build));
