// The packages as npm installs them: packed by `npm pack`, installed into an application's folder.
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Those that are published. */
export const WORKSPACES = ['runtime', 'compiler', 'tensor', 'ort', 'llm', 'rpc', 'vite', 'webpack', 'cli'];

/** Runs npm in a folder; what it prints is told when it fails. */
export function npm(folder, words) {
  execFileSync('npm', words, {cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000});
}

/** Packs the workspaces of these names; gives the files. */
export function pack(workspaces, folder) {
  mkdirSync(folder, {recursive: true});
  npm(path.join(root, 'web'), ['pack', '--silent', '--pack-destination', folder, ...workspaces.flatMap((name) => ['-w', name])]);
  return readdirSync(folder).filter((name) => name.endsWith('.tgz')).map((name) => path.join(folder, name));
}

/** Packs what a package of ours needs, as it lies in web/node_modules; gives the file. */
export function packNeeded(name, folder) {
  mkdirSync(folder, {recursive: true});
  npm(path.join(root, 'web/node_modules', name), ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]);
  return path.join(folder, readdirSync(folder).find((file) => file.startsWith(`${name}-`)));
}

/** Adds packed files to the node_modules of an application's folder; they need nothing but each other. */
export function install(files, folder) {
  mkdirSync(folder, {recursive: true});
  const manifest = path.join(folder, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, '{"name": "app", "private": true, "type": "module"}\n');
  npm(folder, ['install', '--offline', '--no-package-lock', '--no-audit', '--no-fund', ...files]);
}
