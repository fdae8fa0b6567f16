/** ONNX's TensorProto (onnx.proto3), as its test data keeps tensors in .pb files. */
import {decode} from '../src/values/encoding.ts';
import {bytesOf, type DType, messageOf, product, shapeText} from '../src/values/types.ts';
import type {StringTensor, Tensor} from '../src/index.ts';
import {fieldsOf, textOf, varintsOf} from './protobuf.ts';

const STRING = 8;

/** TensorProto.DataType. */
const TYPES: Readonly<Record<number, DType>> = {
  1: 'f32', 2: 'u8', 3: 'i8', 4: 'u16', 5: 'i16', 6: 'i32', 7: 'i64', 9: 'bool', 10: 'f16', 11: 'f64',
  12: 'u32', 13: 'u64', 16: 'bf16', 17: 'f8e4m3fn', 18: 'f8e4m3fnuz', 19: 'f8e5m2', 20: 'f8e5m2fnuz',
  24: 'f8e8m0',
};

/** As ONNX numbers them; other numbers are types that are packed, or not numbers. */
export const dtypeOf = (number: number): DType | 'string' | undefined =>
  number === STRING ? 'string' : TYPES[number];

/** ONNX's number of a type; undefined for those that it packs. */
export function numberOf(dtype: DType | 'string'): number | undefined {
  if (dtype === 'string') return STRING;
  const found = Object.keys(TYPES).find((number) => TYPES[Number(number)] === dtype);
  return found === undefined ? undefined : Number(found);
}

/** Throws an Error that begins with `where`. */
export function readTensorProto(file: Uint8Array, where: string): Tensor | StringTensor {
  try {
    return parse(file);
  } catch (problem) {
    throw new Error(`${where}: ${messageOf(problem)}`, {cause: problem});
  }
}

function parse(file: Uint8Array): Tensor | StringTensor {
  const shape: number[] = [];
  const texts: string[] = [];
  const integers: bigint[] = [];
  const pieces: Uint8Array[] = []; // float_data, double_data: packed or one by one
  let raw: Uint8Array | undefined;
  let type = 0;
  for (const field of fieldsOf(file)) {
    if (field.number === 1) shape.push(...varintsOf(field).map(Number));
    else if (field.number === 2) type = Number(field.value);
    else if (field.number === 6) texts.push(textOf(field));
    else if (field.number === 9) raw = field.bytes;
    else if ([5, 7, 11].includes(field.number)) integers.push(...varintsOf(field));
    else if (field.number === 4 || field.number === 10) {
      const single = new Uint8Array(BigUint64Array.of(field.value).buffer, 0, field.number === 4 ? 4 : 8);
      pieces.push(field.bytes.length > 0 ? field.bytes : single);
    } else if (field.number === 13) throw new Error('its values lie in another file');
  }
  const count = product(shape);
  const wrong = (has: number): never => {
    throw new Error(`shape ${shapeText(shape)} needs ${count} elements, the file has ${has}`);
  };
  if (type === STRING) {
    return texts.length === count ? {data: texts, shape, dtype: 'string'} : wrong(texts.length);
  }
  const dtype = TYPES[type];
  if (dtype === undefined) throw new Error(`its element type (ONNX's number ${type}) is not read here; use .npy`);
  if (raw === undefined && integers.length > 0) {
    if (integers.length !== count) wrong(integers.length);
    return {data: ofIntegers(integers, dtype), shape, dtype};
  }
  const bytes = raw ?? joined(pieces);
  if (bytes.length !== count * bytesOf(dtype)) wrong(Math.floor(bytes.length / bytesOf(dtype)));
  return {data: decode(bytes, dtype), shape, dtype};
}

/** Every integer type keeps its low bytes; f16, bf16 and f8 are stored as their bits. */
function ofIntegers(integers: readonly bigint[], dtype: DType) {
  if (dtype === 'bool') return Uint8Array.from(integers, Number);
  const size = bytesOf(dtype);
  const bytes = new Uint8Array(integers.length * size);
  integers.forEach((value, at) => bytes.set(new Uint8Array(BigUint64Array.of(value).buffer, 0, size), at * size));
  return decode(bytes, dtype);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
