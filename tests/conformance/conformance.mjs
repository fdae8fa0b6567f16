// What run.mjs and suite.mjs share: the suites, the list of what is known not to pass, and running cases.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {jobs} from '../jobs.mjs';
import {testdata as sharedTestdata} from '../shared.mjs';
import * as onnxPackage from './onnx_package.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const testdata = sharedTestdata(root);
export const gossamer = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
export const listFile = path.join(root, 'tests/conformance/known.tsv');

export const targets = ['cpu', 'wasm', 'webgpu', 'webgl', 'opencl', 'opengl'];

// What the first table of docs/conformance.md needs, and what the second one may have: this machine's drivers, without a browser.
export const firstTable = ['cpu', 'wasm', 'webgpu', 'webgl'];
export const secondTable = ['opencl', 'opengl', 'opengl es31', 'webgl native', 'webgpu native', 'wasm native'];

// The folders are in the shared test data, or in `from`. timeout: seconds that a case may take, compiling included.
// tests/cases has other cases for those of the shared test data: the package's, the catalog's, and models of our own.
export const suites = [
  {name: 'onnx_node', folders: ['onnx_node'], timeout: 60},
  {
    name: 'onnx_simple, onnx_pytorch-*',
    folders: ['onnx_simple', 'onnx_pytorch-converted', 'onnx_pytorch-operator'],
    timeout: 60,
  },
  {name: 'ort_web_ops', folders: ['ort_web_ops'], timeout: 60},
  {name: 'models', folders: ['models'], timeout: 300},
  // Twin of the first two, and more; made by the package's own code.
  {name: 'onnx package', folders: [onnxPackage.folder], from: onnxPackage.cache, timeout: 300},
];
export const packageSuite = suites.at(-1);

export function suiteOf(name) {
  const folder = name.slice(0, name.indexOf('/'));
  return suites.find(({folders}) => folders.includes(folder));
}

export function foldersOf(chosen = suites) {
  return chosen.flatMap(({folders, from = testdata}) => folders.map((folder) => path.join(from, folder)));
}

/** Suites whose cases are here, made if need be. If the package cannot be installed, absent(suite, reason) is called. */
export function presentSuites(chosen, absent) {
  return chosen.filter((suite) => {
    try {
      if (suite === packageSuite) onnxPackage.makeCases();
    } catch (problem) {
      absent(suite, `the package cannot be installed: ${problem.message}`);
      return false;
    }
    return suite.folders.every((folder) => existsSync(path.join(suite.from ?? testdata, folder)));
  });
}

/** The shared case that equals one of the package. */
export const twinOf = (name) => name.replace(/^onnx_package\//, 'onnx_');

// Cases that are known not to pass: name → {targets: Set or undefined for all, reason}. A row of the file is
// 'targets TAB case TAB reason', with * for all targets; lines that begin with # are comments.
export function readList(file = listFile) {
  const list = new Map();
  const problems = [];
  if (!existsSync(file)) return {list, problems};
  readFileSync(file, 'utf8').split('\n').forEach((line, index) => {
    if (line === '' || line.startsWith('#')) return;
    const [on, name, reason, ...rest] = line.split('\t');
    const where = `${path.basename(file)}:${index + 1}`;
    const only = on === '*' ? undefined : new Set(on.split(','));
    if (!name || !reason?.trim() || rest.length > 0) problems.push(`${where}: not 'targets TAB case TAB reason'`);
    else if (only && [...only].some((target) => !targets.includes(target))) problems.push(`${where}: unknown target`);
    else if (list.has(name)) problems.push(`${where}: ${name} stands there twice`);
    else list.set(name, {only, reason});
  });
  return {list, problems};
}

// The reason why a case need not pass on a target, if there is one.
export function excused(list, name, target) {
  const row = list.get(name);
  return row && (!row.only || row.only.has(target)) ? row.reason : undefined;
}

// A program's lines of JSON as they come.
function eachLine(program, args, take, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {cwd: root, env: {...process.env, ...env}, stdio: ['ignore', 'pipe', 'pipe']});
    let rest = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      lines.filter((line) => line.startsWith('{')).forEach((line) => take(JSON.parse(line)));
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0 || code === 1) resolve(errors);
      else reject(new Error(`${path.basename(program)} ended with ${code ?? signal}: ${errors.trim()}`));
    });
  });
}

// Every case of the suites: [{name, operators}].
export async function allCases(chosen = suites) {
  const cases = [];
  const errors = await eachLine(gossamer, ['test', ...foldersOf(chosen), '--list', '--json'], (line) =>
    cases.push(line));
  if (cases.length === 0) throw new Error(`no cases: ${errors.trim()}`);
  return cases;
}

// Runs cases by name (all without) on a target; resolves to their verdicts.
export async function runCases({chosen = suites, folders = foldersOf(chosen), target, names, timeout, extra = [], env = {}, take = () => {}}) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-conformance-'));
  const verdicts = [];
  try {
    const args = ['test', ...folders, '--target', target, '--json', '--timeout', String(timeout),
      '--jobs', jobs, ...extra];
    if (names) {
      const file = path.join(work, 'names');
      writeFileSync(file, names.map((name) => `${name}\n`).join(''));
      args.push('--cases', file);
    }
    const errors = await eachLine(gossamer, args, (line) => {
      if (!line.name) return;
      verdicts.push(line);
      take(line);
    }, env);
    if (verdicts.length === 0 || (names && verdicts.length !== names.length))
      throw new Error(`${verdicts.length} verdicts of ${names?.length ?? 'all'} cases: ${errors.trim()}`);
    return verdicts;
  } finally {
    rmSync(work, {recursive: true});
  }
}

// FNV-1a of a name, so that a sample stays the same on every machine.
export function hash(text) {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}

// The family that a case belongs to: its operator; for functions written out, the operator they write out; for
// whole models, the suite.
export function familyOf({name, operators}, byName) {
  const {name: suite} = suiteOf(name);
  if (name.startsWith('onnx_package/light/')) return `${suite} light`;
  if (suite === 'models') return suite;
  if (operators.length === 1) return `${suite} ${operators[0]}`;
  const base = byName.get(name.replace(/_expanded[^/]*/, ''));
  if (base && base.name !== name && base.operators.length === 1) return `${suite} ${base.operators[0]} expanded`;
  return `${suite} of several operators`;
}

// A tenth of each family, rounded up: those with the least hashes.
export function sample(cases) {
  const byName = new Map(cases.map((one) => [one.name, one]));
  const families = new Map();
  for (const one of cases) {
    const family = familyOf(one, byName);
    families.set(family, [...(families.get(family) ?? []), one.name]);
  }
  return [...families.values()].flatMap((names) =>
    names.sort((a, b) => hash(a) - hash(b) || (a < b ? -1 : 1)).slice(0, Math.ceil(names.length / 10)));
}
