/** Values typed as text: numbers between commas, spaces or lines, or nested lists that say the shape. */
import {arrayOf} from '../src/values/tensor.ts';
import type {DType, TensorData} from '../src/values/types.ts';

export interface Typed {
  readonly data: TensorData;
  /** What the brackets say; undefined without, or with one pair around it all. */
  readonly shape: readonly number[] | undefined;
}

const FLOATS: readonly string[] = ['f32', 'f16', 'bf16', 'f64'];

/** The integers of a type; those of small floats are their codes. */
function limitsOf(dtype: DType): readonly [bigint, bigint] {
  if (dtype === 'bool') return [0n, 1n];
  const bits = BigInt(/^f(\d)e/.exec(dtype)?.[1] ?? dtype.slice(1));
  return dtype.startsWith('i') ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
}

function numberOf(word: string, dtype: DType): number | bigint {
  const plain = word.toLowerCase();
  if (FLOATS.includes(dtype)) {
    const infinite = /^([+-]?)(inf|infinity)$/.exec(plain);
    if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
    const value = plain === 'nan' ? NaN : Number(plain);
    if (plain !== 'nan' && Number.isNaN(value)) throw new Error(`"${word}" is no number`);
    return value;
  }
  if (plain === 'true' || plain === 'false') return dtype === 'i64' || dtype === 'u64' ? BigInt(plain === 'true') : Number(plain === 'true');
  if (Number.isNaN(Number(plain))) throw new Error(`"${word}" is no number`);
  if (!/^[+-]?\d+(\.0*)?$/.test(plain)) throw new Error(`"${word}" is no whole number, ${dtype} has only those`);
  const value = BigInt(plain.replace(/^\+|\..*$/g, ''));
  const [low, high] = limitsOf(dtype);
  if (value < low || value > high) throw new Error(`${word} does not fit ${dtype} (${low} to ${high})`);
  return dtype === 'i64' || dtype === 'u64' ? value : Number(value);
}

/** The shape that brackets say. Throws an Error where lists of one level differ in length. */
function shapeOf(words: readonly string[]): number[] | undefined {
  if (!words.includes('[')) return undefined;
  const shape: number[] = [];
  const counts: number[] = [];
  let leaves = -1; // the depth of the numbers
  for (const [at, word] of words.entries()) {
    const depth = counts.length;
    if (depth === 0 && at > 0) throw new Error('there is text behind the last ]');
    if (word === ']') {
      const count = counts.pop() ?? 0;
      if (shape[depth - 1] !== undefined && shape[depth - 1] !== count) {
        throw new Error(`lists of one level have ${shape[depth - 1]} and ${count} elements`);
      }
      shape[depth - 1] = count;
      continue;
    }
    if (depth > 0) counts[depth - 1] = (counts[depth - 1] ?? 0) + 1;
    if (word === '[') counts.push(0);
    else if (leaves >= 0 && leaves !== depth) throw new Error('numbers and lists stand on one level');
    else leaves = depth;
    if (word === '[' && leaves >= 0 && counts.length > leaves) throw new Error('numbers and lists stand on one level');
  }
  if (counts.length > 0) throw new Error('a ] is missing');
  return shape.length > 1 ? shape : undefined;
}

/** Throws an Error that says which word is wrong. */
export function parseTyped(text: string, dtype: DType): Typed {
  const words = text.match(/[[\]]|[^\s,;[\]]+/g) ?? [];
  const shape = shapeOf(words);
  const values = words.filter((word) => word !== '[' && word !== ']').map((word) => numberOf(word, dtype));
  const data = arrayOf(dtype, values.length);
  values.forEach((value, at) => (data[at] = value));
  return {data, shape};
}
