/** Tensors in the files that a user gives. */
import {decode} from '../src/values/encoding.ts';
import {bytesOf, type DType, product, shapeText} from '../src/values/types.ts';
import type {PortInfo, StringTensor, Tensor} from '../src/index.ts';
import {readNpy} from './npy.ts';
import {readTensorProto} from './tensor_proto.ts';

export const TENSOR_FILES = '.npy,.pb,.raw,.bin';
export const STRING_FILES = '.json,.pb';

/** Strings as JSON: one, or arrays of them in arrays, one level an axis. Throws an Error. */
export function readStrings(text: string, where: string): StringTensor {
  let all: unknown;
  try {
    all = JSON.parse(text);
  } catch {
    throw new Error(`${where}: not JSON`);
  }
  const shape: number[] = [];
  for (let inner = all; Array.isArray(inner); inner = (inner as unknown[])[0]) shape.push(inner.length);
  const data: string[] = [];
  const add = (value: unknown, axis: number): void => {
    if (axis === shape.length && typeof value === 'string') data.push(value);
    else if (axis < shape.length && Array.isArray(value) && value.length === shape[axis]) {
      value.forEach((each) => add(each, axis + 1));
    } else throw new Error(`${where}: no strings, or lists of strings of one length`);
  };
  add(all, 0);
  return {data, shape, dtype: 'string'};
}

/** What .npy has instead of types that NumPy lacks. */
export const stands = (has: string, wanted: string): boolean =>
  (wanted === 'bf16' && has === 'f32') ||
  (/^i[24]$/.test(wanted) && has === 'i8') ||
  (/^u[24]$|^f[468]/.test(wanted) && has === 'u8');

/**
 * The tensor in a file, of the input's type. Anything but .npy, .pb and .json is the values alone, little-endian, of
 * shape `shape`. Throws an Error that names the file and what is wrong with it.
 */
export async function readTensorFile(
  file: File,
  port: PortInfo,
  shape: readonly number[],
): Promise<Tensor | StringTensor> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const ending = /\.[^.]*$/.exec(file.name.toLowerCase())?.[0];
  let given: Tensor | StringTensor;
  if (ending === '.npy') given = readNpy(bytes, file.name);
  else if (ending === '.pb') given = readTensorProto(bytes, file.name);
  else if (ending === '.json') given = readStrings(new TextDecoder().decode(bytes), file.name);
  else given = readRaw(bytes, port, shape, file.name);
  if (given.dtype !== 'string' && stands(given.dtype, port.dtype)) return {...given, dtype: port.dtype as DType};
  if (given.dtype === port.dtype) return given;
  throw new Error(`${file.name} has ${given.dtype} ${shapeText(given.shape)}, the input takes ${port.dtype}`);
}

function readRaw(bytes: Uint8Array, {dtype}: PortInfo, shape: readonly number[], where: string): Tensor {
  if (dtype === 'string') throw new Error(`${where}: strings come as .json or .pb`);
  const size = product(shape) * bytesOf(dtype);
  if (bytes.length !== size) {
    throw new Error(`${where} has ${bytes.length} bytes, ${dtype} ${shapeText(shape)} needs ${size}`);
  }
  return {data: decode(bytes, dtype), shape, dtype};
}
