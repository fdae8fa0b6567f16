// A consumer's strict compiler takes the published declarations.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

const root = join(import.meta.dirname, '../../..');
const skip = existsSync(join(root, 'dist/types/tensor/src/index.d.ts')) ? false : 'the tensor API is not built (make web)';

test('a consumer of the declarations is checked strictly', {skip}, () => {
  const tsc = join(root, '../node_modules/typescript/bin/tsc');
  const {status, stdout} = spawnSync(process.execPath, [tsc, '-p', join(root, 'tests/consumer/tsconfig.json')], {encoding: 'utf8'});
  assert.equal(stdout, '');
  assert.equal(status, 0);
});
