import assert from 'node:assert/strict';
import {test} from 'node:test';
import {checkShared} from './files.mjs';

const folder = '../sha' + 'red';

test('code that names the shared folder is found, by its line', () => {
  const texts = {
    'a.mjs': `one\nconst models = path.join(root, '${folder}/testdata');`,
    'b.py': 'DATA = ROOT / "shared" / "test' + 'data"',
    'c.ts': "import {Shared} from '../shared.ts';",
    'd.md': `in ${folder}`,
    'tests/e.mjs': "import {testdata} from '../shared.mjs';",
  };
  const problems = checkShared(Object.keys(texts), (file) => texts[file]);
  assert.deepEqual(problems.map((problem) => problem.split(': ')[0]), ['a.mjs:2', 'b.py:1']);
});

test('this repository has none', () => assert.deepEqual(checkShared(), []));
