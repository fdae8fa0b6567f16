/** Element types of tensors, and which one an operation on two of them has (PyTorch's type promotion). */
import {type DType as AnyType, GossamerError} from '../../runtime/src/values/types.ts';

/** f16 travels as Float32Array, bool as Uint8Array of 0 and 1, i64 and u64 as arrays of bigints. */
export type DType = 'f64' | 'f32' | 'f16' | 'i64' | 'i32' | 'i16' | 'i8' | 'u64' | 'u32' | 'u16' | 'u8' | 'bool';

/** PyTorch's and TensorJS's names. */
const NAMES = {
  float64: 'f64', double: 'f64', float32: 'f32', float: 'f32', float16: 'f16', half: 'f16',
  int64: 'i64', int32: 'i32', int: 'i32', int16: 'i16', int8: 'i8',
  uint64: 'u64', uint32: 'u32', uint16: 'u16', uint8: 'u8',
} as const satisfies Record<string, DType>;

export type DTypeName = DType | keyof typeof NAMES;

/** ONNX's TensorProto.DataType. */
const CODES: Readonly<Record<DType, number>> = {
  f32: 1, u8: 2, i8: 3, u16: 4, i16: 5, i32: 6, i64: 7, bool: 9, f16: 10, f64: 11, u32: 12, u64: 13,
};

/** ONNX's code, as Cast's `to` has it. */
export const codeOf = (dtype: DType): number => CODES[dtype];

export const isDType = (name: unknown): name is DType => typeof name === 'string' && Object.hasOwn(CODES, name);

/** Throws 'input' for what is no type's name. */
export function dtypeOf(name: string): DType {
  const dtype = Object.hasOwn(NAMES, name) ? NAMES[name as keyof typeof NAMES] : name;
  if (isDType(dtype)) return dtype;
  throw new GossamerError('input', `"${name}" is no element type; there are ${Object.keys(CODES).join(', ')}`);
}

export const isFloat = (dtype: AnyType): boolean => dtype.includes('f');
export const isSigned = (dtype: AnyType): boolean => dtype[0] !== 'u' && dtype !== 'bool';

const bits = (dtype: DType): number => (dtype === 'bool' ? 1 : Number(dtype.slice(1)));

/** bool below integers below floats. */
export const category = (dtype: DType): number => (dtype === 'bool' ? 0 : isFloat(dtype) ? 2 : 1);

/** The type that holds both. A signed and an unsigned integer give a signed one that holds them, at most i64. */
export function promote(a: DType, b: DType): DType {
  if (a === b) return a;
  if (category(a) !== category(b)) return category(a) > category(b) ? a : b;
  const [narrow, wide] = bits(a) < bits(b) ? [a, b] : [b, a];
  if (isFloat(a) || isSigned(a) === isSigned(b)) return wide;
  if (isSigned(wide) && bits(wide) > bits(narrow)) return wide;
  return (['i16', 'i32', 'i64'] as const).find((each) => bits(each) > bits(wide)) ?? 'i64';
}

/** The type of a plain number beside a tensor of `dtype`: it never widens within its kind. */
export function besides(dtype: DType, scalar: number | bigint | boolean): DType {
  if (typeof scalar === 'boolean') return dtype;
  if (typeof scalar === 'number' && !Number.isInteger(scalar)) return isFloat(dtype) ? dtype : 'f32';
  return dtype === 'bool' ? 'i32' : dtype;
}
