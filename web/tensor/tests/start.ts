/** compiler.wasm for the tests, and what they compare with. */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

import {init, type Nested, type Tensor} from '../src/index.ts';

const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(import.meta.dirname, '../../../../../build-wasm/compiler.wasm');
export const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
if (!skip) await init({wasm: readFileSync(path)});

const flat = (value: Nested): number[] => (Array.isArray(value) ? (value as Nested[]).flatMap(flat) : [Number(value)]);
const shapeOf = (value: Nested): number[] => (Array.isArray(value) ? [value.length, ...shapeOf((value as Nested[])[0] ?? 0)] : []);

/** The tensor has this shape and these elements, to `tolerance` of each or of 1. */
export async function near(tensor: Tensor, wanted: Nested, tolerance = 1e-5, what = ''): Promise<void> {
  assert.deepEqual([...tensor.shape], shapeOf(wanted), `${what} shape`);
  const [made, expected] = [flat(await tensor.array()), flat(wanted)];
  expected.forEach((value, at) => {
    const distance = Math.abs((made[at] ?? NaN) - value);
    const same = Object.is(made[at], value) || distance <= tolerance * Math.max(1, Math.abs(value));
    assert.ok(same, `${what} element ${at} is ${made[at]}, not ${value}: ${JSON.stringify(made)}`);
  });
}
