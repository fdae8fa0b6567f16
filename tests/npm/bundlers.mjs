// Applications of Vite, webpack, Next.js, Astro and SvelteKit, as they begin: no settings, no copied files, the packed packages installed by npm.
import {execFile, spawn} from 'node:child_process';
import {copyFileSync, cpSync, readdirSync, rmSync} from 'node:fs';
import path from 'node:path';
import {promisify} from 'node:util';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {seededCheckpoints} from '../transformersjs/skeletons.mjs';
import {prepared} from './apps.mjs';
import {asked, serve, trouble} from './forms.mjs';

const web = path.resolve(import.meta.dirname, '../../web');
const run = promisify(execFile);
const env = {...process.env, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', ASTRO_TELEMETRY_DISABLED: '1', CI: '1'};

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

/** Compilers in a bundle's folder that its page does not need. */
function compilersOf(folder, wanted) {
  const all = readdirSync(folder, {recursive: true}).filter((name) => name.endsWith('.wasm') && !/(^|\/)(kernels|plan|side)[^/]*$/.test(name));
  return all.length === wanted && !all.some((name) => /tuner/.test(name)) ? undefined : `the page has ${all.join(', ') || 'none'}`;
}

const built = (folder) => serve(path.join(folder, 'dist'), undefined, {policy: 'strict'});
const developed = (...words) => (folder) => started(folder, words);
const onLoopback = ['--port', '0', '--host', '127.0.0.1'];

const vite = (also) => ({
  also,
  async build(folder) {
    await run(program(folder, 'vite'), ['build'], {cwd: folder, env});
    await run(program(folder, 'vite'), ['build', 'plain'], {cwd: folder, env});
  },
  plain: 'plain/dist',
  places: {'built by Vite': built, 'served by Vite as it is developed': developed('vite', ...onLoopback)},
});
const sources = {'index.html': 'vite/index.html', plain: 'vite/plain'};

/** Transformers.js in an application of Vite, with @gossamer/ort by `means`. */
const withTransformers = (means, install) => ({
  async build(folder) {
    install(folder);
    cpSync(path.join(seededCheckpoints(), 'features'), path.join(folder, 'public/models/features'), {recursive: true});
    await run(program(folder, 'vite'), ['build'], {cwd: folder, env});
  },
  plain: 'dist/assets',
  places: {
    [`with Transformers.js by ${means}, built by Vite`]: built,
    [`with Transformers.js by ${means}, served by Vite as it is developed`]: developed('vite', ...onLoopback),
  },
  more: true,
});

/** How each is built, and where its page is then. `more`: with --all. */
const APPS = {
  vite: vite({'models.js': 'vite6/main.js'}),
  // Its own main.js has no @gossamer/tensor: Vite 6, which Astro has, compiles for browsers without top-level await (web/tensor/README.md).
  vite6: {...vite(sources), more: true},
  vite7: {...vite({...sources, 'main.js': 'vite/main.js', 'models.js': 'vite6/main.js'}), more: true},
  // A model that @gossamer/vite compiles.
  imported: {
    of: 'vite',
    also: {'index.html': 'vite/index.html'},
    async build(folder) {
      copyFileSync(path.join(folder, 'public/files/digits.onnx'), path.join(folder, 'digits.onnx'));
      await run(program(folder, 'vite'), ['build'], {cwd: folder, env});
      const strict = ['--strict', '--skipLibCheck', '--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022', '--allowArbitraryExtensions'];
      await run(process.execPath, [path.join(web, 'node_modules/typescript/bin/tsc'), ...strict, 'types.ts'], {cwd: folder, env});
    },
    compilers: 0,
    plain: 'dist/assets',
    places: {'with an imported model, built by Vite': built, 'with an imported model, served by Vite as it is developed': developed('vite', ...onLoopback)},
  },
  webpack: {
    async build(folder) {
      await run(program(folder, 'webpack'), ['--mode', 'production'], {cwd: folder, env});
      await run(program(folder, 'webpack'), ['--mode', 'production', '--entry', './plain/main.js', '--output-path', 'dist-plain'], {cwd: folder, env});
      copyFileSync(path.join(folder, 'index.html'), path.join(folder, 'dist/index.html'));
      copyFileSync(path.join(folder, 'index.html'), path.join(folder, 'public/index.html'));
    },
    also: {plain: 'vite/plain', 'src/index.js': 'vite/main.js', 'src/models.js': 'vite6/main.js'},
    plain: 'dist-plain',
    places: {
      'built by webpack': (folder, files) => serve(path.join(folder, 'dist'), files, {policy: 'strict'}),
      'served by webpack as it is developed': developed('webpack', 'serve', '--mode', 'development', '--no-open', '--no-client-overlay'),
    },
  },
  // A model that @gossamer/webpack compiles.
  loaded: {
    of: 'webpack',
    also: {'index.html': 'webpack/index.html', 'src/index.js': 'imported/main.js'},
    async build(folder) {
      copyFileSync(path.join(folder, 'public/files/digits.onnx'), path.join(folder, 'src/digits.onnx'));
      await run(program(folder, 'webpack'), ['--mode', 'production'], {cwd: folder, env});
      copyFileSync(path.join(folder, 'index.html'), path.join(folder, 'dist/index.html'));
      copyFileSync(path.join(folder, 'index.html'), path.join(folder, 'public/index.html'));
    },
    compilers: 0,
    plain: 'dist',
    places: {
      'with a loaded model, built by webpack': (folder, files) => serve(path.join(folder, 'dist'), files, {policy: 'strict'}),
      'with a loaded model, served by webpack as it is developed': developed('webpack', 'serve', '--mode', 'development', '--no-open', '--no-client-overlay'),
    },
  },
  next: {
    build: (folder) => run(program(folder, 'next'), ['build'], {cwd: folder, env}),
    places: {'built and rendered by Next.js': developed('next', 'start', '-p', '0', '-H', '127.0.0.1')},
    more: {'served by Next.js as it is developed': developed('next', 'dev', '-p', '0', '-H', '127.0.0.1')},
  },
  astro: {
    also: {'src/use.js': 'vite6/main.js'},
    build: (folder) => run(program(folder, 'astro'), ['build'], {cwd: folder, env}),
    places: {'built by Astro': built, 'served by Astro as it is developed': developed('astro', 'dev', ...onLoopback)},
    more: true,
  },
  sveltekit: {
    also: {'src/use.js': 'vite/main.js', 'src/models.js': 'vite6/main.js'},
    assets: 'static',
    build: (folder) => run(program(folder, 'vite'), ['build'], {cwd: folder, env}),
    places: {
      'built by SvelteKit': developed('vite', 'preview', ...onLoopback),
      'served by SvelteKit as it is developed': developed('vite', 'dev', ...onLoopback),
    },
    more: true,
  },
  transformers: withTransformers('an alias', () => undefined),
  overrides: {
    ...withTransformers('overrides', (folder) => {
      // What npm makes of the overrides in web/ort/README.md.
      const named = (name) => path.join(folder, 'node_modules', name);
      for (const name of ['onnxruntime-web', 'onnxruntime-common']) {
        rmSync(named(name), {recursive: true, force: true});
        cpSync(named('@gossamer/ort'), named(name), {recursive: true});
      }
      rmSync(named('@gossamer'), {recursive: true});
    }),
    of: 'transformers',
    also: {'index.html': 'transformers/index.html', 'pipeline.js': 'transformers/main.js'},
  },
};

/** The values that Transformers.js gives are compared with those of its first place; other tests compare them with onnxruntime-web. */
const lengthOf = (values) => Math.hypot(...values);

/** `packed`: the files; `files`: what pages read below /files/; `all`: with what APPS has `more`. */
export async function bundlers(tally, {packed, files, expected, all, only = Object.keys(APPS)}) {
  const begun = [];
  for (const [name, app] of Object.entries(APPS)) {
    if ((app.more === true && !all) || !only.includes(name)) continue;
    const folder = prepared(tally, name, packed, files, app);
    if (!folder) continue;
    const done = app.build(folder).then(() => undefined, (problem) => `${problem.stdout ?? ''}${problem.stderr ?? problem}`.slice(-1500));
    begun.push({folder, app, name, done});
  }
  const browser = await startBrowser();
  try {
    for (const {folder, app, name, done} of begun) {
      const problem = await done;
      tally.record(`${name} builds`, problem);
      if (problem) continue;
      if (app.plain) tally.record(`${name}: a page has no more compilers than it needs`, compilersOf(path.join(folder, app.plain), app.compilers ?? 1));
      let wanted = ['transformers', 'overrides'].includes(name) ? undefined : expected;
      for (const [place, open] of Object.entries({...app.places, ...(all && app.more !== true && app.more)})) {
        let server;
        try {
          server = await open(folder, files);
          // The workers of wasm are what bundlers may lose; files that are the same for all devices have been tried in the first place.
          for (const device of all || place === Object.keys(app.places)[0] ? ['wasm', 'webgpu'] : ['wasm']) {
            const {error, ...answer} = await asked(browser, server.address, 'use', {device}).catch((problem) => ({error: String(problem)}));
            if (!wanted && answer.values && Math.abs(lengthOf(answer.values) - Math.SQRT2) < 1e-3) wanted = answer.values;
            const worker = device === 'webgpu' || /in a worker/.test(answer.adapter) ? undefined : `it ran ${answer.adapter}`;
            tally.record(`${name}: a page ${place}, ${device}`, error ?? (wanted ? trouble(answer, wanted) : `gives ${answer.values}`) ?? worker);
          }
          if (name === 'next' && /rendered/.test(place)) {
            const {imported} = await (await fetch(`${server.address}answer`)).json();
            tally.record('Next.js imports on the server', imported?.join() === 'function,2' ? undefined : JSON.stringify(imported));
          }
        } catch (problem) {
          tally.record(`${name}: a page ${place}`, problem.stack);
        } finally {
          server?.close();
        }
      }
    }
  } finally {
    await browser.close();
  }
}
