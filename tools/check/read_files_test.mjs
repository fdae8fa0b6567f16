import assert from 'node:assert/strict';
import {test} from 'node:test';
import {codeLines, namesFolder, readFiles} from './read_files.mjs';

const tree = {
  'src/ir/type.h': '',
  'tests/tally.mjs': '',
  'tests/alone/suite.mjs': "import {Tally} from '../tally.mjs';",
  'tests/alone/list.txt': 'tests/user',
  'tests/state/suite.mjs': '// what ../alone/list.txt has, see tests/alone',
  'tests/state/state_test.cc': '',
  'tests/user/suite.mjs': "import {model} from '../lent/models.mjs'; read('docs/rules.md');",
  'tests/lent/suite.mjs': '',
  'tests/lent/models.mjs': '',
  'tests/joined/suite.mjs': '',
  'tools/demo/demo.mjs': "path.join(root, 'tests', 'joined')",
  'tools/check/commits.mjs': "'tests/alone/list.txt'",
  'tests/checked/suite.mjs': "import {commits} from '../../tools/check/commits.mjs';",
  'src/ops/messages.cc': 'error("see docs/errors.md, run tools/check/commits.mjs")',
  'docs/errors.md': '',
  'docs/rules.md': 'tests/alone',
  'CHANGELOG.md': '',
  'site/pages/start.md': '',
  'tests/site/suite.mjs': '',
};
const filesOf = readFiles(Object.keys(tree), (file) => tree[file]);
const reads = (name, file) => filesOf({name}).includes(file);

test('a folder of tests/ that nothing else names is read by its own suite and program', () => {
  for (const [name, wanted] of [['tests/alone/suite.mjs all', true], ['tests/user/suite.mjs', false], ['web/tests/a.test.ts', false], ['gossamer_ir_test', false], ['checks: sources', true]])
    assert.equal(reads(name, 'tests/alone/list.txt'), wanted, name);
  assert.ok(reads('tests_state', 'tests/state/suite.mjs'));
  assert.ok(!reads('tests_alone', 'tests/state/suite.mjs'));
});

test('a folder that other code names is read by every job', () => {
  for (const file of ['tests/lent/models.mjs', 'tests/joined/suite.mjs', 'tests/user/suite.mjs', 'tests/tally.mjs', 'src/ir/type.h'])
    assert.ok(reads('gossamer_ir_test', file), file);
});

test('tools/check is read by the suite that imports it', () => {
  assert.ok(reads('tests/checked/suite.mjs', 'tools/check/commits.mjs'));
  assert.ok(reads('checks: tools', 'tools/check/commits.mjs'));
  for (const name of ['tests/user/suite.mjs', 'gossamer_ir_test']) assert.ok(!reads(name, 'tools/check/commits.mjs'), name);
});

test('documents are read where code of tests names them', () => {
  assert.ok(reads('gossamer_ir_test', 'docs/rules.md'));
  for (const file of ['docs/errors.md', 'CHANGELOG.md']) {
    assert.ok(!reads('gossamer_ir_test', file), file);
    assert.ok(reads('checks: lint', file), file);
  }
});

test('comments name nothing, and a longer name is another', () => {
  assert.equal(codeLines('a\n// b\n  * c\n# d\n#include "e"'), 'a\n#include "e"');
  for (const code of ["'../rpc/client.mjs'", 'tests/rpc', 'tests/rpc/client.mjs', "join('tests', 'rpc')"]) assert.ok(namesFolder(code, 'rpc'), code);
  for (const code of ['tests/rpc_more', '../rpcs/', "'rpc'"]) assert.ok(!namesFolder(code, 'rpc'), code);
});

test('documents and the site are read by the test of the site', () => {
  for (const file of ['docs/errors.md', 'CHANGELOG.md', 'site/pages/start.md']) {
    assert.ok(reads('tests/site/suite.mjs', file), file);
    assert.ok(!reads('tests/joined/suite.mjs', file), file);
  }
});
