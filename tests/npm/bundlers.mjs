// Applications of Vite, webpack and Next.js, as they begin: no settings, no copied files, the packed packages installed by npm.
// What they are built with is pinned by the lock files of apps/, and comes from the npm registry into third_party/cache/apps, once.
import {execFile, spawn} from 'node:child_process';
import {createHash} from 'node:crypto';
import {copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {promisify} from 'node:util';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {asked, serve, trouble} from './forms.mjs';
import {npm} from './packed.mjs';

const sources = path.join(import.meta.dirname, 'apps');
const cache = path.resolve(import.meta.dirname, '../../third_party/cache/apps');
const run = promisify(execFile);
const env = {...process.env, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', CI: '1'};

/** The application's folder with all that is installed. Throws where the registry cannot be had. */
function prepare(name, packed, files) {
  const folder = path.join(cache, name);
  const lock = path.join(sources, name, 'package-lock.json');
  const hash = createHash('sha256').update(readFileSync(lock)).digest('hex');
  const marker = path.join(folder, 'installed.txt');
  if (!existsSync(marker) || readFileSync(marker, 'utf8') !== hash) {
    rmSync(folder, {recursive: true, force: true});
    mkdirSync(folder, {recursive: true});
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(path.join(sources, name, file), path.join(folder, file));
    // Not ci, which wants all platforms' parts of Next.js in the lock file; what is there is pinned.
    npm(folder, ['install', '--no-audit', '--no-fund']);
    writeFileSync(marker, hash); // last: an interrupted run leaves nothing that looks whole
  }
  for (const made of ['dist', '.next', 'node_modules/.vite', 'public']) rmSync(path.join(folder, made), {recursive: true, force: true});
  cpSync(path.join(sources, name), folder, {recursive: true});
  mkdirSync(path.join(folder, 'public'));
  cpSync(files, path.join(folder, 'public/files'), {recursive: true});
  npm(folder, ['install', '--offline', '--no-save', '--no-audit', '--no-fund', ...packed]);
  return folder;
}

const program = (folder, name) => path.join(folder, 'node_modules/.bin', name);

/** A server of the application's own, once it has told its address. */
async function started(folder, words) {
  // In a group of its own, which ends with it.
  const child = spawn(program(folder, words[0]), words.slice(1), {cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe']});
  const stop = () => process.kill(-child.pid);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  for (let left = 300; left > 0; --left) {
    const address = /http:\/\/(localhost|127\.0\.0\.1):\d+/.exec(said)?.[0];
    if (address && (await fetch(address).then(({ok}) => ok, () => false))) return {address: `${address}/`, close: stop};
    if (child.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  if (child.exitCode === null) stop();
  throw new Error(`${words.join(' ')}: ${said.slice(-600)}`);
}

/** How each is built, and where its page is then. */
const APPS = {
  vite: {
    build: (folder) => run(program(folder, 'vite'), ['build'], {cwd: folder, env}),
    places: {
      'built by Vite': (folder) => serve(path.join(folder, 'dist'), undefined, {policy: 'strict'}),
      'served by Vite as it is developed': (folder) => started(folder, ['vite', '--port', '0', '--host', '127.0.0.1']),
    },
  },
  webpack: {
    async build(folder) {
      await run(program(folder, 'webpack'), ['--mode', 'production'], {cwd: folder, env});
      copyFileSync(path.join(folder, 'index.html'), path.join(folder, 'dist/index.html'));
    },
    places: {'built by webpack': (folder, files) => serve(path.join(folder, 'dist'), files, {policy: 'strict'})},
  },
  next: {
    build: (folder) => run(program(folder, 'next'), ['build'], {cwd: folder, env}),
    places: {'built and rendered by Next.js': (folder) => started(folder, ['next', 'start', '-p', '0', '-H', '127.0.0.1'])},
  },
};

/** `packed`: the files; `files`: what pages read below /files/. */
export async function bundlers(tally, {packed, files, expected}) {
  const built = [];
  for (const [name, app] of Object.entries(APPS)) {
    let folder;
    try {
      folder = prepare(name, packed, files);
    } catch (problem) {
      const said = String(problem.stderr ?? problem.stack);
      if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ENOTCACHED|ETIMEDOUT/.test(said)) tally.skip(name, `it cannot be installed here: ${said.trim().split('\n')[0]}`);
      else tally.record(`${name} is installed`, said.slice(0, 800));
      continue;
    }
    const done = app.build(folder).then(() => undefined, (problem) => `${problem.stdout ?? ''}${problem.stderr ?? problem}`.slice(-1500));
    built.push({folder, app, name, done});
  }
  const browser = await startBrowser();
  try {
    for (const {folder, app, name, done} of built) {
      const problem = await done;
      tally.record(`${name} builds`, problem);
      if (problem) continue;
      for (const [place, open] of Object.entries(app.places)) {
        let server;
        try {
          server = await open(folder, files);
          for (const device of ['wasm', 'webgpu']) {
            const {error, ...answer} = await asked(browser, server.address, 'use', {device}).catch((problem) => ({error: String(problem)}));
            const worker = device === 'webgpu' || /in a worker/.test(answer.adapter) ? undefined : `it ran ${answer.adapter}`;
            tally.record(`a page ${place}, ${device}`, error ?? trouble(answer, expected) ?? worker);
          }
          if (name === 'next') {
            const {imported} = await (await fetch(`${server.address}answer`)).json();
            tally.record('Next.js imports on the server', imported?.join() === 'function,2' ? undefined : JSON.stringify(imported));
          }
        } catch (problem) {
          tally.record(`a page ${place}`, problem.stack);
        } finally {
          server?.close();
        }
      }
    }
  } finally {
    await browser.close();
  }
}
