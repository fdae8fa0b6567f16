// Runs the tests and sums them up; the last line is 'N passed, N failed', or 'N passed, N failed, N skipped'.
//
//   node tools/check/test.mjs              everything (after make build)
//   node tools/check/test.mjs --changed    what the working tree changes: builds and tests those folders
//   node tools/check/test.mjs --checks     the checks alone
//   node tools/check/test.mjs --suites     tests/*/suite.{sh,mjs} alone
import {spawn} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {checkCircles} from './circles.mjs';
import {checkLengths, checkMachines, checkNames} from './files.mjs';
import {checkLayers, checkPicture} from './layers.mjs';
import {checkOperators} from './operators.mjs';
import {checkOperatorsPage} from './operators_page.mjs';
import {allFiles, changedFiles, layerOf, layers, report, root} from './repository.mjs';
import {checkFormat, checkTidy} from './style.mjs';
import {counted, countedPrograms, failures, summary} from './summary.mjs';
import {checkUnread} from './unread.mjs';
import {checkVersion} from './version.mjs';

const build = process.env.GOSSAMER_BUILD ?? 'build';
const jobs = String(os.availableParallelism());
const rows = []; // {name, passed, failed, skipped, seconds, reason, failures}

// `output` is the program's, for the names of what failed.
function record(name, counts, started, output = '') {
  const {passed = 0, failed = 0, skipped = 0, reason, problem} = counts;
  const named = failures(output);
  if (problem) {
    console.log(`FAIL  ${name} ${problem}`);
    named.push(problem);
  }
  rows.push({name, passed, failed, skipped, reason, seconds: (Date.now() - started) / 1000, failures: named});
}

// Runs a program with its output shown, unless quiet; resolves to {code, output}.
function run(program, args, {cwd = root, quiet = false} = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {cwd, stdio: ['ignore', 'pipe', 'pipe']});
    let output = '';
    for (const [stream, sink] of [[child.stdout, process.stdout], [child.stderr, process.stderr]]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
        if (!quiet) sink.write(chunk);
      });
    }
    child.on('error', (error) => resolve({code: 1, output: `${program}: ${error.message}`}));
    child.on('close', (code) => resolve({code: code ?? 1, output}));
  });
}

function heading(text) {
  console.log(`\n== ${text}`);
}

async function native(pattern) {
  heading('C++ tests');
  const started = Date.now();
  const results = path.join(root, build, 'test-results');
  rmSync(results, {recursive: true, force: true});
  mkdirSync(results, {recursive: true});
  const junit = path.join(results, 'ctest-summary.junit');
  const select = pattern ? ['-R', pattern] : [];
  const {code, output} = await run('ctest', [
    '--test-dir', build, '--output-on-failure', '-j', jobs, '--timeout', '900',
    '--test-output-size-passed', String(1 << 20), '--output-junit', junit, ...select,
  ]);
  const summaryFile = existsSync(junit) ? readFileSync(junit, 'utf8') : '';
  const programs = countedPrograms(summaryFile, (name) => {
    const file = path.join(results, `${name}.xml`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  });
  for (const {name, skipped, problem} of programs) {
    if (skipped > 0) console.log(`${name}: ${skipped} skipped`);
    if (problem) console.log(`FAIL  ${name} ${problem}`);
  }
  const sum = (word) => programs.reduce((total, program) => total + program[word], 0);
  const counts = {passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped')};
  if (programs.length === 0) Object.assign(counts, {failed: 1, problem: 'ended without a result'});
  else if (code !== 0 && counts.failed === 0) Object.assign(counts, {failed: 1, problem: `ended with exit code ${code}`});
  record('C++ tests', counts, started, output);
}

async function web(workspaces) {
  if (!existsSync(path.join(root, 'web/package.json'))) return;
  for (const workspace of workspaces ?? ['']) {
    const name = workspace ? `web/${workspace} tests` : 'web tests';
    heading(name);
    const started = Date.now();
    const where = workspace ? ['-w', workspace] : [];
    // Firefox has WebGL only with a display, if a virtual one.
    const display = process.env.DISPLAY || !existsSync('/usr/bin/xvfb-run') ? [] : ['xvfb-run', '-a'];
    const [program, ...rest] = [...display, 'npm', 'test', '--silent', '--if-present', ...where];
    const result = await run(program, rest, {cwd: path.join(root, 'web')});
    record(name, counted(result), started, result.output);
  }
}

async function suites() {
  const folder = path.join(root, 'tests');
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder).sort()) {
    for (const [file, program] of [['suite.sh', 'bash'], ['suite.mjs', process.execPath]]) {
      const script = path.join('tests', name, file);
      if (!existsSync(path.join(root, script))) continue;
      heading(script);
      const started = Date.now();
      const result = await run(program, [script]);
      record(script, counted(result), started, result.output);
    }
  }
}

