// Files of language models that a suite writes with the gguf package, which this installs.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {once} from '../once.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');

/**
 * What a suite works with. name: of its folders in the build; sources: Python files, of which the first writes all files to the folder that
 * it is given, and is run again when one of them changed.
 */
export function prepare(name, sources) {
  const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
  const tally = new Tally();
  const targets = ['cpu'];
  if (process.env.GOSSAMER_WASMTIME_LIBRARY) targets.push('wasm');
  else tally.skip('wasm', 'GOSSAMER_WASMTIME_LIBRARY names no library; tools/setup/wasmtime.sh installs one');

  execFileSync(path.join(root, 'tools/setup/gguf.sh'), {stdio: ['ignore', 'ignore', 'inherit']});
  const key = [...sources, path.join(root, 'tools/setup/gguf_requirements.txt')].map((file) => createHash('sha256').update(readFileSync(file)).digest('hex')).join();
  const folder = once(path.join(build, `${name}_files`), key, (part) => {
    mkdirSync(part);
    execFileSync(path.join(root, 'third_party/cache/gguf/bin/python'), [sources[0], part], {env: {...process.env, PYTHONDONTWRITEBYTECODE: '1'}, stdio: ['ignore', 'ignore', 'inherit']});
  });
  const work = path.join(build, `${name}.${process.pid}`);
  mkdirSync(work);
  return {root, build, gossamer: path.join(build, 'gossamer'), tally, targets, folder, work};
}
