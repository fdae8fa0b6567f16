import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {after, test} from 'node:test';
import {codeOf} from './code.mjs';
import {isCompiled, jobKeys, keptJobs, USED} from './kept_jobs.mjs';
import {isMiddle, isWayIn, usesPackages} from './package_jobs.mjs';
import {root} from './repository.mjs';

const work = mkdtempSync(path.join(tmpdir(), 'gossamer-kept-'));
after(() => rmSync(work, {recursive: true, force: true}));

test('a job that passed is taken while its key is the same', () => {
  const file = path.join(work, 'kept.json');
  let key = 'one';
  const keys = {keyOf: ({alone}) => (alone ? undefined : key), packageKeyOf: () => undefined};
  const open = (options) => keptJobs(file, keys, [], options);
  const counts = {passed: 3, failed: 0, skipped: 1};
  open().put({name: 'a'}, counts);
  open().put({name: 'timed', alone: true}, counts);
  open().put({name: 'bad'}, {...counts, failed: 1});
  open().put({name: 'dead'}, {...counts, problem: 'did not end in time'});
  assert.deepEqual(open().take({name: 'a'}), counts);
  for (const name of ['bad', 'dead', 'another']) assert.equal(open().take({name}), undefined);
  assert.equal(open().take({name: 'timed', alone: true}), undefined);
  assert.equal(open({all: true}).take({name: 'a'}), undefined);
  key = 'two';
  assert.equal(open().take({name: 'a'}), undefined);
  key = 'one';
  open().put({name: 'a'}, {...counts, failed: 1});
  assert.equal(open().take({name: 'a'}), undefined);
  writeFileSync(file, '{');
  assert.equal(open().take({name: 'a'}), undefined);
});

test('a job that uses packages alone is taken while they are the same', () => {
  const file = path.join(work, 'by_packages.json');
  const jobs = {library: {name: 'tests/libraries/suite.mjs'}, page: {name: 'web/tests/page.test.ts'}, cases: {name: 'tests/cases/suite.mjs cpu'}, others: {name: 'tests/cases/suite.mjs wasm'}, cli: {name: 'tests/cli/suite.mjs'}};
  const counts = {passed: 3, failed: 0, skipped: 0};
  // One run after a change of the compiler: what its cases saw, and whether they passed. Gives what was taken.
  let version = 0;
  function run({log, failed = 0, outer = 'same', chosen = [...Object.values(jobs)]}) {
    version++;
    if (version % 2 > 0) chosen.reverse(); // they are sorted by the times of the last run
    const kept = keptJobs(file, {keyOf: () => String(version), packageKeyOf: (job) => (job === jobs.library || job === jobs.page ? outer : undefined)}, chosen);
    const waits = chosen.filter((job) => kept.mayWait(job));
    for (const job of chosen.filter((one) => !waits.includes(one))) kept.put(job, job === jobs.cases ? {...counts, failed} : counts, job === jobs.others && log ? 'd\n' : log);
    const taken = waits.map((job) => [job, kept.takeByPackages(job)]).filter(([, found]) => found);
    for (const job of waits.filter((one) => !taken.some(([other]) => other === one))) kept.put(job, counts);
    kept.end();
    return taken.map(([{name}, {time}]) => (time ? `${name}: ${time}` : name)).sort();
  }
  const all = [jobs.library.name, jobs.page.name];
  const wayIn = [`${jobs.page.name}: passed with other kernels; tests/cases passes with these`];
  assert.deepEqual(run({log: 'a\nb\n'}), []);
  assert.deepEqual(run({log: 'b\na\na\n'}), all);
  assert.deepEqual(run({log: 'a\nc\n'}), wayIn, 'another package');
  assert.deepEqual(run({log: 'a\nb\n'}), wayIn, 'a package of before, with which other things may have failed');
  assert.deepEqual(run({log: 'a\nb\n'}), all);
  assert.deepEqual(run({log: 'a\nb\n', outer: 'other'}), [], 'another layer');
  assert.deepEqual(run({log: 'a\nb\n', outer: 'other', failed: 1}), [], 'evidence that failed');
  assert.deepEqual(run({log: 'a\nb\n', outer: 'other'}), [], 'the last run had no evidence');
  assert.deepEqual(run({log: 'a\nb\n', outer: 'other', chosen: [jobs.page]}), [], 'no evidence is asked for');
  assert.deepEqual(run({log: '', outer: 'other'}), [], 'cases that kept no verdicts');
});

test('what the middle of the compiler reaches otherwise than by packages always follows its code', () => {
  for (const name of ['cases', 'fingerprints', 'space', 'tune', 'sizes', 'shipped', 'hostile', 'cli', 'install', 'extend', 'new'])
    assert.ok(!usesPackages({name: `tests/${name}/suite.mjs part`}), name);
  for (const name of ['gossamer_schedule_test', 'tests_state', 'checks: tools', 'web/compiler/tests/tune.test.ts']) assert.ok(!usesPackages({name}), name);
  for (const name of ['tests/libraries/suite.mjs', 'tests/state/suite.mjs', 'web/compiler/tests/tune.test.ts', 'gossamer_api_test']) assert.ok(!isWayIn({name}), name);
  for (const name of ['tests/rpc/suite.mjs', 'tests/python/suite.mjs', 'web/tests/browser.test.ts']) assert.ok(isWayIn({name}), name);
  assert.ok(!isWayIn({name: 'tests/rpc/suite.mjs', alone: true}));
  for (const name of ['tests/rpc/suite.mjs', 'web/tests/loss.test.ts', 'web/tensor/tests/a.test.ts (without shared models)']) assert.ok(usesPackages({name}), name);
  for (const name of ['libgossamer_schedule.a', 'libgossamer_layout.a', 'libgossamer_codegen_wgsl.a', 'libgossamer_passes.a']) assert.ok(isMiddle(name), name);
  for (const name of ['libgossamer_ir.a', 'libgossamer_graph.a', 'libgossamer_stages.a', 'libgs_nanopb.a', 'libgossamer_schedule_test.a.txt']) assert.ok(!isMiddle(name), name);
});

