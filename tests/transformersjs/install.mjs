// Transformers.js as npm installs it, once with onnxruntime-web and once with @gossamer/ort. Both are pinned by the lock file of peers/.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {once} from '../once.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const peers = path.join(import.meta.dirname, 'peers');

/** The folder and the module of it that pages have for onnxruntime-web, which nothing bundles. */
export const OWN_ORT = {folder: path.join(root, 'web/ort/dist'), module: 'ort.js'};
export const peerOrt = (peer) => ({folder: path.join(peer, 'node_modules/onnxruntime-web/dist'), module: 'ort.webgpu.bundle.min.mjs'});

const npm = (folder, words) =>
  // Scripts would fetch ONNX Runtime's native libraries.
  execFileSync('npm', [...words, '--ignore-scripts', '--no-audit', '--no-fund'], {cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000});

function installed(name, write, words) {
  const key = createHash('sha256').update(readFileSync(path.join(peers, 'package-lock.json'))).update(readFileSync(import.meta.filename)).digest('hex');
  return once(path.join(root, 'third_party/cache/transformersjs-npm', name), key, (folder) => {
    mkdirSync(folder, {recursive: true});
    write(folder);
    npm(folder, words);
  });
}

/** The folder of Transformers.js with onnxruntime-web in the place of onnxruntime-node. Throws where the registry cannot be reached. */
export const withPeer = () =>
  installed('peer', (folder) => {
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(path.join(peers, file), path.join(folder, file));
  }, ['ci']);

/** The same with @gossamer/ort, by npm's overrides; the package is a link to web/ort, which must be built. */
export const withOwn = () => {
  if (!existsSync(path.join(root, 'web/ort/dist/ort.js'))) throw new Error('web/ort is not built: make web');
  return installed('own', (folder) => {
    const read = (file) => JSON.parse(readFileSync(path.join(peers, file), 'utf8'));
    const own = `file:${path.relative(folder, path.join(root, 'web/ort'))}`;
    const manifest = read('package.json');
    // As web/ort/README.md shows it: Transformers.js imports onnxruntime-common without depending on it.
    manifest.dependencies['onnxruntime-common'] = own;
    delete manifest.dependencies['onnxruntime-web'];
    manifest.overrides = {'onnxruntime-node': own, 'onnxruntime-web': own};
    // The lock file pins the rest.
    const lock = read('package-lock.json');
    lock.packages[''] = {name: manifest.name, dependencies: manifest.dependencies};
    for (const name of Object.keys(lock.packages)) if (/^node_modules\/onnxruntime-/.test(name)) delete lock.packages[name];
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
  }, ['install']);
};
