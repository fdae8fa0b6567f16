// Bundles of the run time. `import {bundleRuntime} from ...` or `node build/bundle.mjs`.
import {existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {gzipSync} from 'node:zlib';
import {build} from 'esbuild';
import {writeDeclarations} from './declarations.mjs';
import {withServerNote} from './server_note.mjs';

export const runtimeFolder = resolve(import.meta.dirname, '..');

/** Where something is thrown, Node shows the line: no longer than this. Shorter ones take more bytes. */
const LINE = 8000;

const settings = {
  bundle: true,
  minify: true,
  lineLimit: LINE,
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
};

/** x.ts of `worker:./x.ts` (src/globals.d.ts) as one classic script, with the files that it is made of. */
async function workerScript(path) {
  const {outputFiles, metafile} = await build({
    ...settings,
    entryPoints: [path],
    format: 'iife',
    write: false,
    metafile: true,
  });
  const watchFiles = Object.keys(metafile.inputs).map((file) => resolve(file));
  return {text: await tight(outputFiles[0].text, false), watchFiles};
}

const workers = (name, load) => ({
  name,
  setup(build) {
    build.onResolve({filter: /^worker:/}, ({path, resolveDir}) => ({
      path: resolve(resolveDir, path.slice('worker:'.length)),
      namespace: name,
    }));
    build.onLoad({filter: /.*/, namespace: name}, ({path}) => load(path, build.initialOptions));
  },
});

const scripts = join(runtimeFolder, 'src/devices/wasm');
const scriptOf = (form, argument) =>
  `import {${form}} from ${JSON.stringify(join(scripts, 'worker_script.ts'))}; export default ${form}(${argument});`;

/** Scripts of workers are text in the bundle: no second file has to be found, but pages start them from a blob. */
export const workersAsText = workers('worker-text', async (path) => {
  const {text, watchFiles} = await workerScript(path);
  return {contents: scriptOf('scriptOfText', JSON.stringify(text)), resolveDir: scripts, watchFiles};
});

/** Bundlers make data: URLs of assets below 4 KB, and policies have none of these for workers. */
const tooLargeToInline = (text) => (text.length > 4096 ? text : `${text}//${' '.repeat(4096 - text.length)}`);

/** Scripts of workers are files beside the bundle. `addressOf`: an expression for one's address. */
export const workersAt = (addressOf) => workers('worker-file', async (path, {outdir}) => {
  const {text, watchFiles} = await workerScript(path);
  const name = `${/([^/]+)\/src\//.exec(path)[1]}_worker.js`; // runtime_worker.js
  mkdirSync(outdir, {recursive: true});
  writeFileSync(join(outdir, name), tooLargeToInline(text));
  return {contents: scriptOf('scriptOfFile', `() => ${addressOf(name)}`), resolveDir: scripts, watchFiles};
});

/** Bundlers of pages see them as assets. */
export const workersAsFiles = workersAt((name) => `new URL('./${name}', import.meta.url)`);

/** Keeps a part a file of its own, which a run time fetches when it is needed. `to`: its folder, from where the bundle is. */
const apart = (filter, file) => (to = '.') => ({
  name: `apart-${file}`,
  setup({onResolve}) {
    onResolve({filter}, () => ({path: `${to}/${file}`, external: true}));
  },
});
const profilerApart = apart(/^\.\.?\/profile\/profile\.ts$/, 'profile/profile.js');
const generationApart = apart(/^\.\.?\/generate\/generate\.ts$/, 'generate/generate.js');
/** Leaves out generate(), for bundles that never call it. */
export const withoutGeneration = {
  name: 'without-generation',
  setup({onLoad, onResolve}) {
    onResolve({filter: /^\.\.?\/generate\/generate\.ts$/}, ({path}) => ({path, namespace: 'without-generation'}));
    onLoad({filter: /.*/, namespace: 'without-generation'}, () => ({contents: 'export const generate = undefined;'}));
  },
};
/** What makes tensors of pictures; bundles that are split have it apart in any case. */
const imagesApart = apart(/^(\.\.\/)+image\/image\.ts$/, 'image/image.js');

/** Bundles with the run time's settings. */
export const bundle = (options) => build({...settings, plugins: [workersAsText], ...options});

/** Names and declarations that gzip likes better than esbuild's: 3 % less of what is published. */
async function tight(text, module, line = LINE) {
  const {minify} = await import('terser');
  const {code} = await minify(text, {
    module,
    ecma: 2022,
    compress: {passes: 3, ecma: 2022},
    format: {max_line_len: line, comments: /@vite-ignore|webpackIgnore|turbopackIgnore/},
  });
  return code;
}

/** All scripts of a folder, in place, in lines of about so many characters. */
export async function tightenFolder(folder, line = LINE) {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.js'))) {
    const file = join(folder, name);
    writeFileSync(file, await tight(readFileSync(file, 'utf8'), !name.includes('iife'), line));
  }
}