/** A program of this C source. */
function compiled(source, name = 'gossamer') {
  const [from, program] = [path.join(work, 'program.c'), path.join(work, name)];
  mkdirSync(path.dirname(program), {recursive: true});
  writeFileSync(from, source);
  assert.equal(spawnSync('cc', ['-g', '-Wl,--build-id', '-o', program, from]).status, 0);
  return program;
}

test('lines of a source are not part of the code, numbers are', () => {
  const [first, moved, other] = ['int main() { return 3; }', '\n\nint main() { return 3; }', 'int main() { return 4; }'].map((source) => codeOf(compiled(source)));
  assert.ok(first.equals(moved));
  assert.ok(!first.equals(other));
});

test('keys follow what a job uses', () => {
  const bundle = (text) => {
    const file = path.join(work, `${text.length}.mjs`);
    writeFileSync(file, text);
    return file;
  };
  const jobs = {
    suite: {name: 'tests/cli/suite.mjs', args: ['tests/cli/suite.mjs']},
    part: {name: 'tests/space/suite.mjs cpu', args: ['tests/space/suite.mjs', 'cpu']},
    page: {name: 'web/tests/page.test.ts', args: ['--test', bundle('a page')]},
    compiling: {name: 'web/tests/compile.test.ts', args: ['--test', bundle('fetch("compiler.wasm")')]},
    types: {name: 'checks: typecheck', args: ['typecheck']},
    packages: {name: 'tests/packages/suite.mjs', args: ['tests/packages/suite.mjs']},
    wheel: {name: 'tests/python/suite.mjs', args: ['tests/python/suite.mjs']},
  };
  const keys = () => {
    const {keyOf} = jobKeys(work);
    return Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, keyOf(job)]));
  };
  compiled('int main() { return 3; }');
  const before = keys();
  assert.equal(new Set(Object.values(before)).size, 7);
  compiled('int main() { return 4; }');
  const now = keys();
  assert.deepEqual(Object.keys(jobs).filter((name) => now[name] !== before[name]), ['suite', 'part', 'compiling', 'wheel']);
  compiled('int main() { return 3; }', USED['tests/packages'][0]);
  assert.notEqual(keys().packages, now.packages);
  const {keyOf} = jobKeys(work);
  for (const name of ['checks: sources', 'checks: tools', 'checks: clang-tidy'])
    assert.equal(keyOf({name, args: []}), undefined, name);
  assert.equal(keyOf({...jobs.suite, alone: true}), undefined);
});

test('keys by packages follow all layers but the middle', () => {
  const page = {name: 'web/tests/page.test.ts', args: []};
  const keyOf = (job = page) => jobKeys(work).packageKeyOf(job);
  const library = (layer, source) => compiled(source, `libgossamer_${layer}.a`);
  library('ir', 'int main() { return 1; }');
  library('schedule', 'int main() { return 1; }');
  const before = keyOf();
  library('schedule', 'int main() { return 2; }');
  assert.equal(keyOf(), before);
  library('ir', 'int main() { return 2; }');
  assert.notEqual(keyOf(), before);
  assert.equal(keyOf({name: 'tests/sizes/suite.mjs', args: []}), undefined);
});

test('C++ sources are in programs, unless a suite compiles them', () => {
  for (const file of ['src/schedule/a.cc', 'serve/a.h', 'rpc/a.cc', 'tools/gossamer/a.cc', 'web/compiler/native/a.cc']) assert.ok(isCompiled(file), file);
  for (const file of ['runtime/manifest.cc', 'include/gossamer/gossamer.h', 'tests/libraries/misuse.c', 'src/shipped/a.jsonl', 'web/runtime/src/a.ts']) assert.ok(!isCompiled(file), file);
});

test('suites with a list of what they use name nothing else of the build folder', () => {
  for (const [folder, used] of Object.entries(USED)) {
    const code = readdirSync(path.join(root, folder)).filter((file) => file.endsWith('.mjs')).map((file) => readFileSync(path.join(root, folder, file), 'utf8')).join('\n');
    const named = [...code.matchAll(/path\.join\(root, build, [`']([^`']+)[`']|spawn\w*\([`']([^`']+)|(compiler\.wasm|\/dist)|\bbuild, [`'](gossamer)[`']/g)].map((found) => found.slice(1).find(Boolean));
    for (const name of named) assert.ok(used.includes(name) || name === 'libgossamer_${name}.a', `${folder} uses ${name}`);
    assert.ok(named.length > 0, folder);
  }
});
