import assert from 'node:assert/strict';
import {test} from 'node:test';
import {visible} from './layers.mjs';
import {layerOf} from './repository.mjs';

const rows = new Map([
  ['src/base', []],
  ['src/ir', ['src/base']],
  ['src/ops', ['src/ir']],
  ['src/schedule', ['src/ir', 'src/ops/opdef.h']],
  ['src/codegen', ['src/schedule']],
  ['src/codegen/wgsl', ['src/codegen']],
  ['runtime', ['=src/codegen']],
]);

test('knowledge is transitive', () => {
  const {folders} = visible('src/codegen/wgsl', rows);
  assert.deepEqual([...folders].sort(), ['src/base', 'src/codegen', 'src/codegen/wgsl', 'src/ir', 'src/schedule']);
});

test('a row may name one header', () => {
  const {folders, headers} = visible('src/schedule', rows);
  assert.ok(!folders.has('src/ops'));
  assert.ok(headers.has('src/ops/opdef.h'));
});

test('an exact folder brings nothing else', () => {
  assert.deepEqual([...visible('runtime', rows).folders].sort(), ['runtime', 'src/codegen']);
});

test('a file belongs to the longest row above it', () => {
  assert.equal(layerOf('src/codegen/wgsl/print.cc', rows), 'src/codegen/wgsl');
  assert.equal(layerOf('src/codegen/targets.cc', rows), 'src/codegen');
  assert.equal(layerOf('src/irregular/x.cc', rows), undefined);
});
