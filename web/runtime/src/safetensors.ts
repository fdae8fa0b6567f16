/** Reading weights.safetensors (https://github.com/huggingface/safetensors, "Format"). */
import {type DType, GossamerError} from './types.ts';

const NAMES: Readonly<Record<string, DType>> = {
  F32: 'f32', F16: 'f16', BF16: 'bf16', F64: 'f64',
  I8: 'i8', I16: 'i16', I32: 'i32', I64: 'i64',
  U8: 'u8', U16: 'u16', U32: 'u32', U64: 'u64',
  BOOL: 'bool',
  F8_E4M3: 'f8e4m3fn', F8_E5M2: 'f8e5m2', F8_E8M0: 'f8e8m0',
};

/** Types that the format lacks, and the bytes that they are in the file. */
const STORED: Readonly<Partial<Record<DType, DType>>> = {
  f8e4m3fnuz: 'u8', f8e5m2fnuz: 'u8', f4e2m1: 'u8', f6e2m3: 'u8', f6e3m2: 'u8',
  u4: 'u8', u2: 'u8', i4: 'i8', i2: 'i8',
};

/** The type as which the file has a weight. */
export const storedType = (dtype: DType): DType => STORED[dtype] ?? dtype;

export interface StoredTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** A view into the file. */
  readonly bytes: Uint8Array;
}

interface Entry {
  readonly dtype?: unknown;
  readonly shape?: unknown;
  readonly data_offsets?: unknown;
}

/** All tensors of a file by name. Throws 'damaged'. */
export function readSafetensors(file: Uint8Array, where: string): Map<string, StoredTensor> {
  const damaged = (what: string): never => {
    throw new GossamerError('damaged', `${where}: ${what}`);
  };
  if (file.length < 8) damaged('too short for a safetensors file');
  const view = new DataView(file.buffer as ArrayBuffer, file.byteOffset, file.byteLength);
  const start = 8 + view.getUint32(0, true);
  if (view.getUint32(4, true) !== 0 || start > file.length) damaged('its header is cut off');
  let header: Record<string, Entry | null> = {};
  try {
    header = JSON.parse(new TextDecoder().decode(file.subarray(8, start))) as typeof header;
  } catch {
    damaged('its header is not JSON');
  }
  const tensors = new Map<string, StoredTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const dtype = NAMES[String(entry?.dtype)];
    const shape = entry?.shape;
    const offsets = entry?.data_offsets;
    if (dtype === undefined || !Array.isArray(shape) || !Array.isArray(offsets)) {
      return damaged(`its entry "${name}" is not that of a tensor`);
    }
    const [begin, end] = offsets as [unknown, unknown];
    if (
      !Number.isInteger(begin) ||
      !Number.isInteger(end) ||
      (begin as number) < 0 ||
      (end as number) < (begin as number) ||
      start + (end as number) > file.length
    ) {
      damaged(`tensor "${name}" lies outside the file`);
    }
    tensors.set(name, {
      dtype,
      shape: shape.map(Number),
      bytes: file.subarray(start + (begin as number), start + (end as number)),
    });
  }
  return tensors;
}
