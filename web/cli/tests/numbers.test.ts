import assert from 'node:assert/strict';
import {test} from 'node:test';
import {short} from '../src/numbers.ts';

test('numbers are written as printf("%.6g") writes them', () => {
  const texts: [number, string][] = [
    [0, '0'], [-0, '-0'], [1, '1'], [-2.5, '-2.5'], [100000, '100000'], [999999.5, '1e+06'], [1234567, '1.23457e+06'], [0.0001, '0.0001'], [0.00001234, '1.234e-05'],
    [0.1, '0.1'], [1 / 3, '0.333333'], [12.34567891, '12.3457'], [1e21, '1e+21'], [NaN, 'nan'], [Infinity, 'inf'], [-Infinity, '-inf'],
  ];
  for (const [value, text] of texts) assert.equal(short(value), text);
});
