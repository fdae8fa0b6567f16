// Bytes after gzip of what a page fetches, and of the compiler.
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';

const gzip = (file) => gzipSync(readFileSync(file), {level: 9}).length;
const sum = (values) => values.reduce((total, each) => total + each, 0);

/** {what, bytes, limit}: limits of the project in bytes. */
export function measureSizes(root, packages) {
  const dist = join(root, 'web/runtime/dist');
  const scripts = readdirSync(dist).filter((name) => name.endsWith('.js') && !name.includes('iife'));
  const bytesOf = (names) => sum(names.map((name) => gzip(join(dist, name))));
  const isWorker = (name) => name.endsWith('_worker.js');
  const rows = [
    {what: 'run time JavaScript, all backends', bytes: bytesOf(scripts.filter((name) => !isWorker(name))), limit: 37 * 1024},
    {what: 'its worker, for wasm', bytes: bytesOf(scripts.filter(isWorker)), limit: 4 * 1024},
  ];
  for (const {target, folder} of packages) {
    const files = readdirSync(folder).filter((name) => name.endsWith('.json') || name.endsWith('.wasm'));
    const bytes = sum(files.map((name) => gzip(join(folder, name))));
    rows.push({what: `MobileNetV2 without weights, ${target}`, bytes, limit: 60 * 1024});
  }
  const compiler = join(root, 'web/compiler/dist/compiler.wasm');
  if (existsSync(compiler)) rows.push({what: 'compiler.wasm', bytes: gzip(compiler), limit: 1.1 * 1024 * 1024});
  return rows;
}
