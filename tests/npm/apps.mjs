// Applications with the packed packages. What they are built with is pinned by the lock files of apps/, and comes from the npm registry into
// third_party/cache/apps, once.
import {createHash} from 'node:crypto';
import {copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {npm} from './packed.mjs';

const sources = path.join(import.meta.dirname, 'apps');
const cache = path.resolve(import.meta.dirname, '../../third_party/cache/apps');
const MADE = ['dist', 'dist-plain', 'plain', '.next', '.astro', '.svelte-kit', 'node_modules/.vite', 'node_modules/.astro', 'public', 'static'];

/**
 * The application's folder with all that is installed. `also`: folders of other applications that it takes, by where; `assets`: its folder of
 * files that are served as they are; `of`: the application whose packages it has. Throws where the registry cannot be reached.
 */
export function prepare(name, packed, files, {also = {}, assets = 'public', of = name} = {}) {
  const folder = path.join(cache, name);
  const lock = path.join(sources, of, 'package-lock.json');
  const hash = createHash('sha256').update(readFileSync(lock)).digest('hex');
  const marker = path.join(folder, 'installed.txt');
  if (!existsSync(marker) || readFileSync(marker, 'utf8') !== hash) {
    rmSync(folder, {recursive: true, force: true});
    mkdirSync(folder, {recursive: true});
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(path.join(sources, of, file), path.join(folder, file));
    // Not ci, which wants all platforms' parts of Next.js in the lock file; what is there is pinned.
    npm(folder, ['install', '--no-audit', '--no-fund', '--ignore-scripts']);
    writeFileSync(marker, hash); // last: an interrupted run leaves nothing that looks complete
  }
  for (const made of MADE) rmSync(path.join(folder, made), {recursive: true, force: true});
  cpSync(path.join(sources, name), folder, {recursive: true});
  for (const [to, from] of Object.entries(also)) cpSync(path.join(sources, from), path.join(folder, to), {recursive: true});
  mkdirSync(path.join(folder, assets));
  cpSync(files, path.join(folder, assets, 'files'), {recursive: true});
  npm(folder, ['install', '--offline', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', ...packed]);
  return folder;
}

/** The same; undefined, and a result, where that fails. */
export function prepared(tally, name, ...given) {
  try {
    return prepare(name, ...given);
  } catch (problem) {
    const said = String(problem.stderr ?? problem.stack);
    if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ENOTCACHED|ETIMEDOUT/.test(said)) tally.skip(name, `it cannot be installed here: ${said.trim().split('\n')[0]}`);
    else tally.record(`${name} is installed`, said.slice(0, 800));
    return undefined;
  }
}
