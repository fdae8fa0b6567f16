// The loader as webpack calls it; tests/npm has an application that is built with it.
import assert from 'node:assert/strict';
import {copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import {join, resolve} from 'node:path';
import {after, test} from 'node:test';
import {pathToFileURL} from 'node:url';
import type {GossamerOptions, LoaderContext} from '../src/index.ts';

// As npm runs it, from the workspace's folder.
const workspace = process.cwd();
interface Loader {
  readonly default: (this: LoaderContext, model: Buffer) => void;
  readonly raw: boolean;
}
const {default: loader, raw} = (await import(pathToFileURL(resolve(workspace, 'dist/webpack.js')).href)) as Loader;
const work = mkdtempSync(join(os.tmpdir(), 'gossamer-webpack-'));
after(() => rmSync(work, {recursive: true}));
const digits = join(work, 'digits.onnx');
copyFileSync(resolve(workspace, '../../examples/digits/model.onnx'), digits);

function load(file: string, options: GossamerOptions): Promise<{code: string; emitted: string[]}> {
  const emitted: string[] = [];
  return new Promise((done, failed) => {
    const context: LoaderContext = {
      resourcePath: file,
      rootContext: work,
      getOptions: () => options,
      emitFile: (name) => void emitted.push(name),
      async: () => (problem, code) => (problem ? failed(problem) : done({code: code ?? '', emitted})),
    };
    loader.call(context, readFileSync(file));
  });
}

test('models come as bytes', () => assert.equal(raw, true));

test('a model becomes a folder for each target, and a module that names it', async () => {
  const {code, emitted} = await load(digits, {targets: ['wasm', 'webgpu'], types: true, folder: 'nets'});
  const [folder] = /^nets\/digits-[0-9a-f]{8}\//.exec(emitted[0] ?? '') ?? [];
  assert.ok(folder && emitted.every((name) => name.startsWith(folder)), emitted.join());
  for (const name of ['index.json', 'wasm/manifest.json', 'wasm/kernels.wasm', 'webgpu/kernels.json']) assert.ok(emitted.includes(folder + name), name);
  assert.ok(code.includes(`__webpack_public_path__ + "${folder}"`), code);
  assert.match(readFileSync(join(work, 'digits.d.onnx.ts'), 'utf8'), /from '@gossamer\/webpack';[^]*CompiledModel<"image", "probabilities">/);
});

test('a model that cannot be compiled fails with its name', async () => {
  const file = join(work, 'none.onnx');
  writeFileSync(file, 'no model');
  await assert.rejects(load(file, {targets: ['wasm']}), /none\.onnx: /);
});
