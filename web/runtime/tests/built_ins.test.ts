import assert from 'node:assert/strict';
import {test} from 'node:test';

import {withBuiltIns} from '../src/dots/dots.ts';

const OWN = 'fn dot4I8Packed(a: u32, b: u32) -> i32 {\n  return dot(x, y);\n}\n';
const USE = 'fn main() {\n  s = dot4I8Packed(a, b) + s;\n}\n';

test("a kernel's own dot product of bytes stays where the language has none", () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  const under = (features: string[] | undefined): string => {
    const gpu = {wgslLanguageFeatures: features && new Set(features)};
    Object.defineProperty(globalThis, 'navigator', {value: {gpu}, configurable: true});
    return withBuiltIns(OWN + USE);
  };
  try {
    assert.equal(under(undefined), OWN + USE);
    assert.equal(under([]), OWN + USE);
    assert.equal(under(['packed_4x8_integer_dot_product']), USE);
  } finally {
    if (before) Object.defineProperty(globalThis, 'navigator', before);
    else delete (globalThis as {navigator?: unknown}).navigator;
  }
});