async function checks({onlyChanged}) {
  heading('checks');
  const started = Date.now();
  const counts = {passed: 0, failed: 0, skipped: 0};
  const count = (good) => counts[good === undefined ? 'skipped' : good ? 'passed' : 'failed']++;
  const files = onlyChanged ? changedFiles() : allFiles();
  count(report('include order', checkLayers()));
  count(report('layer picture', checkPicture()));
  count(report('no include circles', checkCircles()));
  count(report('operator names', checkOperators()));
  count(report('operators page', checkOperatorsPage()));
  count(report('file length', checkLengths()));
  count(report('file names', checkNames()));
  count(report('machine paths', checkMachines()));
  count(report('version and licence', checkVersion()));
  count(report('nothing unread', checkUnread()));
  count(report('clang-format', checkFormat(files)));
  count(report('clang-tidy (changed files)', checkTidy()));
  if (!onlyChanged || files.some((file) => file.startsWith('web/'))) {
    const cwd = path.join(root, 'web');
    for (const script of ['typecheck', 'lint']) {
      const {code} = await run('npm', ['run', '--silent', script], {cwd});
      count(report(`web ${script}`, code === 0 ? [] : [`npm run ${script} in web/ failed`]));
    }
  }
  const here = ['tools/check', 'tools/demo', 'bench/tests'].flatMap((folder) =>
    readdirSync(path.join(root, folder))
      .filter((file) => file.endsWith('_test.mjs'))
      .map((file) => `${folder}/${file}`),
  );
  const own = counted(await run(process.execPath, ['--test', ...here], {quiet: true}));
  report('tests of the tools', own.failed === 0 ? [] : [`node --test ${here.join(' ')}`]);
  for (const word of Object.keys(counts)) counts[word] += own[word];
  record('checks', {...counts, problem: own.problem}, started);
}

// The C++ test programs and npm workspaces of the changed files.
async function changed() {
  const table = layers();
  const programs = new Set();
  const workspaces = new Set();
  for (const file of changedFiles()) {
    const layer = layerOf(file, table);
    const name = layer?.replace(/^src\//, '').replace(/[^A-Za-z0-9]/g, '_');
    if (layer && !layer.startsWith('web/')) {
      programs.add(layer === 'tools/gossamer' ? 'gossamer_command_test' : `gossamer_${name}_test`);
    }
    const test = /^tests\/([^/]+)\/.*\.cc$/.exec(file);
    if (test) programs.add(`tests_${test[1]}`);
    const workspace = /^web\/(?!compiler\/native)([^/]+)\/.*\.(ts|mjs|js|json|html)$/.exec(file);
    if (workspace && existsSync(path.join(root, 'web', workspace[1], 'package.json'))) workspaces.add(workspace[1]);
  }
  if (programs.size > 0) {
    heading(`building ${[...programs].join(' ')}`);
    const started = Date.now();
    await run('cmake', ['-G', 'Ninja', '-B', build, '.'], {quiet: true});
    // A folder without tests has no program; the rest of it must still compile.
    const {output} = await run('ninja', ['-C', build, '-t', 'targets', 'all'], {quiet: true});
    const known = [...programs].filter((program) => new RegExp(`^${program}:`, 'm').test(output));
    const {code} = await run('ninja', ['-C', build, '-j', jobs, ...known]);
    if (code !== 0) record('build', {failed: 1}, started);
    else if (known.length > 0) await native(`^(${known.join('|')})$`);
  }
  if (workspaces.size > 0) await web([...workspaces]);
}

const option = process.argv[2];
if (option === '--changed') {
  await changed();
  await checks({onlyChanged: true});
} else if (option === '--checks') {
  await checks({onlyChanged: false});
} else if (option === '--suites') {
  await suites();
} else {
  await native();
  await web();
  await suites();
  await checks({onlyChanged: false});
}

heading('summary');
for (const line of summary(rows)) console.log(line);
process.exitCode = rows.some(({failed}) => failed > 0) ? 1 : 0;
