// What is in the packages, and what TypeScript makes of their declarations.
import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Every package has what npm shows, and what its exports name; nothing of this machine. */
export function contents(tally, app) {
  const scope = path.join(app, 'node_modules/@gossamer');
  for (const name of readdirSync(scope)) {
    const folder = path.join(scope, name);
    const {exports, main, types, bin = {}, version, license, private: kept} = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    const targets = (entry) => (typeof entry === 'string' ? [entry] : Object.entries(entry).flatMap(([key, each]) => (key === '@gossamer/source' ? [] : targets(each))));
    // A package of a command alone has nothing to import.
    const imported = main === undefined && Object.keys(bin).length > 0 ? [] : [main, types];
    const wanted = ['LICENSE', 'README.md', ...imported, ...Object.values(bin), ...targets(exports)];
    const all = readdirSync(folder, {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    const foreign = all.filter((file) => /(^|\/)(src|tests?)\/[^/]*\.ts$/.test(file) && !file.endsWith('.d.ts'));
    const local = all.filter((file) => !file.endsWith('.wasm') && readFileSync(file, 'utf8').includes(root));
    // The page that runs a package never fetches its imports: it neither profiles nor makes tensors of pictures on a device.
    const broken = all.filter((file) => file.endsWith('.js') && !file.includes('/dist/page/')).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\b(?:import\(|import|from) ?"(\.\.?\/[^"]+)"/g)].map(([, to]) => path.join(path.dirname(file), to))
        .filter((to) => !existsSync(to)).map((to) => `${file} imports ${to}, which is missing`));
    tally.record(`@gossamer/${name} is complete`, [
      ...broken,
      ...wanted.filter((file) => !existsSync(path.join(folder, file))).map((file) => `${file} is missing`),
      ...foreign.map((file) => `${file} is no part of it`),
      ...local.map((file) => `${file} names a folder of this machine`),
      ...(version && license === 'Apache-2.0' && !kept ? [] : ['package.json has no version or licence, or is private']),
    ]);
  }
}

/** Bundles without parts, such as workers of Vite 6 and 7, can have code for onnxruntime-web: it imports nothing that bundlers follow. */
export function oneScript(tally, app) {
  const text = readFileSync(path.join(app, 'node_modules/@gossamer/ort/dist/ort.js'), 'utf8');
  const ignored = ['@vite-ignore', 'webpackIgnore: true', 'turbopackIgnore: true'].filter((word) => !text.includes(word));
  const followed = Array.from(text.matchAll(/\b(?:import|from) ?\(? ?["'][^"']*["']/g), ([found]) => found);
  tally.record('the API of @gossamer/ort is one script', [...followed, ...ignored.map((word) => `its import has no ${word}`)]);
}

const USE = `
import {load, openDevice, tensor, type Model, type Output} from '@gossamer/runtime';
import {load as loadInOnePiece} from '@gossamer/runtime/single';
import {compile, CompileError} from '@gossamer/compiler';
import {nn, Tensor} from '@gossamer/tensor';
import * as ort from '@gossamer/ort';
import {InferenceSession} from '@gossamer/ort/webgpu';
import {InferenceSession as InOnePiece} from '@gossamer/ort/single';
import {APIError, load as loadLanguageModel, type ChatCompletionChunk, type Stream} from '@gossamer/llm';
import {findTargets, join, type JoinOptions} from '@gossamer/rpc';

const files = await compile(new Uint8Array(), {target: 'wasm'});
const model: Model = await load(files, {device: await openDevice('wasm')});
const {y}: Record<string, Output> = await (await loadInOnePiece(files)).run({x: tensor([1, 2])});
export const all: [Float32Array | undefined, Tensor, typeof CompileError, Model] =
  [await y?.data<Float32Array>(), new nn.Linear(1, 2).forward(Tensor.zeros([1, 1])), CompileError, model];
const options: InferenceSession.SessionOptions = {executionProviders: ['webgpu', {name: 'wasm'}], graphOptimizationLevel: 'all'};
const session: ort.InferenceSession = await ort.InferenceSession.create('model.onnx', options);
export const same: typeof InferenceSession = InOnePiece;
const feeds: Record<string, ort.Tensor> = {x: new ort.Tensor('float32', [1, 2], [2])};
const results: ort.InferenceSession.ReturnType = await session.run(feeds, ['y']);
export const values: [Float32Array, ort.Tensor.Type | undefined, Float32Array] =
  [results['y']?.data as Float32Array, results['y']?.type, new ort.Tensor('float32', new Float32Array(2)).data];
const llm = await loadLanguageModel('model/', {target: 'wasm'});
const stream: Stream<ChatCompletionChunk> = await llm.chat.completions.create({messages: [{role: 'user', content: 'hi'}], stream: true});
for await (const {choices} of stream) console.log(choices[0]?.delta.content);
export const said: [string | null | undefined, string | undefined, typeof APIError] =
  [(await llm.chat.completions.create({messages: [{role: 'user', content: 'hi'}]})).choices[0]?.message.content, (await llm.completions.create({prompt: 'a'})).choices[0]?.text, APIError];
const joining: JoinOptions = {url: 'ws://127.0.0.1:1/rpc', token: '', name: 'page', session: '1', ...(await findTargets()), WebSocket};
await join(joining);
// @ts-expect-error -- it is no target
await compile(new Uint8Array(), {target: 'webgp'});
`;

/** As an application with strict settings sees them, its libraries' declarations checked as well. */
export function declarations(tally, app) {
  writeFileSync(path.join(app, 'use.ts'), USE);
  const tsc = path.join(root, 'web/node_modules/typescript/bin/tsc');
  // Without the libraries of pages, as WebGPU's types are not in those of TypeScript 5.
  const {stdout: said} = spawnSync(process.execPath, [tsc, '--noEmit', '--target', 'es2022', '--lib', 'es2023', '--module', 'esnext', '--moduleResolution', 'bundler', 'use.ts'], {cwd: app, encoding: 'utf8'});
  tally.record("declarations need no types of WebGPU's", said.split('\n').filter((line) => /Cannot find name '(GPU|WebGPU)/.test(line)));
  for (const [module, resolution] of [['esnext', 'bundler'], ['nodenext', 'nodenext']]) {
    const words = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2023,dom,dom.iterable,esnext.disposable', '--module', module, '--moduleResolution', resolution, 'use.ts'];
    const {status, stdout} = spawnSync(process.execPath, [tsc, ...words], {cwd: app, encoding: 'utf8'});
    tally.record(`declarations, resolved as ${resolution}`, status === 0 ? [] : stdout.slice(0, 800));
  }
}
