import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {test} from 'node:test';
import {compareLists, LIST, parseList, printList} from '../../tests/fingerprints/list.mjs';
import {checkCommits, commitProblems, parseLog} from './commits.mjs';

const commit = (given) => commitProblems({subject: 'schedule: unroll short loops', body: '', packages: undefined, ...given});

test('subjects are of one form', () => {
  for (const subject of ['web/runtime: wait 400 ms before an error', 'tools/check, docs: read commits', '.ci: run all tests']) {
    assert.deepEqual(commit({subject}), []);
  }
  for (const subject of ['Unroll short loops', 'schedule: unroll', 'schedule: Unroll loops', 'schedule: unroll loops.', `schedule: ${'unroll '.repeat(10)}`]) {
    assert.match(commit({subject})[0], /area: verb object/, subject);
  }
});

test('a refactoring leaves the list alone', () => {
  assert.deepEqual(commit({body: 'Refactor the planner.'}), []);
  for (const [subject, body] of [['ir: refactor the printer', 'The kernel of conv64 is printed otherwise.'], ['ir: print less', 'Refactoring. Kernels of conv64 differ.']]) {
    assert.match(commit({subject, body, packages: ['conv64/wasm']})[0], /says "refactor"/);
  }
});

test('a commit that changes packages names kernels, and a model or target', () => {
  const packages = ['conv64/webgpu,f16', 'train_mlp/c'];
  for (const body of ['', 'Kernels are faster.', 'webgpu is faster.', 'Kernels of conv642 are faster.', 'Kernels of opencl-webgpu are faster.']) {
    assert.match(commit({body, packages})[0], /which kernels changed and why/, body);
  }
  for (const body of ['The kernels of conv64 read rows once.', 'Kernels on webgpu,\nthose of products alone.', 'Kernels in C declare less.']) {
    assert.deepEqual(commit({body, packages}), [], body);
  }
  assert.deepEqual(commit({body: '', packages: []}), []); // its head alone
});

test('the log is read', () => {
  const patch = '\n--- a/tests/fingerprints/packages.txt\n+++ b/tests/fingerprints/packages.txt\n@@ -3 +3 @@\n-a/c 11 k=22\n+a/c 12 k=23\n+b-2/cpu,x86-64-v2 1 k=2\n';
  assert.deepEqual(parseLog(`\x01aa\nx: do this\n\nWhy.\n\x02${patch}\x01bb\nx: do that\n\x02`), [
    {hash: 'aa', subject: 'x: do this', body: 'Why.', packages: ['a/c', 'b-2/cpu,x86-64-v2']},
    {hash: 'bb', subject: 'x: do that', body: '', packages: []},
  ]);
});

test('a history is walked from the commit that brought the list', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'gossamer-commits-'));
  const git = (...args) => execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args], {cwd: folder, stdio: 'pipe'});
  const add = (file, text, message) => {
    mkdirSync(path.dirname(path.join(folder, file)), {recursive: true});
    writeFileSync(path.join(folder, file), text);
    git('add', '.');
    git('commit', '-q', '-m', message);
  };
  try {
    assert.match(checkCommits(folder).skipped, /no git history/);
    git('init', '-q');
    add('other', '1', 'Whatever was before');
    assert.match(checkCommits(folder).skipped, /no commit has/);
    add(LIST, 'conv/wasm 1 k=1\n', 'The list');
    assert.deepEqual(checkCommits(folder), []);
    add('other', '2', 'ir: refactor the printer');
    add(LIST, 'conv/wasm 2 k=2\n', 'ir: print less\n\nThe kernels of conv have fewer loops.');
    assert.deepEqual(checkCommits(folder), []);
    add(LIST, 'conv/wasm 3 k=3\n', 'ir: print more\n\nRefactor: kernels of conv.');
    add('other', '3', 'a story');
    assert.deepEqual(checkCommits(folder).map((line) => line.replace(/^\w{12}: (.{20}).*$/, '$1')), ['the subject "a story', 'it changes tests/fin']);
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('lists are compared by packages and kernels', () => {
  const list = parseList('# head\na/c 1 manifest=1 matmul=2 matmul=3 pack=4\nb/c 2 manifest=5\n');
  assert.deepEqual(parseList(printList(list)), list);
  const now = parseList('a/c 9 manifest=1 matmul=2 matmul=7 softmax=8 packed=4\nc/c 3 manifest=5\n');
  assert.deepEqual(compareLists(list, list), []);
  const [a, b, c] = compareLists(list, now);
  assert.deepEqual(a.parts, [
    {name: 'matmul', before: '3', after: '7'}, {name: 'softmax', before: undefined, after: '8'},
    {name: 'packed', before: '4', after: '4', renamed: 'pack'},
  ]);
  assert.deepEqual([b.name, b.is, c.name, c.was], ['b/c', undefined, 'c/c', undefined]);
});
