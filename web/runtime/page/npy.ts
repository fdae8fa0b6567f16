/** NumPy's .npy files (https://numpy.org/neps/nep-0001-npy-format.html), versions 1 to 3. */
import {decode, encode} from '../src/values/encoding.ts';
import {arrayOf} from '../src/values/tensor.ts';
import {bytesOf, type DType, product, shapeText, type TensorData} from '../src/values/types.ts';
import type {Tensor} from '../src/index.ts';

const TYPES: Readonly<Record<string, DType>> = {
  f4: 'f32', f2: 'f16', f8: 'f64', i1: 'i8', i2: 'i16', i4: 'i32', i8: 'i64',
  u1: 'u8', u2: 'u16', u4: 'u32', u8: 'u64', b1: 'bool',
};

export interface NpyHeader {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The first axis is the innermost. */
  readonly columnMajor: boolean;
  /** Where the values start. */
  readonly offset: number;
}

/** Throws an Error that begins with `where`. */
export function readNpyHeader(file: Uint8Array, where: string): NpyHeader {
  const wrong = (what: string): never => {
    throw new Error(`${where}: ${what}`);
  };
  if (file.length < 12 || file[0] !== 0x93 || String.fromCharCode(...file.subarray(1, 6)) !== 'NUMPY') {
    wrong('not an .npy file');
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const old = file[6] === 1;
  const start = old ? 10 : 12;
  const length = old ? view.getUint16(8, true) : view.getUint32(8, true);
  if (start + length > file.length) wrong('it ends within its header');
  const header = new TextDecoder().decode(file.subarray(start, start + length));
  const descr = /'descr': *'([<>|=])([a-z]\d+)'/.exec(header);
  const shape = /'shape': *\(([\d, L]*)\)/.exec(header);
  const dtype = TYPES[descr?.[2] ?? ''];
  if (!dtype || descr?.[1] === '>') {
    return wrong(`its elements (${/'descr': *([^,]+)/.exec(header)?.[1] ?? '?'}) are no little-endian numbers`);
  }
  if (!shape) return wrong('its header has no shape');
  const extents = (shape[1] ?? '').split(',').filter((each) => each.trim() !== '');
  return {
    dtype,
    shape: extents.map((each) => Number.parseInt(each, 10)),
    columnMajor: header.includes("'fortran_order': True"),
    offset: start + length,
  };
}

function toRowMajor(values: TensorData, shape: readonly number[], dtype: DType): TensorData {
  const ordered = arrayOf(dtype, values.length);
  const point = shape.map(() => 0);
  for (let at = 0; at < ordered.length; ++at) {
    ordered[at] = values[point.reduceRight((from, index, axis) => from * (shape[axis] ?? 1) + index, 0)] ?? 0;
    for (let axis = shape.length - 1; axis >= 0; --axis) {
      point[axis] = (point[axis] ?? 0) + 1;
      if ((point[axis] ?? 0) < (shape[axis] ?? 0)) break;
      point[axis] = 0;
    }
  }
  return ordered;
}

/** Throws an Error that begins with `where`. */
export function readNpy(file: Uint8Array, where: string): Tensor {
  const {dtype, shape, columnMajor, offset} = readNpyHeader(file, where);
  const bytes = file.subarray(offset);
  if (product(shape) * bytesOf(dtype) !== bytes.length) {
    throw new Error(`${where}: shape ${shapeText(shape)} of ${dtype} does not fit ${bytes.length} bytes of data`);
  }
  const values = decode(bytes, dtype);
  return {data: columnMajor ? toRowMajor(values, shape, dtype) : values, shape, dtype};
}

/** The type whose values NumPy has: bf16 becomes f32, small types the bytes in which they travel. */
function npyType(dtype: DType, data: TensorData): DType {
  if (Object.values(TYPES).includes(dtype)) return dtype;
  return data instanceof Float32Array ? 'f32' : data instanceof Int8Array ? 'i8' : 'u8';
}

export function writeNpy({data, shape, dtype}: Tensor): Uint8Array {
  const type = npyType(dtype, data);
  const code = Object.keys(TYPES).find((each) => TYPES[each] === type) ?? 'u1';
  const tuple = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const order = bytesOf(type) === 1 ? '|' : '<';
  const header = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${tuple}), }`;
  const size = Math.ceil((10 + header.length + 1) / 64) * 64 - 10;
  const values = encode(data, type);
  const file = new Uint8Array(10 + size + values.length);
  file.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, size & 255, size >> 8]);
  file.set(new TextEncoder().encode(`${header.padEnd(size - 1)}\n`), 10);
  file.set(values, 10 + size);
  return file;
}
