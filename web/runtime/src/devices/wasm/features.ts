/** What the engine can do, found by asking it. */

// (func (result i32) i8x16.all_true(i8x16.popcnt(v128.const 0)))
const SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 10, 26, 1, 24, 0, 253, 12,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 253, 98, 253, 99, 11,
];

// (func (export "f") (param f32 f32 f32) (result f32 f32): relaxed_madd and relaxed_nmadd of the splatted arguments, of
// which relaxed_laneselect takes the first in the lowest lane, the second in the next)
const RELAXED_SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 9, 1, 96, 3, 125, 125, 125, 2, 125, 125, 3, 2, 1, 0, 7, 5, 1, 1,
  102, 0, 0, 10, 67, 1, 65, 1, 1, 123, 32, 0, 253, 19, 32, 1, 253, 19, 32, 2, 253, 19, 253, 133, 2,
  32, 0, 253, 19, 32, 1, 253, 19, 32, 2, 253, 19, 253, 134, 2, 253, 12, 255, 255, 255, 255, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 253, 139, 2, 34, 3, 253, 31, 0, 32, 3, 253, 31, 1, 11,
];

export function hasSimd(): boolean {
  return typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(SIMD));
}

/** Whether the page's Content-Security-Policy lets modules be compiled; validate() asks nobody. */
export function isAllowed(): boolean {
  try {
    return Boolean(new WebAssembly.Module(new Uint8Array(SIMD)));
  } catch {
    return false;
  }
}

/**
 * Whether relaxed SIMD is there and the instructions of it that kernels have give what they should: a * b + c,
 * rounded once or twice, c - a * b, and lanes by masks of all bits or none.
 */
export function hasRelaxedSimd(): boolean {
  const bytes = new Uint8Array(RELAXED_SIMD);
  if (!hasSimd() || !WebAssembly.validate(bytes)) return false;
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const of = instance.exports['f'] as (a: number, b: number, c: number) => [number, number];
  const a = 1 + 2 ** -12; // its square needs 25 bits
  return of(3, 5, 7).join() === '22,-8' && Math.abs(of(a, a, -1)[0] - a * a + 1) < 1e-7;
}

/** Memory that several threads see: in pages only where they are cross-origin isolated. */
export function hasThreads(): boolean {
  return (
    typeof SharedArrayBuffer !== 'undefined' &&
    (globalThis as {crossOriginIsolated?: boolean}).crossOriginIsolated !== false
  );
}
