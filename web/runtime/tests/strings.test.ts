import assert from 'node:assert/strict';
import {test} from 'node:test';

import {type Port, valuePorts} from '../src/session/ports.ts';
import {packStrings, unpackStrings} from '../src/values/strings.ts';
import {tensor} from '../src/values/tensor.ts';

test('strings go into bytes and lengths and come back', () => {
  const texts = ['', 'a', 'Grüße', 'zero\0inside', 'one of seventeen.', '的'];
  const [bytes, lengths] = packStrings(tensor(texts, [2, 3]));
  assert.deepEqual(bytes?.shape, [2, 3, 24]);
  assert.deepEqual(lengths?.shape, [2, 3]);
  assert.deepEqual(unpackStrings(bytes?.data as Uint8Array, lengths?.data as Int32Array, 24), texts);
});

test('no strings have a width', () => {
  const [bytes] = packStrings(tensor([], [0], 'string'));
  assert.deepEqual(bytes?.shape, [0, 8]);
});

test('strings that do not fit 31 bits when packed are refused by name', () => {
  const texts = Array.from({length: 65536}, () => '');
  texts[7] = 'x'.repeat(32761);
  assert.throws(() => packStrings(tensor(texts, [65536]), 'words'), {
    code: 'input',
    message: 'bytes of input "words", packed, would be 2147483648, not 0 to 2147483647',
  });
});

test('the two ports of strings are one to users', () => {
  const port = (name: string, dtype: Port['dtype'], shape: Port['shape'], strings = false): Port => ({
    name, dtype, shape, tensor: 0, strings,
  });
  const ports = valuePorts([
    port('a', 'f32', [2]),
    port('words', 'u8', ['n', 'words.width'], true),
    port('words.lengths', 'i32', ['n']),
    port('b', 'f32', [2]),
  ]);
  assert.deepEqual(ports.map(({name, dtype}) => [name, dtype]), [['a', 'f32'], ['words', 'string'], ['b', 'f32']]);
  assert.deepEqual(ports[1]?.shape, ['n']);
});
