/** Reading weights.safetensors (https://github.com/huggingface/safetensors, "Format"). */
import {Fields} from './fields.ts';
import type {Pieces} from './pieces.ts';
import {type DType, GossamerError} from '../values/types.ts';

const NAMES = new Map<string, DType>(Object.entries({
  F32: 'f32', F16: 'f16', BF16: 'bf16', F64: 'f64',
  I8: 'i8', I16: 'i16', I32: 'i32', I64: 'i64',
  U8: 'u8', U16: 'u16', U32: 'u32', U64: 'u64',
  BOOL: 'bool',
  F8_E4M3: 'f8e4m3fn', F8_E5M2: 'f8e5m2', F8_E8M0: 'f8e8m0',
}));

/** Types that the format lacks, and the bytes that they are in the file. */
const STORED: Readonly<Partial<Record<DType, DType>>> = {
  f8e4m3fnuz: 'u8', f8e5m2fnuz: 'u8', f4e2m1: 'u8', f6e2m3: 'u8', f6e3m2: 'u8',
  u4: 'u8', u2: 'u8', i4: 'i8', i2: 'i8',
};

/** The type as which the file has a weight. */
export const storedType = (dtype: DType): DType => STORED[dtype] ?? dtype;

export interface StoredTensor {
  /** Undefined: a type that no weight has. */
  readonly dtype: DType | undefined;
  readonly shape: readonly number[];
  /** Range of its bytes in the file. */
  readonly begin: number;
  readonly end: number;
}

/** Waits for the header of a file that is arriving. */
export async function headerHere(file: Pieces): Promise<void> {
  await file.here(8);
  await file.here(8 + new DataView(file.peek(8).buffer).getUint32(0, true));
}

/** All tensors of a file by name; takes its header. Throws 'damaged'. */
export function readSafetensors(file: Pieces, where: string): Map<string, StoredTensor> {
  const damaged = (what: string): never => {
    throw new GossamerError('damaged', `${where}: ${what}`);
  };
  // A shorter file reads as zeros, and is refused below.
  const view = new DataView(file.take(0, 8).buffer);
  const start = 8 + view.getUint32(0, true);
  if (view.getUint32(4, true) !== 0 || start > file.length) damaged('its header is cut off');
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(file.take(8, start)));
  } catch {
    damaged('its header is not JSON');
  }
  const header = new Fields(json, `${where}: header`);
  const room = file.length - start + 1;
  const tensors = new Map<string, StoredTensor>();
  for (const name of Object.keys(json as object)) {
    if (name === '__metadata__' || name.startsWith('gossamer.padding.')) continue;
    const entry = header.fields(name);
    const dtype = NAMES.get(entry.text('dtype'));
    const shape = entry.list('shape', (list, at) => list.count(at));
    const [begin = 0, end = 0] = entry.list('data_offsets', (list, at) => list.count(at, room), 2);
    if (end < begin) entry.wrong('data_offsets', 'in order');
    tensors.set(name, {dtype, shape, begin: start + begin, end: start + end});
  }
  let last = start;
  for (const [name, {begin, end}] of [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end)) {
    const entry = header.fields(name);
    if (begin < last) entry.wrong('data_offsets', 'apart from those of others');
    last = end;
  }
  return tensors;
}
