// Operators that a program adds to the catalog, an entry in one file each, on every target: extend_cases compiles
// models of them and runs the ones for cpu, a browser runs the others, and all must give what the interpreter gives.
//
//   node tests/extend/suite.mjs [TARGET...]
import {spawn} from 'node:child_process';
import {readFileSync, rmSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const folder = path.join(build, 'extend-cases');
const targets = process.argv.length > 2 ? process.argv.slice(2) : ['cpu', 'wasm', 'webgpu', 'webgl'];

const tally = new Tally();

/** Runs a program on lines of JSON; its answers, also lines of JSON, and why it failed if it did. */
function exchange(program, args, lines = []) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {cwd: root, timeout: 600_000});
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    child.stdin.on('error', () => {}); // it ended early: the exit code says so
    child.stdin.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    child.on('error', (error) => resolve({answers: [], problem: error.message}));
    child.on('close', (code, signal) => {
      const answers = output.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      resolve({answers, problem: code === 0 ? '' : `ended with ${code ?? signal}: ${errors.trim()}`});
    });
  });
}

function floats({name, dtype, file}) {
  if (dtype !== 'f32') throw new Error(`${name} is ${dtype}, not f32`);
  const bytes = readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** The project's tolerance for f32, 1e-5 + 1e-4 max|y|; empty where the output is as expected. */
function difference(output, expected) {
  if (!output) return `output ${expected.name} is missing`;
  if (String(output.shape) !== String(expected.shape)) return `shape [${output.shape}], not [${expected.shape}]`;
  const x = floats(output);
  const y = floats(expected);
  if (x.length !== y.length) return `${x.length} elements, not ${y.length}`;
  // An operator that gives nothing but zeros would agree with whatever forgot to write.
  if (!y.some((value) => value !== 0)) return 'the expected output has only zeros';
  const allowed = 1e-5 + 1e-4 * y.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const at = x.findIndex((value, i) => !(Math.abs(value - y[i]) <= allowed));
  return at < 0 ? '' : `element ${at} is ${x[at]}, not ${y[at]}`;
}

function judge(given, answer) {
  const name = `${given.target}: ${given.name}`;
  const error = given.error ?? answer?.error ?? (answer?.outputs ? undefined : 'no answer');
  if (error) return tally.record(name, error);
  const found = (expected) => answer.outputs.find((output) => output.name === expected.name);
  const problems = given.expected.map((expected) => difference(found(expected), expected));
  tally.record(name, problems.find((problem) => problem !== ''));
}

rmSync(folder, {recursive: true, force: true});
const cases = await exchange(path.join(build, 'tests/extend/extend_cases'), [folder, ...targets]);
if (cases.problem) tally.record('extend_cases', cases.problem);
const compiled = cases.answers.filter((given) => !given.error);
const inBrowser = compiled
  .filter(({target}) => target !== 'cpu')
  .map((given, id) => ({...given, id, options: {device: given.target}}));
const browser = inBrowser.length > 0
  ? await exchange(process.execPath, ['web/tests/run_cases.mjs', '--out', path.join(folder, 'outputs')], inBrowser)
  : {answers: [], problem: ''};
if (browser.problem) tally.record('browser', browser.problem);
const answers = new Map(browser.answers.map((answer) => [answer.id, answer]));

for (const given of cases.answers.filter(({error, target}) => error || target === 'cpu')) judge(given, given);
for (const given of inBrowser) judge(given, answers.get(given.id));
if (cases.answers.length === 0) tally.record('cases', 'there are none');
tally.end();
