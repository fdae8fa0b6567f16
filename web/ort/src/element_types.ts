/** Element types as onnxruntime-web names them, and how their values lie in its arrays. */
import {halvesOf, numbersOf} from '../../runtime/src/values/encoding.ts';
import type {DType, TensorData} from '../../runtime/src/values/types.ts';

/** The arrays of Tensor.data. float16 is Uint16Array, its bits, where the engine has no Float16Array. 4-bit types: two a byte. */
export interface DataTypeMap {
  float32: Float32Array;
  uint8: Uint8Array;
  int8: Int8Array;
  uint16: Uint16Array;
  int16: Int16Array;
  int32: Int32Array;
  int64: BigInt64Array;
  string: string[];
  bool: Uint8Array;
  float16: Uint16Array;
  float64: Float64Array;
  uint32: Uint32Array;
  uint64: BigUint64Array;
  uint4: Uint8Array;
  int4: Int8Array;
}

export type ElementType = keyof DataTypeMap;
export type Data = DataTypeMap[ElementType];

type Numbers = Exclude<Data, string[]>;
interface NumbersType {
  new (length: number): Numbers;
  new (values: Iterable<number> & Iterable<bigint>): Numbers;
  readonly name: string;
}

const Half = ((globalThis as {Float16Array?: unknown}).Float16Array ?? Uint16Array) as NumbersType;

export const ARRAYS: Readonly<Record<Exclude<ElementType, 'string'>, NumbersType>> = {
  float32: Float32Array, float64: Float64Array, float16: Half,
  int8: Int8Array, int16: Int16Array, int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array, uint4: Uint8Array, int4: Int8Array,
};

const DTYPES: Readonly<Record<ElementType, DType | 'string'>> = {
  float32: 'f32', float64: 'f64', float16: 'f16',
  int8: 'i8', int16: 'i16', int32: 'i32', int64: 'i64',
  uint8: 'u8', uint16: 'u16', uint32: 'u32', uint64: 'u64',
  bool: 'bool', string: 'string', uint4: 'u4', int4: 'i4',
};

export const isElementType = (name: unknown): name is ElementType => typeof name === 'string' && Object.hasOwn(DTYPES, name);

export const dtypeOf = (type: ElementType): DType | 'string' => DTYPES[type];

/** The name here of a model's type; the model's own where there is none (bfloat16, 8-bit floats). */
export const elementTypeOf = (dtype: string): ElementType =>
  (Object.entries(DTYPES).find(([, each]) => each === dtype)?.[0] ?? dtype) as ElementType;

/** Places in the array for so many elements. */
export const placesOf = (type: ElementType, size: number): number => (/^u?int4$/.test(type) ? Math.ceil(size / 2) : size);

/** As the run time takes them: halves as floats, 4-bit integers one a byte. */
export function toRunTime(type: ElementType, data: Data, size: number): TensorData | string[] {
  // Bits, also where the array is of another library that had no Float16Array.
  if (type === 'float16' && data instanceof Uint16Array) return numbersOf(data);
  if (type === 'float16') return new Float32Array(data as unknown as ArrayLike<number>);
  if (type !== 'int4' && type !== 'uint4') return data;
  const bytes = data as Uint8Array;
  const made = type === 'int4' ? new Int8Array(size) : new Uint8Array(size);
  for (let at = 0; at < size; ++at) {
    const bits = ((bytes[at >> 1] ?? 0) >> (4 * (at & 1))) & 15;
    made[at] = type === 'int4' ? (bits << 28) >> 28 : bits;
  }
  return made;
}

/** The inverse. */
export function fromRunTime(type: ElementType, data: TensorData | string[]): Data {
  if (type === 'float16') {
    const values = data as Float32Array;
    return (Half === (Uint16Array as unknown) ? halvesOf(values) : new Half(values as never)) as Data;
  }
  if (type !== 'int4' && type !== 'uint4') return data;
  const made = new ARRAYS[type](placesOf(type, data.length)) as Uint8Array;
  data.forEach((value, at) => (made[at >> 1] = (made[at >> 1] ?? 0) | ((Number(value) & 15) << (4 * (at & 1)))));
  return made;
}
