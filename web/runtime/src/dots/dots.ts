/** Dot products of bytes that a platform has, for packages whose kernels have any; a bundle of its own. */

// (func (export "f") (param i32 i32) (result i32): a lane of relaxed_dot_i8x16_i7x16_add_s of both, splatted, and 7)
const RELAXED_DOTS = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0,
  10, 22, 1, 20, 0, 32, 0, 253, 17, 32, 1, 253, 17, 65, 7, 253, 17, 253, 147, 2, 253, 27, 0, 11,
];

/**
 * Whether relaxed SIMD's dot product takes its second operand as unsigned bytes and rounds nothing off, as x86 does with
 * VNNI. Elsewhere sums of two products saturate, or the bytes are signed.
 */
export function hasRelaxedDots(): boolean {
  const bytes = new Uint8Array(RELAXED_DOTS);
  if (!WebAssembly.validate(bytes)) return false;
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const of = instance.exports['f'] as (signed: number, unsigned: number) => number;
  return of(0x7f7f7f7f, -1) === 7 + 4 * 127 * 255 && of(0x80808080 | 0, -1) === 7 - 4 * 128 * 255;
}

/** A kernel's own dot product of bytes, which hides the language's, is for browsers whose language has none. */
export function withBuiltIns(code: string): string {
  const has = (globalThis.navigator as Partial<Navigator> | undefined)?.gpu?.wgslLanguageFeatures?.has('packed_4x8_integer_dot_product');
  return has ? code.replace(/^fn dot4I8Packed[^}]*}\n/m, '') : code;
}
