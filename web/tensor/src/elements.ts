/** Elements as the caller gives and sees them: nested arrays, and text. */
import {tensor as hostTensor} from '../../runtime/src/values/tensor.ts';
import {type DType as AnyType, product, shapeText, type TensorData} from '../../runtime/src/values/types.ts';
import {type DType, isFloat} from './dtype.ts';
import {wrong} from './shape.ts';
import {copyOf} from './spare.ts';

export type Nested = number | bigint | boolean | readonly Nested[];
export type Data = Nested | Exclude<TensorData, never> | ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>;

/** Extents of nested arrays. Throws 'input' where rows differ. */
function nestedShape(data: unknown): number[] {
  if (!Array.isArray(data)) return [];
  const [first] = data as unknown[];
  if (!Array.isArray(first)) return [data.length];
  const inner = nestedShape(first);
  for (const row of data as unknown[]) {
    if (shapeText(nestedShape(row)) !== shapeText(inner)) throw wrong('Tensor: rows of nested arrays have different lengths');
  }
  return [data.length, ...inner];
}

/** The elements of the caller, as an array of their own type. */
export function elements(data: Data, dtype: DType | undefined): {data: TensorData; dtype: DType; shape: number[]} {
  const scalar = typeof data !== 'object';
  const shape = scalar ? [] : ArrayBuffer.isView(data) ? [data.byteLength / (data).BYTES_PER_ELEMENT] : nestedShape(data);
  const flat = scalar ? [data] : Array.isArray(data) ? (data.flat(Infinity) as number[]) : (data as ArrayLike<number>);
  const made = hostTensor(flat as ArrayLike<number>, [flat.length], dtype as AnyType);
  // The caller may change the array it gave.
  return {data: made.data === (data as unknown) ? copyOf(made.data) : made.data, dtype: made.dtype as DType, shape};
}

/** How many elements of an axis are written, and how many of each end of a longer one. */
const [MOST_WRITTEN, WRITTEN_END] = [10, 3];

/** Elements as nested lists; of long axes both ends. */
export function textOf(data: TensorData, shape: readonly number[], dtype: DType, from = 0): string {
  const [extent, ...rest] = shape;
  if (extent === undefined) {
    const each = data[from] ?? 0;
    return dtype === 'bool' ? String(each !== 0) : typeof each === 'bigint' ? `${each}n` : isFloat(dtype) ? String(Number(each.toPrecision(5))) : String(each);
  }
  const step = product(rest);
  const places = [...new Array(extent).keys()].filter((at) => extent <= MOST_WRITTEN || at < WRITTEN_END || at >= extent - WRITTEN_END);
  const parts = places.map((at) => textOf(data, rest, dtype, from + at * step));
  if (extent > MOST_WRITTEN) parts.splice(WRITTEN_END, 0, '...');
  return `[${parts.join(', ')}]`;
}
