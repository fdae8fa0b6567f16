// The plugin's hooks as Vite calls them; tests/npm has applications that are built with it.
import assert from 'node:assert/strict';
import {copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import {join, resolve} from 'node:path';
import {after, test} from 'node:test';
import {pathToFileURL} from 'node:url';
import {sum} from '../../compiler/tests/onnx.ts';
import type {GossamerOptions, VitePlugin} from '../src/index.ts';

// As npm runs it, from the workspace's folder.
const workspace = process.cwd();
const {default: gossamer} = (await import(pathToFileURL(resolve(workspace, 'dist/vite.js')).href)) as {default: (options?: GossamerOptions) => VitePlugin};
const work = mkdtempSync(join(os.tmpdir(), 'gossamer-vite-'));
after(() => rmSync(work, {recursive: true}));
const digits = join(work, 'digits.onnx');
copyFileSync(resolve(workspace, '../../examples/digits/model.onnx'), digits);

function begin(options: GossamerOptions, command: 'build' | 'serve') {
  const plugin = gossamer(options);
  plugin.configResolved({command, base: '/sub/', cacheDir: join(work, 'cache'), build: {assetsDir: 'assets'}});
  const emitted: string[] = [];
  const watched: string[] = [];
  const bundler = {
    addWatchFile: (file: string) => void watched.push(file),
    emitFile: ({fileName}: {fileName: string}) => (emitted.push(fileName), `r${emitted.length}`),
    error: (message: string): never => {
      throw new Error(message);
    },
  };
  return {plugin, emitted, watched, load: (id: string) => plugin.load.call(bundler, id)};
}

test('a build emits a folder for each target, and a module that names it', async () => {
  const {load, emitted, watched} = begin({targets: ['wasm', 'webgpu'], types: true}, 'build');
  const code = await load(digits);
  assert.match(code ?? '', /import\.meta\.ROLLUP_FILE_URL_r\d+/);
  const [folder] = /^assets\/digits-[0-9a-f]{8}\//.exec(emitted[0] ?? '') ?? [];
  assert.ok(folder && emitted.every((name) => name.startsWith(folder)), emitted.join());
  for (const name of ['index.json', 'wasm/manifest.json', 'wasm/kernels.wasm', 'webgpu/kernels.json']) assert.ok(emitted.includes(folder + name), name);
  assert.deepEqual(watched, [digits]);
  assert.match(readFileSync(join(work, 'digits.d.onnx.ts'), 'utf8'), /CompiledModel<"image", "probabilities">/);
});

test('what was compiled is kept until the model, its options or the targets change', async () => {
  const folders = () => readdirSync(join(work, 'cache/gossamer')).length;
  const before = folders();
  await begin({targets: ['wasm', 'webgpu']}, 'build').load(digits);
  assert.equal(folders(), before);
  await begin({targets: ['wasm', 'webgpu'], compile: {winograd: false}}, 'build').load(digits);
  await begin({targets: ['wasm'], compile: (file) => ({name: file})}, 'build').load(digits);
  assert.equal(folders(), before + 2);
});

test('weights in files that the model names are read from its folder', async () => {
  const folder = join(work, 'weights');
  mkdirSync(join(folder, 'data'), {recursive: true});
  writeFileSync(join(folder, 'sum.onnx'), sum({location: 'data/w.bin'}));
  await assert.rejects(begin({targets: ['wasm']}, 'build').load(join(folder, 'sum.onnx')), /w\.bin/);
  writeFileSync(join(folder, 'data/w.bin'), new Uint8Array(16));
  const names: string[] = [];
  for (const compile of [{}, {externalData: {'data/w.bin': new Uint8Array(16).fill(1)}}]) {
    const {load, emitted} = begin({targets: ['wasm'], compile}, 'build');
    await load(join(folder, 'sum.onnx'));
    names.push(emitted[0]?.split('/')[1] ?? '');
  }
  // Other weights are another package.
  assert.equal(new Set(names).size, 2);
});

test('the server of an application has the files below the base, and the headers of threads', async () => {
  const {plugin, load, emitted} = begin({targets: ['wasm']}, 'serve');
  const code = await load(digits);
  const [, name] = /"\/sub\/@gossamer\/(digits-[0-9a-f]+)\/index\.json"/.exec(code ?? '') ?? [];
  assert.ok(name, code);
  assert.deepEqual(emitted, []);
  let handle: unknown;
  plugin.configureServer({middlewares: {use: (given: unknown) => (handle = given)}});
  const get = (url: string) => {
    const got = {status: 0, type: '', body: Buffer.alloc(0), passed: false};
    const response = {
      writeHead: (status: number, headers: Record<string, unknown>) => Object.assign(got, {status, type: headers['Content-Type']}),
      end: (body: Uint8Array) => Object.assign(got, {body: Buffer.from(body)}),
    };
    (handle as (...given: unknown[]) => void)({url}, response, () => (got.passed = true));
    return got;
  };
  for (const base of ['/sub', '']) {
    assert.deepEqual(JSON.parse(get(`${base}/@gossamer/${name}/index.json`).body.toString()), {variants: {wasm: 'wasm/'}});
    assert.equal(get(`${base}/@gossamer/${name}/wasm/kernels.wasm?import`).type, 'application/wasm');
    assert.ok(get(`${base}/@gossamer/${name}/wasm/other`).passed);
  }
  assert.ok(get('/sub/main.js').passed);
  assert.equal(plugin.config().server?.headers['Cross-Origin-Opener-Policy'], 'same-origin');
  assert.deepEqual(gossamer({headers: false}).config(), {});
});

test('a model that cannot be compiled ends the build with its name and the reason', async () => {
  const broken = join(work, 'broken.onnx');
  writeFileSync(broken, '<html>not found</html>');
  await assert.rejects(begin({targets: ['wasm']}, 'build').load(broken), {message: /broken\.onnx: .*HTML/});
  await assert.rejects(begin({targets: ['wasm'], compile: {dims: {rows: 3}}}, 'build').load(digits), /rows/);
});

test('other files, and models with a query, are left to Vite', async () => {
  const {load} = begin({}, 'build');
  for (const id of ['/app/main.js', `${digits}?url`, `${digits}?raw`]) assert.equal(await load(id), undefined);
  assert.ok(!existsSync(join(work, 'main.d.onnx.ts')));
});
