// The operator cases of the public onnx package, made once into third_party/cache by its own code.
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {once} from '../once.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const setup = path.join(root, 'tools/setup');
export const cache = path.join(root, 'third_party/cache');
export const folder = 'onnx_package';

const requirements = readFileSync(path.join(setup, 'onnx_requirements.txt'), 'utf8');
/** The package's version. */
export const version = /^onnx==(\S+)$/m.exec(requirements)[1];

/**
 * The folder of the cases, made where it is not there yet (some seconds, and a download of the package). Throws where it
 * cannot be.
 */
export function makeCases() {
  const script = path.join(here, 'onnx_package.py');
  const key = createHash('sha256').update(requirements).update(readFileSync(script)).digest('hex');
  const run = (program, args) => execFileSync(program, args, {cwd: root, stdio: ['ignore', 2, 'pipe'], encoding: 'utf8'});
  try {
    return once(path.join(cache, folder), key, (part) => {
      run('sh', [path.join(setup, 'onnx.sh')]);
      console.log(`making the cases of the onnx package ${version}`);
      run(path.join(cache, 'onnx/bin/python'), [script, part]);
    });
  } catch (problem) {
    const lines = `${problem.stderr ?? ''}${problem.message}`.trim().split('\n');
    throw new Error(lines.at(-1), {cause: problem});
  }
}

/** How many cases there are of each kind: 'node 1884, ...'. */
export function kinds() {
  return readdirSync(path.join(cache, folder), {withFileTypes: true})
    .filter((entry) => entry.isDirectory())
    .map(({name}) => `${name} ${readdirSync(path.join(cache, folder, name)).length}`)
    .join(', ');
}
