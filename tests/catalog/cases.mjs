// The cases of the catalog's entries as models, and their verdicts on a target.
import {spawn} from 'node:child_process';
import {existsSync, mkdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {hash} from '../conformance/conformance.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = path.join(root, process.env.GOSSAMER_BUILD ?? 'build');
const folder = path.join(build, 'catalog');
const jobs = String(os.availableParallelism());

export const targets = ['cpu', 'wasm', 'webgpu', 'webgl', 'opencl', 'opengl'];

// The JSON lines of a program; it may end with 1, which says that something failed.
function lines(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(path.join(build, program), args, {cwd: root, stdio: ['ignore', 'pipe', 'pipe']});
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code !== 0 && code !== 1) reject(new Error(`${program} ended with ${code ?? signal}: ${errors.trim()}`));
      else resolve(output.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)));
    });
  });
}

/** Writes every case with what the interpreter says: {cases: [{name, wide}], problems: [text]}. */
export async function write() {
  rmSync(folder, {recursive: true, force: true});
  mkdirSync(folder, {recursive: true});
  const written = await lines('tests/fuzz/graph_fuzz', [folder, '--catalog', '--jobs', jobs]);
  const problems = written.filter(({problem}) => problem).map(({problem}) => problem);
  const cases = written.filter((line) => line.folder).map((line) => {
    const name = path.relative(folder, line.folder);
    return {name, wide: name.startsWith('wide/')};
  });
  return {cases, problems};
}

/** One case of `every`, rounded up: the same ones every time, others on each target. */
export function share(cases, every, target) {
  const order = (one) => hash(`${target} ${one.name}`);
  return [...cases].sort((a, b) => order(a) - order(b)).slice(0, Math.ceil(cases.length / every));
}

/** The verdicts of some cases on a target, of this machine or of the device at rpc://...: [{name, status, message}]. */
export async function judge(cases, target, device) {
  const names = path.join(folder, `names-${target}`);
  writeFileSync(names, cases.map(({name}) => `${name}/test_data_set_0\n`).join(''));
  const kinds = ['narrow', 'wide'].map((kind) => path.join(folder, kind)).filter((one) => existsSync(one));
  const more = target === 'cpu' ? ['--threads', '2'] : [];
  if (device) more.push('--device', device);
  const verdicts = await lines('gossamer', ['test', ...kinds, '--target', target, '--cases', names, '--json', '--jobs', jobs,
    '--timeout', '300', ...more]);
  return verdicts.filter(({name}) => name !== undefined);
}