/**
 * dist/runtime.js with its lazy chunks, dist/single/runtime.js without any (service workers cannot import later), dist/runtime.iife.js (global `gossamer`) in one piece, dist/tensors/tensors.js, which it
 * fetches when tensors stay on a device, dist/generate/generate.js for generate(), dist/image/image.js, dist/plain/plain.js for feeds without a shape, dist/plain/defaults.js for inputs with a default, dist/rows/rows.js for states that grow in place, dist/dots/dots.js, which looks at the dot product of bytes, dist/shards/shards.js, which keeps files of weights,
 * dist/steps/step_run.js, which follows steps, dist/hash/streamed.js for what is checked in one pass, with xxh3.js for what has no SHA-256 and whole_sha256.js for pages without WebAssembly, dist/hash/blocks.js, which checks large files on a worker, dist/vite/vite.js for Vite's development server, dist/runtime_worker.js and dist/profile/profile.js.
 */
async function bundleRuntime(dist = join(runtimeFolder, 'dist')) {
  rmSync(dist, {recursive: true, force: true});
  const entry = join(runtimeFolder, 'src/index.ts');
  const plugins = [profilerApart(), workersAsFiles];
  await bundle({
    entryPoints: {
      runtime: entry,
      'tensors/tensors': join(runtimeFolder, 'src/tensors/tensors.ts'),
      'image/image': join(runtimeFolder, 'src/image/image.ts'),
      'generate/generate': join(runtimeFolder, 'src/generate/generate.ts'),
      'hash/xxh3': join(runtimeFolder, 'src/hash/xxh3.ts'),
      'hash/streamed': join(runtimeFolder, 'src/hash/streamed.ts'),
      'hash/blocks': join(runtimeFolder, 'src/hash/blocks.ts'),
      'hash/whole_sha256': join(runtimeFolder, 'src/hash/whole_sha256.ts'),
      'plain/defaults': join(runtimeFolder, 'src/plain/defaults.ts'),
      'plain/plain': join(runtimeFolder, 'src/plain/plain.ts'),
      'dots/dots': join(runtimeFolder, 'src/dots/dots.ts'),
      'rows/rows': join(runtimeFolder, 'src/rows/rows.ts'),
      'shards/shards': join(runtimeFolder, 'src/shards/shards.ts'),
      'steps/step_run': join(runtimeFolder, 'src/steps/step_run.ts'),
      'vite/vite': join(runtimeFolder, 'src/vite/vite.ts'),
    },
    format: 'esm',
    splitting: true,
    // Makes every part reach these, so that they lie in the chunk that all parts share and not in chunks of their own. Tables of types come
    // first: others are made of them when they are imported.
    inject: [
      'values/types', 'devices/shared', 'package/plan_module', 'devices/extents', 'session/feeds', 'package/arrival', 'package/blocks', 'values/discard',
      'package/pieces', 'hash/check', 'hash/wasm', 'devices/home', 'session/launcher', 'devices/lifetime', 'package/safetensors', 'values/storage',
    ].map((name) => join(runtimeFolder, `src/${name}.ts`)),
    chunkNames: 'chunk-[hash]',
    outdir: dist,
    plugins,
  });
  for (const folder of ['generate', 'plain', 'rows', 'tensors', 'hash', 'image', 'shards', 'steps', 'vite']) await tightenFolder(join(dist, folder));
  const whole = join(runtimeFolder, 'src/whole.ts');
  await bundleClassic({entry: whole, globalName: 'gossamer', outfile: join(dist, 'runtime.iife.js'), plugins: [imagesApart(), profilerApart()]});
  await bundle({
    entryPoints: [whole],
    format: 'esm',
    plugins: [imagesApart('..'), profilerApart('..'), workersAsText],
    outfile: join(dist, 'single/runtime.js'),
  });
  await tightenFolder(join(dist, 'single'));
  await tightenFolder(dist);
  // Apart, as few need it: it does not count as part of the run time.
  await bundle({entryPoints: [join(runtimeFolder, 'src/profile/profile.ts')], format: 'esm', outdir: join(dist, 'profile')});
  await bundlePage(join(dist, 'page'));
}

