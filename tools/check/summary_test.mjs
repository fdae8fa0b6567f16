import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import path from 'node:path';
import {test} from 'node:test';
import {root} from './repository.mjs';
import {counted, countedCases, failures, summary} from './summary.mjs';

const node = (tests, pass, fail, skipped, cancelled = 0) =>
  `# tests ${tests}\n# suites 0\n# pass ${pass}\n# fail ${fail}\n# cancelled ${cancelled}\n# skipped ${skipped}\n# todo 0\n`;

test('a suite counts what its last line says', () => {
  assert.deepEqual(counted({code: 0, output: 'ok\n3 passed, 0 failed\n'}), {passed: 3, failed: 0, skipped: 0});
  assert.deepEqual(counted({code: 1, output: '3 passed, 2 failed, 1 skipped\n'}), {passed: 3, failed: 2, skipped: 1});
});

test('exit code 0 without results is a failure', () => {
  for (const output of ['', 'all is well\n', '0 passed, 0 failed\n']) {
    const {passed, failed, problem} = counted({code: 0, output});
    assert.deepEqual([passed, failed, problem], [0, 1, 'ended without a result']);
  }
});

test('a suite that skipped everything is no pass and says why', () => {
  const output = 'skip  models: they are not here\n0 passed, 0 failed, 1 skipped\n';
  assert.deepEqual(counted({code: 0, output}),
    {passed: 0, failed: 0, skipped: 1, reason: 'models: they are not here'});
  assert.equal(counted({code: 0, output: '0 passed, 0 failed, 1 skipped\n'}).failed, 1);
});

test('a program that died failed, whatever it counted', () => {
  assert.deepEqual(counted({code: 134, output: '3 passed, 0 failed\n'}),
    {passed: 3, failed: 1, skipped: 0, problem: 'ended with exit code 134'});
});

test('node:test summaries are added up, and one without tests failed', () => {
  assert.deepEqual(counted({code: 0, output: node(4, 3, 0, 1) + node(2, 2, 0, 0)}), {passed: 5, failed: 0, skipped: 1});
  assert.deepEqual(counted({code: 0, output: '\x1b[34mℹ tests 2\x1b[39m\nℹ pass 2\nℹ fail 0\n'}).passed, 2);
  assert.equal(counted({code: 0, output: node(4, 4, 0, 0) + node(0, 0, 0, 0)}).failed, 1);
  assert.equal(counted({code: 0, output: node(4, 4, 0, 0) + node(0, 0, 0, 0)}).problem, 'a part of it has no test');
  assert.equal(counted({code: 1, output: node(1, 0, 0, 0, 1)}).failed, 1);
  assert.equal(counted({code: 0, output: `ok 1 - a # SKIP no browser\n${node(1, 0, 0, 1)}`}).reason, 'no browser');
});

const cases = (tests, failures, disabled, inside = '') =>
  `<testsuites tests="${tests}" failures="${failures}" disabled="${disabled}" errors="0" time="1">${inside}</testsuites>`;

test('C++ programs count their cases, and skipped ones apart', () => {
  assert.deepEqual(countedCases({code: 0, output: ''}, cases(3, 0, 0, '<testcase name="x" result="skipped"/>')), {passed: 2, failed: 0, skipped: 1});
  assert.deepEqual(countedCases({code: 1, output: ''}, cases(5, 2, 1)), {passed: 2, failed: 2, skipped: 1});
});

test('a C++ program that ran no test, or wrote nothing, failed', () => {
  assert.equal(countedCases({code: 0, output: ''}, cases(0, 0, 0)).failed, 1);
  assert.equal(countedCases({code: 0, output: ''}, '').failed, 1);
  assert.equal(countedCases({code: 134, output: ''}, cases(2, 0, 0)).problem, 'ended with exit code 134');
  assert.deepEqual(countedCases({code: 0, output: `# a <b>\n${node(2, 2, 0, 0)}`}, ''), {passed: 2, failed: 0, skipped: 0});
});

test('the last line counts everything, and a skipped suite is no pass', () => {
  const ok = {name: 'a', passed: 2, failed: 0, skipped: 0, seconds: 1};
  const left = {name: 'b', passed: 0, failed: 0, skipped: 1, seconds: 0, reason: 'no data'};
  assert.deepEqual(summary([ok]), ['a: 2 ok, 0 bad, 1.0 s', '2 passed, 0 failed']);
  assert.deepEqual(summary([ok, left]), ['a: 2 ok, 0 bad, 1.0 s', 'b: skipped: no data', '2 passed, 0 failed, 1 skipped']);
});

test('what failed is named at the end of a run', () => {
  const output = ['FAIL  a: 3 is not 4', '[  FAILED  ] Sums.OfOne (3 ms)', '[  FAILED  ] Sums.OfOne', '[  FAILED  ] 1 test, listed below:',
    '  \x1b[31m✖ loads (12.5ms)\x1b[39m', '✖ failing tests:', '  ✖ loads (12.5ms)', 'ok 1 - a'].join('\n');
  assert.deepEqual(failures(output), ['FAIL  a: 3 is not 4', '[  FAILED  ] Sums.OfOne', '✖ loads']);
  const bad = {name: 'a', passed: 2, failed: 1, skipped: 0, seconds: 1, failures: ['FAIL  x: y']};
  assert.deepEqual(summary([bad]), ['a: 2 ok, 1 bad, 1.0 s', '  a: FAIL  x: y', '2 passed, 1 failed']);
});

test('a suite that records nothing fails, one that skips with a reason does not', () => {
  const suite = (body) => {
    const script = `import {Tally} from './tests/tally.mjs'; const tally = new Tally(); ${body} tally.end();`;
    const {status, stdout} = spawnSync(process.execPath, ['--input-type=module', '-e', script],
      {cwd: path.join(root), encoding: 'utf8'});
    return counted({code: status, output: stdout});
  };
  assert.deepEqual(suite("tally.record('a', '');"), {passed: 1, failed: 0, skipped: 0});
  assert.deepEqual(suite("tally.skip('b', 'no data');"), {passed: 0, failed: 0, skipped: 1, reason: 'b: no data'});
  assert.equal(suite('').failed, 1);
});
