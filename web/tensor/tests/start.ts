/** compiler.wasm for the tests, and what they compare with. */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

import {init, type Nested, type nn, Tensor} from '../src/index.ts';

const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(import.meta.dirname, '../../../../../build-wasm/compiler.wasm');
export const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
export const wasm = skip ? new Uint8Array() : readFileSync(path);
if (!skip) await init({wasm});

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

const filled = (shape: readonly number[], value: (at: number) => number): Tensor => {
  const count = shape.reduce((all, extent) => all * extent, 1);
  return new Tensor(Float32Array.from({length: count}, (_, at) => value(at)), {shape});
};

/** Element i is (i * step mod period - shift) / scale. */
export const ramp = (shape: readonly number[], step: number, period: number, shift: number, scale: number): Tensor =>
  filled(shape, (at) => (((at * step) % period) - shift) / scale);

/** Element i of parameter j is ((7 i + 3 j) mod 13 - 6) / 12. */
export function fill<M extends nn.Module>(module: M): M {
  const state = module.namedParameters().map(([name, {shape}], place) =>
    [name, filled(shape, (at) => (((at * 7 + 3 * place) % 13) - 6) / 12)] as const);
  module.loadStateDict(Object.fromEntries(state), {strict: false});
  return module;
}
