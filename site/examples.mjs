// What runs in pages of the site: the digit classifier, and the example pages.
import {execFileSync} from 'node:child_process';
import {copyFileSync, cpSync, mkdirSync} from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

export function copyExamples(to) {
  const live = path.join(to, 'live');
  mkdirSync(live, {recursive: true});
  const dist = path.join(root, 'web/runtime/dist');
  cpSync(dist, path.join(live, 'runtime'), {recursive: true, filter: (file) => !/\/(types|test|page|single)(\/|$)|iife/.test(file.slice(dist.length))});
  const model = path.join(root, 'examples/digits/model.onnx');
  const command = path.join(root, 'web/cli/dist/gossamer.js');
  execFileSync(process.execPath, [command, 'compile', model, '--target', 'webgpu,webgl,wasm', '--emit', 'package', '--output', path.join(live, 'digits')], {stdio: ['ignore', 'ignore', 'inherit']});
  copyFileSync(model, path.join(live, 'digits.onnx'));
  cpSync(path.join(root, 'examples/digits/drawn'), path.join(live, 'drawn'), {recursive: true});
  execFileSync(process.execPath, [path.join(root, 'web/examples/build.mjs'), path.join(to, 'examples')], {cwd: path.join(root, 'web/examples'), stdio: 'inherit'});
}

/** The packages as npm installs them, for those who have Node.js alone. */
export function copyPackages(to) {
  const folder = path.join(to, 'packages');
  mkdirSync(folder, {recursive: true});
  const names = ['cli', 'compiler', 'llm', 'ort', 'rpc', 'runtime', 'tensor', 'vite', 'webpack'];
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, ...names.flatMap((name) => ['-w', name])], {cwd: path.join(root, 'web'), stdio: ['ignore', 'ignore', 'inherit']});
}
