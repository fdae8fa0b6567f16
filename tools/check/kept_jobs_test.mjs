import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {after, test} from 'node:test';
import {codeOf} from './code.mjs';
import {isCompiled, jobKeys, keptJobs, USED} from './kept_jobs.mjs';
import {root} from './repository.mjs';

const work = mkdtempSync(path.join(tmpdir(), 'gossamer-kept-'));
after(() => rmSync(work, {recursive: true, force: true}));

test('a job that passed is taken while its key is the same', () => {
  const file = path.join(work, 'kept.json');
  let key = 'one';
  const open = (options) => keptJobs(file, ({alone}) => (alone ? undefined : key), options);
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
    const keyOf = jobKeys(work);
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
  const keyOf = jobKeys(work);
  for (const name of ['checks: sources', 'checks: tools', 'checks: clang-tidy'])
    assert.equal(keyOf({name, args: []}), undefined, name);
  assert.equal(keyOf({...jobs.suite, alone: true}), undefined);
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
