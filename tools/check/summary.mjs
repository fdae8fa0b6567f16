// What a test program's output adds up to, and the lines at the end of a run. What ran nothing is no pass: with a
// reason it is skipped, without one it failed.

const none = {passed: 0, failed: 0, skipped: 0};

function add(...counts) {
  return counts.reduce((sum, {passed, failed, skipped}) => ({
    passed: sum.passed + passed,
    failed: sum.failed + failed,
    skipped: sum.skipped + skipped,
  }), none);
}

// The summaries of node:test: '# tests 4', then suites, pass, fail, cancelled, skipped, todo.
function nodeSummaries(text) {
  const blocks = [];
  for (const [, word, number] of text.matchAll(/^(?:#|ℹ) (tests|pass|fail|cancelled|skipped) (\d+)$/gm)) {
    if (word === 'tests') blocks.push({});
    if (blocks.length > 0) blocks.at(-1)[word] = Number(number);
  }
  return blocks.map(({tests, pass = 0, fail = 0, cancelled = 0, skipped = 0}) => ({
    passed: pass,
    failed: fail + cancelled + (tests === 0 ? 1 : 0),
    skipped,
  }));
}

// Lines 'N passed, N failed', also with ', N skipped'.
function ownSummaries(text) {
  return [...text.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\b/gm)].map(
    ([, passed, failed, skipped = 0]) => ({passed: Number(passed), failed: Number(failed), skipped: Number(skipped)}));
}

/** The counts of a program that ended with `code`, and with `problem` why it failed beyond what it says itself. */
export function counted({code, output}) {
  // eslint-disable-next-line no-control-regex
  const plain = output.replace(/\x1b\[[0-9;]*m/g, '');
  const sum = add(...nodeSummaries(plain), ...ownSummaries(plain));
  const failed = (problem) => ({...sum, failed: 1, problem});
  const empty = /^(?:#|ℹ) tests 0$/m.test(plain);
  if (sum.failed > 0) return empty ? {...sum, problem: 'a part of it has no test'} : sum;
  if (code !== 0) return failed(`ended with exit code ${code}`);
  if (sum.passed + sum.skipped === 0) return failed('ended without a result');
  if (sum.passed > 0) return sum;
  const reasons = [...plain.matchAll(/^skip {2}(.+)$|# SKIP (.+)$/gm)].map(([, own, node]) => own ?? node);
  return reasons.length > 0 ? {...sum, reason: reasons.join('; ')} : failed('skipped everything without a reason');
}

/** The lines of a program's output that name what failed: of the suites here, GoogleTest and node:test. */
export function failures(output) {
  // eslint-disable-next-line no-control-regex
  const plain = output.replace(/\x1b\[[0-9;]*m/g, '');
  const named = /^(?:FAIL\b|\[ {2}FAILED {2}\] \S+\.|\s*✖ |\s*not ok \d)/;
  const lines = plain.split('\n').filter((line) => named.test(line) && !/^✖ failing tests:/.test(line));
  return [...new Set(lines.map((line) => line.trim().replace(/ \([\d.]+ ?ms\)$/, '').slice(0, 300)))];
}

/**
 * The counts of a C++ test program that ended with `code`: those of the XML file that GoogleTest wrote, or, where there is
 * none, of its output.
 */
export function countedCases({code, output}, xml) {
  const counts = xml.includes('<testsuites ') ? casesOf(xml) : counted({code, output});
  const died = code !== 0 && counts.failed === 0;
  return died ? {...counts, failed: 1, problem: `ended with exit code ${code}`} : counts;
}

function casesOf(xml) {
  const [, tests, failures, disabled] = /<testsuites tests="(\d+)" failures="(\d+)" disabled="(\d+)"/.exec(xml);
  const errors = Number(/<testsuites [^>]*errors="(\d+)"/.exec(xml)?.[1] ?? 0);
  const skipped = [...xml.matchAll(/ result="skipped"/g)].length + Number(disabled);
  const failed = Number(failures) + errors;
  const ran = Number(tests) - skipped;
  if (Number(tests) === 0) return {...none, failed: 1, problem: 'has no test'};
  return {passed: ran - failed, failed, skipped};
}

const namedFailures = 20;

/** The lines of rows {name, passed, failed, skipped, seconds or kept or time, reason, failures}; the last one counts everything. */
export function summary(rows) {
  const lines = rows.map(({name, passed, failed, skipped, seconds, kept, reason, time = kept ? 'unchanged since an earlier run' : `${seconds.toFixed(1)} s`}) => {
    if (passed + failed === 0) return `${name}: skipped: ${reason ?? `${skipped} tests`}`;
    return `${name}: ${passed} ok, ${failed} bad${skipped > 0 ? `, ${skipped} skipped` : ''}, ${time}`;
  });
  // Once more at the end: a log is often seen without its beginning.
  for (const {name, failures: named = []} of rows.filter(({failed}) => failed > 0)) {
    lines.push(...named.slice(0, namedFailures).map((line) => `  ${name}: ${line}`));
    if (named.length > namedFailures) lines.push(`  ${name}: and ${named.length - namedFailures} more`);
  }
  const {passed, failed, skipped} = add(...rows);
  return [...lines, `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`];
}
