// Runs the tests and sums them up; the last line is 'N passed, N failed', or 'N passed, N failed, N skipped'.
//
//   node tools/check/test.mjs [OPTIONS]      everything (after make build)
//
//   --changed           builds and tests the folders that the working tree changes, and runs the checks
//   --checks            the checks alone
//   --suites            tests/*/suite.{sh,mjs} alone
//   --only WORD         the jobs whose name contains it
//   --all               also runs what passed before and is unchanged: jobs (kept_jobs.mjs), cases of `gossamer test` (verdicts.mjs)
//   --without-shared    also what reads shared models once more as in a clone that has none, a smoke share of each
//   --list              prints the jobs and the seconds that they took last, and runs nothing
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {makeCases} from '../../tests/conformance/onnx_package.mjs';
import {checks, programOf, programs, suites, withoutShared, workspaces} from './jobs.mjs';
import {jobKeys, keptJobs} from './kept_jobs.mjs';
import {givesEvidence} from './package_jobs.mjs';
import {longestFirst, run, runAll} from './pool.mjs';
import {changedFiles, layers, root} from './repository.mjs';
import {failures, summary} from './summary.mjs';
import {keptVerdicts} from './verdicts.mjs';

const {values: options} = parseArgs({options: {
  changed: {type: 'boolean', default: false},
  checks: {type: 'boolean', default: false},
  suites: {type: 'boolean', default: false},
  only: {type: 'string'},
  all: {type: 'boolean', default: false},
  'without-shared': {type: 'boolean', default: false},
  list: {type: 'boolean', default: false},
}});
const build = process.env.GOSSAMER_BUILD ?? 'build';
// Two more than cores: suites of browsers, servers and package managers wait for a third of their time.
const slots = os.availableParallelism() + 2;
const timesFile = path.join(root, build, 'test-results/times.json');
const rows = []; // {name, passed, failed, skipped, seconds, reason, failures}

// Firefox has WebGL only with a display, if a virtual one.
if (!process.env.DISPLAY && existsSync('/usr/bin/xvfb-run')) {
  const {status} = spawnSync('xvfb-run', ['-a', process.execPath, ...process.argv.slice(1)], {stdio: 'inherit'});
  process.exit(status ?? 1);
}

function heading(text) {
  console.log(`\n== ${text}`);
}

/** Builds the C++ test programs of changed files; their jobs, and those of changed npm workspaces. */
function changed() {
  const table = layers();
  const files = changedFiles();
  const wanted = new Set(files.map((file) => programOf(file, table)).filter(Boolean));
  const folders = new Set(files.map((file) => /^web\/(?!compiler\/native)([^/]+)\/.*\.(ts|mjs|js|json|html)$/.exec(file)?.[1])
    .filter((folder) => folder && existsSync(path.join(root, 'web', folder, 'package.json'))));
  const jobs = [];
  if (wanted.size > 0) {
    heading(`building ${[...wanted].join(' ')}`);
    spawnSync('cmake', ['-G', 'Ninja', '-B', build, '.'], {cwd: root});
    // A folder without tests has no program; the rest of it must still compile.
    const {stdout} = spawnSync('ninja', ['-C', build, '-t', 'targets', 'all'], {cwd: root, encoding: 'utf8', maxBuffer: 1 << 26});
    const known = [...wanted].filter((program) => new RegExp(`^${program}:`, 'm').test(stdout));
    const {status} = spawnSync('ninja', ['-C', build, '-j', String(os.availableParallelism()), ...known], {cwd: root, stdio: 'inherit'});
    if (status !== 0) rows.push({name: 'build', passed: 0, failed: 1, skipped: 0, seconds: 0, failures: ['the build failed']});
    else if (known.length > 0) jobs.push(...programs(build, new RegExp(`^(${known.join('|')})(\\.\\d+)?$`)));
  }
  return [...jobs, ...workspaces([...folders]), ...checks({onlyChanged: true})];
}

