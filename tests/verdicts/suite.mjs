// Kept verdicts (GOSSAMER_VERDICTS): what has not changed is not run again, everything else is.
//
//   node tests/verdicts/suite.mjs
import {spawn} from 'node:child_process';
import {chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {identityOf} from '../../tools/check/verdicts.mjs';
import {block, message, model, node, stored, value} from '../cli/models.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
const gossamer = path.join(build, 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-verdicts-'));
process.on('exit', () => rmSync(work, {recursive: true, force: true}));
const cases = path.join(work, 'cases');
const store = path.join(work, 'verdicts');
const starts = path.join(work, 'starts');
const tally = new Tally();

const floats = (...data) => ({type: 'f32', shape: [data.length], data: Float32Array.from(data)});
const NAMES = ['Abs', 'Exp', 'Neg', 'Sin', 'Sqrt'];
const inputs = [0.25, 1, 2, 4];
const right = {Abs: inputs, Exp: inputs.map(Math.exp), Neg: inputs.map((x) => -x), Sin: inputs.map(Math.sin), Sqrt: inputs.map(Math.sqrt)};

/** Writes a case; `producer` changes the model's file and nothing of its package. */
function write(name, {given = inputs, expected = right[name], operator = name, producer = ''} = {}) {
  const folder = path.join(cases, name);
  const data = path.join(folder, 'test_data_set_0');
  mkdirSync(data, {recursive: true});
  const bytes = model({nodes: [node(operator, ['x'], ['y'])], inputs: [value('x', 'f32', [4])], outputs: [value('y', 'f32', [4])]});
  writeFileSync(path.join(folder, 'model.onnx'), message(bytes, producer ? block(2, producer) : []));
  writeFileSync(path.join(data, 'input_0.pb'), stored(floats(...given), 'x'));
  writeFileSync(path.join(data, 'output_0.pb'), stored(floats(...expected), 'y'));
}

/** Runs the cases: {lines, counts, errors, code}. `keep` false: without the variable. */
function test({target = 'cpu', args = [], env = {}, keep = true, text = false} = {}) {
  const words = ['test', cases, '--target', target, ...(text ? [] : ['--json']), ...args];
  const {GOSSAMER_VERDICTS: _, ...rest} = process.env;
  const child = spawn(gossamer, words, {cwd: root, env: {...rest, ...(keep ? {GOSSAMER_VERDICTS: store} : {}), ...env}});
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => (output += piece));
  child.stderr.setEncoding('utf8').on('data', (piece) => (errors += piece));
  return new Promise((resolve) => child.on('close', (code) => {
    const all = text ? [] : output.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const lines = all.filter(({name}) => name);
    const run = lines.filter(({kept}) => !kept).map(({name}) => name.split('/')[1]);
    resolve({code, output, errors, lines, run, failed: lines.filter(({status}) => status !== 'pass').length, counts: all.at(-1)});
  }));
}

let identity;
/** Writes identity.json: the true one, changed by `change`. */
function describe(change = () => {}) {
  const copy = structuredClone(identity);
  change(copy);
  mkdirSync(store, {recursive: true});
  writeFileSync(path.join(store, 'identity.json'), JSON.stringify(copy));
}
const forget = () => {
  rmSync(store, {recursive: true, force: true});
  describe();
};

const linesOf = (place) => readFileSync(path.join(store, `${place}.new`), 'utf8').split('\n').filter(Boolean);
const same = (got, wanted) => (JSON.stringify(got) === JSON.stringify(wanted) ? [] : [`${JSON.stringify(got)} in place of ${JSON.stringify(wanted)}`]);

/** Records which cases a run did not find kept, and that as many failed as should. */
function expectRun(name, {run, failed, counts, errors}, names, {failing = 0} = {}) {
  const problems = [...same(run, names), ...same(failed, failing), ...same(counts, {passed: NAMES.length - failing, failed: failing})];
  tally.record(name, problems.map((problem) => `${problem} ${errors}`.trim()));
}

async function basics() {
  forget();
  const without = await test({keep: false});
  expectRun('without the variable everything runs', without, NAMES);
  expectRun('and again', await test({keep: false}), NAMES);
  const first = await test();
  expectRun('the first run', first, NAMES);
  const second = await test();
  expectRun('the second run', second, []);
  tally.record('verdicts are those of the first run', same(second.lines.map(({kept: _, ...line}) => line), first.lines));
  const {output} = await test({text: true});
  tally.record('as text', [...same((output.match(/^pass .*\(kept\)$/gm) ?? []).length, NAMES.length), ...same(output.trim().split('\n').at(-1), '5 passed, 0 failed')]);
  expectRun('without the variable nothing is kept', await test({keep: false}), NAMES);
  expectRun('interp, the first run', await test({target: 'interp'}), NAMES);
  expectRun('interp, the second run', await test({target: 'interp'}), []);
  forget();
  expectRun('a fresh folder has none', await test(), NAMES);
}

async function changes() {
  forget();
  await test();
  write('Sin', {given: [1, 2, 3, 0.5], expected: [1, 2, 3, 0.5].map(Math.sin)});
  expectRun('another input', await test(), ['Sin']);
  expectRun('another input, kept', await test(), []);
  write('Abs', {given: inputs.map((x) => -x)});
  expectRun('another input with the same output', await test(), ['Abs']);
  write('Abs');
  write('Sin', {given: [1, 2, 3, 0.5], expected: [1, 2, 3, 0.5].map((x) => Math.sin(x) + 1e-6)});
  expectRun('another expected output', await test(), ['Sin']);
  write('Sin', {operator: 'Cos', expected: inputs.map(Math.cos)});
  expectRun('another model', await test(), ['Sin']);
  write('Sin');
  expectRun('the first model again', await test(), []);
  write('Sin', {producer: 'somebody'});
  expectRun('another file of which the same package is made', await test(), []);
  write('Sin');
  write('Exp', {expected: right.Neg});
  expectRun('what fails', await test(), ['Exp'], {failing: 1});
  expectRun('what fails is never kept', await test(), ['Exp'], {failing: 1});
  write('Exp');
  expectRun('what passes again', await test(), []);
  expectRun('fewer threads', await test({args: ['--threads', '1']}), NAMES);
  expectRun('another processor to compile for', await test({args: ['--cpu', 'x86-64-v2']}), NAMES);
  expectRun('a variable that drivers read', await test({env: {MESA_DEBUG: '1'}}), NAMES);
  expectRun('variables that suites read', await test({env: {GOSSAMER_JOBS: '7', GOSSAMER_SHARED: 'none', GOSSAMER_SMOKE: '1'}}), []);
  expectRun('as before', await test(), []);
}

async function identities() {
  forget();
  await test();
  describe((one) => (one.judge = 'other'));
  expectRun('another judge', await test(), NAMES);
  describe((one) => (one.native.devices.cpu = 'other'));
  expectRun('another run time', await test(), NAMES);
  describe((one) => (one.compiler = 'other'));
  const before = linesOf('cpu').length;
  expectRun('another compiler that makes the same packages', await test(), []);
  tally.record('another compiler has keys of its own', same(linesOf('cpu').length - before, NAMES.length));
  describe((one) => Object.assign(one, {compiler: 'third', machine_code: 'other'}));
  expectRun('other machine code of the same input of LLVM', await test(), NAMES);
  describe((one) => Object.assign(one, {compiler: 'fourth', machine_code: ''}));
  expectRun('by machine code where nothing describes what makes it', await test(), NAMES);
  describe((one) => Object.assign(one, {compiler: 'fifth', machine_code: ''}));
  expectRun('another compiler that makes the same machine code', await test(), []);
  describe((one) => (one.compiler = 'other'));
  const compiled = 'another compiler that makes another package of one model';
  write('Sin', {operator: 'Cos', expected: inputs.map(Math.cos)});
  expectRun(compiled, await test(), ['Sin']);
  write('Sin');
  const stale = async (name, change, env = {}) => {
    describe(change);
    const ran = await test({env});
    expectRun(name, ran, NAMES);
    tally.record(`${name} is reported`, ran.errors.includes('no verdicts are kept') ? [] : ran.errors || 'nothing');
  };
  await stale('a program that was built later', (one) => (one.files[one.program] = '1 1'));
  await stale('another program', (one) => (one.program = '/usr/bin/true'));
  await stale('a run time that was built later', (one) => (one.native.files[Object.keys(one.native.files)[0]] = '1 1'));
  await stale('a device that is not described', (one) => delete one.native.devices.cpu);
  await stale('an identity without a judge', (one) => delete one.judge);
  await stale('other libraries', () => {}, {LD_LIBRARY_PATH: '/nowhere'});
  writeFileSync(path.join(store, 'identity.json'), '{');
  expectRun('an identity that is not JSON', await test(), NAMES);
  rmSync(path.join(store, 'identity.json'));
  expectRun('no identity', await test(), NAMES);
}

// Whatever happens to the file, no case is passed that does not pass, and the next run keeps everything again.
async function damage() {
  const file = path.join(store, 'cpu.new');
  const lines = () => linesOf('cpu');
  const lineOf = (name) => lines().map((line, at) => ({line, at})).filter(({line}) => line.includes(`/${name}/`)).map(({at}) => at);
  const check = async (name, change, run) => {
    forget();
    await test();
    writeFileSync(file, change(lines()));
    expectRun(name, await test(), run);
    expectRun(`${name}, kept anew`, await test(), []);
  };
  const all = (list) => list.map((line) => `${line}\n`).join('');
  forget();
  await test();
  tally.record('a line for each key', same(lines().length, 2 * NAMES.length));
  const exp = lineOf('Exp');
  await check('the last line cut off', (list) => all(list).slice(0, -20), []); // the key of its files is there
  await check('the last two lines cut off', (list) => all(list.slice(0, -2)) + list.at(-2).slice(0, 60), ['Sqrt']);
  await check('the last two cut off in the key', (list) => all(list.slice(0, -2)) + list.at(-2).slice(0, 10), ['Sqrt']);
  await check('another key before a verdict', (list) => all(list.map((line, at) => (exp.includes(at) ? (line[0] === 'f' ? 'e' : 'f') + line.slice(1) : line))), ['Exp']);
  await check('a digit of a verdict changed', (list) => all(list.map((line, at) => (exp.includes(at) ? line.replace(/"ms":\d/, '"ms":77') : line))), ['Exp']);
  await check('noise', () => Buffer.from(Array.from({length: 5000}, (_, at) => (at * at * 7 + at) % 256)), NAMES);
  await check('noise before what is kept', (list) => Buffer.concat([Buffer.from([0, 255, 10, 10, 13]), Buffer.from(all(list))]), []);
  await check('an empty file', () => '', NAMES);
  // A verdict of another case in place of one that fails: its sum is right, its key is not.
  forget();
  write('Exp', {expected: right.Neg});
  await test();
  const [known] = lines();
  writeFileSync(file, `${all(lines())}${'0'.repeat(32)}${known.slice(32)}\n`);
  expectRun('what failed stays so', await test(), ['Exp'], {failing: 1});
  write('Exp');
  // Two at a time write whole lines.
  forget();
  const both = await Promise.all([test({args: ['--jobs', '2']}), test({args: ['--jobs', '2']})]);
  for (const one of both) tally.record('two at once', same(one.counts, {passed: NAMES.length, failed: 0}));
  expectRun('after two at once', await test(), []);
  tally.record('their lines are whole', lines().filter((line) => !/^[0-9a-f]{32} [0-9a-f]{32} [0-9a-f]{16} \{.*\}$/.test(line)));
}

// Node.js under another name writes down when it is started: the program that drives the browser.
async function browser() {
  if (!identity.web.devices.chromium) {
    tally.skip('cases in a browser', 'Chromium or web/node_modules is absent');
    return;
  }
  const folder = path.join(work, 'bin');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'node'), `#!/bin/sh\necho "$@" >> ${starts}\nexec ${process.execPath} "$@"\n`);
  chmodSync(path.join(folder, 'node'), 0o755);
  const PATH = `${folder}:${process.env.PATH}`;
  const env = {PATH};
  const here = (one) => (one.environment.PATH = PATH);
  const started = () => {
    const count = existsSync(starts) ? readFileSync(starts, 'utf8').split('\n').filter(Boolean).length : 0;
    rmSync(starts, {force: true});
    return count;
  };
  const wasm = async (name, names, {args = [], browsers = names.length > 0 ? 1 : 0, change = here, failing} = {}) => {
    describe(change);
    expectRun(`wasm: ${name}`, await test({target: 'wasm', args, env}), names, {failing});
    tally.record(`wasm: ${name}, browsers that are started`, same(started(), browsers));
  };
  forget();
  await wasm('the first run', NAMES);
  await wasm('the second run', []);
  write('Sin', {given: [1, 2, 3, 0.5], expected: [1, 2, 3, 0.5].map(Math.sin)});
  await wasm('another input', ['Sin']);
  write('Sin', {producer: 'somebody'});
  await wasm('the first package from another file', []);
  write('Sin', {expected: right.Neg});
  await wasm('what fails', ['Sin'], {failing: 1});
  await wasm('what fails is never kept', ['Sin'], {failing: 1});
  write('Sin');
  await wasm('another run time', NAMES, {change: (one) => (here(one), (one.web.devices.chromium = 'other'))});
  await wasm('another judge', NAMES, {change: (one) => (here(one), (one.judge = 'other'))});
  await wasm('another compiler', [], {change: (one) => (here(one), (one.compiler = 'other'))});
  await wasm('a source that was changed later', NAMES, {change: (one) => (here(one), (one.web.files[Object.keys(one.web.files)[0]] = '1 1'))});
  await wasm('flags of the browser', NAMES, {args: ['--browser-args=--disable-gpu']});
  await wasm('limits', NAMES, {args: ['--limits', 'mobile']});
  await wasm('a browser that is not described', NAMES, {args: ['--browser-path', '/usr/bin/chromium']});
  await wasm('again', NAMES, {args: ['--browser-path', '/usr/bin/chromium']});
  // The first case runs again with a package for its feeds, after all others; the last one fails.
  const first = path.join(cases, 'Able/test_data_set_0');
  mkdirSync(first, {recursive: true});
  const row = {type: 'f32', shape: [1, 4], data: Float32Array.from(inputs)};
  writeFileSync(path.join(cases, 'Able/model.onnx'), model({nodes: [node('Squeeze', ['x'], ['y'])], inputs: [value('x', 'f32', ['n', 4])], outputs: [value('y', 'f32', ['m'])]}));
  writeFileSync(path.join(first, 'input_0.pb'), stored(row, 'x'));
  writeFileSync(path.join(first, 'output_0.pb'), stored(floats(...inputs), 'y'));
  write('Sqrt', {expected: right.Neg});
  forget();
  describe(here);
  for (const run of [['Able', ...NAMES], ['Sqrt']]) {
    const {lines, run: found} = await test({target: 'wasm', env});
    const failed = lines.filter(({status}) => status !== 'pass').map(({name}) => name.split('/')[1]);
    tally.record(`wasm: a case that is compiled again, ${found.length} run`, [...same(found, run), ...same(failed, ['Sqrt'])]);
  }
  rmSync(path.join(cases, 'Able'), {recursive: true});
  write('Sqrt');
}

try {
  NAMES.forEach((name) => write(name));
  identity = await identityOf(build);
  if (!identity?.native.devices.cpu) throw new Error(`${build} cannot be described; build everything`);
  await basics();
  await changes();
  await identities();
  await damage();
  await browser();
  if (readdirSync(store).some((name) => !/^(identity\.json|[a-z_]+(-chromium)?\.(new|old)|lock)$/.test(name))) tally.record('files', readdirSync(store).join(', '));
} catch (problem) {
  tally.record('the suite', problem.stack);
}
tally.end();