/**
 * The page that runs a package: index.html with page.js for a folder, and single.html with everything
 * inlined but the package (page/README.md says what to fill in).
 */
export async function bundlePage(out) {
  const source = join(runtimeFolder, 'page');
  if (!existsSync(source)) return;
  mkdirSync(out, {recursive: true});
  const entryPoints = {page: join(source, 'app.ts')};
  const unused = [profilerApart(), imagesApart(), generationApart()];
  const plugins = [...unused, workersAsFiles];
  await bundle({entryPoints, format: 'esm', splitting: true, chunkNames: '[name]-[hash]', outdir: out, plugins});
  const {outputFiles} = await bundle({
    entryPoints: [join(source, 'app.ts')],
    format: 'iife',
    write: false,
    plugins: [...unused, workersAsText],
  });
  const {outputFiles: styles} = await bundle({
    entryPoints: [join(source, 'style.css')],
    write: false,
  });
  const html = readFileSync(join(source, 'index.html'), 'utf8').replace(
    '<link rel="stylesheet" href="style.css" />',
    () => `<style>${styles[0].text.trim()}</style>`,
  );
  writeFileSync(join(out, 'index.html'), withServerNote(html));
  const script = outputFiles[0].text.trim().replaceAll('</script', '<\\/script');
  writeFileSync(
    join(out, 'single.html'),
    html.replace(
      '<script type="module" src="page.js"></script>',
      () => `<!--FILES-->\n    <script>${script}</script>`,
    ),
  );
}

/**
 * One classic script, with the global `globalName`: FILE.iife.js. Workers come from its text, and other files from beside it: what
 * import.meta.url is to modules is the script's own address.
 */
export async function bundleClassic({entry, globalName, outfile, plugins = [], define = {}}) {
  await bundle({
    entryPoints: [entry],
    format: 'iife',
    globalName,
    outfile,
    plugins: [...plugins, workersAsText],
    define: {...define, 'import.meta.url': 'scriptAddress'},
    inject: [join(import.meta.dirname, 'script_address.js')],
  });
}

/** Bytes after gzip of a bundle and everything that it may fetch. */
export function gzipBytes(files) {
  return files.reduce((sum, file) => sum + gzipSync(readFileSync(file), {level: 9}).length, 0);
}

if (process.argv[1] === import.meta.filename) {
  await bundleRuntime();
  const dist = join(runtimeFolder, 'dist');
  const isWorker = (name) => name.endsWith('_worker.js');
  const all = readdirSync(dist).filter((name) => name.endsWith('.js') && !name.includes('iife'));
  const parts = all.filter((name) => !isWorker(name));
  const bytesOf = (names) => gzipBytes(names.map((name) => join(dist, name)));
  const size = bytesOf(parts);
  console.log(`run time: ${(size / 1024).toFixed(1)} KB gzip in ${parts.length} files`);
  const folders = Object.entries({generate: 8, tensors: 4.5, dots: 0.5, plain: 2.25, rows: 2, hash: 4.75, image: 6, shards: 1, steps: 2, vite: 1});
  const besides = folders.map(([name, most]) => [name, most, readdirSync(join(dist, name)).map((file) => `${name}/${file}`)]);
  besides.push(['worker', 4, all.filter(isWorker)]);
  for (const [name, most, files] of besides) {
    const bytes = bytesOf(files);
    console.log(`${name}: ${(bytes / 1024).toFixed(1)} KB gzip besides`);
    if (bytes > most * 1024) throw new Error(`${name} may take ${most} KB gzip`);
  }
  // Of these 3.5 are what device tensors need in every part: kernels of many programs on one wasm memory, recordings by the
  // memory that they bind, feeds and outputs that are other memory in each run.
  if (size > 37 * 1024) throw new Error('the run time may take 37 KB gzip');
  writeDeclarations(runtimeFolder);
}

export {bundleRuntime};
