import assert from 'node:assert/strict';
import {test} from 'node:test';
import {namedOperators, plainWords} from './operators.mjs';

const names = new Set(['Conv', 'MatMul', 'ReduceMax', 'Add', 'Softmax', 'LayerNormalization', 'IsNaN', 'Gather']);
const found = (source) => namedOperators(source, names, plainWords()).map(({line, name}) => `${line} ${name}`);

test('a quoted name is found, whatever the operator', () => {
  assert.deepEqual(found('if (op == "Conv") {}\nif (op == "Add") {}'), ['1 Conv', '2 Add']);
});

test('a name inside an identifier is found in every spelling', () => {
  assert.deepEqual(found('int conv_tile;'), ['1 Conv']);
  assert.deepEqual(found('struct MatMulSchedule;'), ['1 MatMul']);
  assert.deepEqual(found('void tile_matmul();'), ['1 MatMul']);
  assert.deepEqual(found('layer_normalization_rows()'), ['1 LayerNormalization']);
  assert.deepEqual(found('f("softmax_rows")'), ['1 Softmax']);
});

test('words of the loop language are free', () => {
  assert.deepEqual(found('auto x = reduce_max(add(a, b)); is_nan(x); gather(); converted(); convex();'), []);
});

test('comments and includes may name operators', () => {
  assert.deepEqual(found('int x;  // as in Conv\n/* MatMul\n */ int y;\n#include "ops/nn/conv.h"'), []);
  assert.deepEqual(found('auto url = "http://x"; int conv;'), ['1 Conv']);
});
