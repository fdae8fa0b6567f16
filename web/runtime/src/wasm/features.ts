/** What the engine can do, found by asking it. */

// (func (result i32) i8x16.all_true(i8x16.popcnt(v128.const 0)))
const SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 10, 26, 1, 24, 0, 253, 12,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 253, 98, 253, 99, 11,
];

// (func (export "f") (param f32 f32 f32) (result f32) relaxed_madd of the splatted arguments, lane 0)
const RELAXED_SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 125, 125, 125, 1, 125, 3, 2, 1, 0, 7, 5, 1, 1, 102,
  0, 0, 10, 22, 1, 20, 0, 32, 0, 253, 19, 32, 1, 253, 19, 32, 2, 253, 19, 253, 133, 2, 253, 31, 0,
  11,
];

export function hasSimd(): boolean {
  return typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(SIMD));
}

/** True when relaxed multiply-add exists and computes a * b + c rounded once or twice. */
export function hasRelaxedSimd(): boolean {
  const bytes = new Uint8Array(RELAXED_SIMD);
  if (!hasSimd() || !WebAssembly.validate(bytes)) return false;
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const madd = instance.exports['f'] as (a: number, b: number, c: number) => number;
  const a = 1 + 2 ** -12; // its square needs more than 24 bits
  const once = Math.fround(a * a - 1);
  const twice = Math.fround(Math.fround(a * a) - 1);
  const found = madd(a, a, -1);
  return madd(3, 5, 7) === 22 && (found === once || found === twice);
}

/** Memory that several threads see: in pages only where they are cross-origin isolated. */
export function hasThreads(): boolean {
  return (
    typeof SharedArrayBuffer !== 'undefined' &&
    (globalThis as {crossOriginIsolated?: boolean}).crossOriginIsolated !== false
  );
}