function chosenJobs() {
  if (options.changed) return changed();
  if (options.checks) return checks();
  if (options.suites) return suites();
  const jobs = [...programs(build), ...suites(), ...workspaces(), ...checks()];
  if (!options['without-shared']) return jobs;
  return [...jobs, ...withoutShared([...programs(build), ...suites({smoke: true}), ...workspaces()])];
}

// A clone that has run nothing knows the long ones, so that none of them is left for the end.
const usual = JSON.parse(readFileSync(path.join(import.meta.dirname, 'usual_times.json'), 'utf8'));
const times = existsSync(timesFile) ? JSON.parse(readFileSync(timesFile, 'utf8')) : {};
const jobs = longestFirst(chosenJobs(), {...usual, ...times}).filter(({name}) => name.includes(options.only ?? ''));
if (options.list) {
  for (const {name, alone} of jobs) console.log(`${times[name]?.toFixed(1) ?? '-'}\t${name}${alone ? ' (alone)' : ''}`);
  process.exit(0);
}

if (jobs.some(({name}) => name.startsWith('gossamer_onnx_test'))) {
  try {
    makeCases();
  } catch (problem) {
    console.log(`the onnx package cannot be installed, so its tests are skipped: ${problem.message}`);
  }
}
mkdirSync(path.dirname(timesFile), {recursive: true});
const kept = await keptVerdicts({all: options.all});
const results = path.dirname(timesFile);
const unchanged = keptJobs(path.join(results, 'kept.json'), jobKeys(path.resolve(root, build)), jobs, options);
const addKept = (job, counts) => rows.push({name: job.name, ...counts, kept: true});
const [waiting, held] = [[], []];
for (const job of jobs) {
  const counts = unchanged.take(job);
  if (counts) addKept(job, counts);
  else (unchanged.mayWait(job) ? held : waiting).push(job);
}
// Whether the others need to run is known when these have ended.
const evidence = new Set(waiting.filter(givesEvidence));
let release;
const released = new Promise((resolve) => (release = resolve));
function decide() {
  if (evidence.size > 0) return;
  release(held.filter((job) => {
    const counts = unchanged.takeByPackages(job);
    if (counts) addKept(job, counts);
    return !counts;
  }));
}
decide();
const logOf = (job) => path.join(results, `packages-${jobs.indexOf(job)}.txt`);
const first = held.length > 0 ? [...evidence, ...waiting.filter((job) => !evidence.has(job))] : waiting;
await runAll(first, {
  slots,
  later: released,
  // A job has one slot, so what it starts at a time is one.
  start: (job) => run({...job, env: {...kept, GOSSAMER_JOBS: '1', ...(givesEvidence(job) && {GOSSAMER_VERDICTS_SEEN: logOf(job)}), ...job.env}}),
  done: (job, result, seconds) => {
    heading(`${job.name}: ${seconds.toFixed(1)} s`);
    process.stdout.write(result.output);
    const counts = result.timedOut ? {failed: 1, problem: 'did not end in time'} : job.read(result);
    const {passed = 0, failed = 0, skipped = 0, reason, problem} = counts;
    const named = failures(result.output);
    if (problem) {
      console.log(`FAIL  ${job.name} ${problem}`);
      named.push(problem);
    }
    rows.push({name: job.name, passed, failed, skipped, reason, seconds, failures: named});
    const log = existsSync(logOf(job)) ? readFileSync(logOf(job), 'utf8') : '';
    rmSync(logOf(job), {force: true});
    unchanged.put(job, {passed, failed, skipped, reason, problem}, log);
    times[job.name] = Math.round(seconds * 10) / 10;
    writeFileSync(timesFile, JSON.stringify(times, undefined, 1));
    if (evidence.delete(job)) decide();
  },
});
unchanged.end();

heading('summary');
for (const line of summary(rows)) console.log(line);
process.exitCode = rows.some(({failed}) => failed > 0) ? 1 : 0;
