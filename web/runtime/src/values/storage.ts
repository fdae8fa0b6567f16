/** Between what values mean (value type) and how they lie in a buffer (storage type). */
import {decode, encode} from './encoding.ts';
import {arrayOf} from './tensor.ts';
import {ARRAYS, type DType, GossamerError, type TensorData} from './types.ts';

/** Whether arrays of both types are of one class and mean the same: f16 and f32, codes in bytes. */
const travelAlike = (dtype: DType, storage: DType): boolean => ARRAYS[dtype] === ARRAYS[storage] && dtype !== 'bool';

/**
 * Values of type `dtype` as the bytes of type `storage`. Throws 'input' for a 64-bit integer that 32
 * bits cannot hold; `what` names the tensor in the message.
 */
export function toStorage(
  data: TensorData,
  dtype: DType,
  storage: DType,
  what: string,
): Uint8Array {
  if (dtype === storage) return encode(data, dtype);
  if (travelAlike(dtype, storage)) return encode(data, storage);
  const stored = arrayOf(storage, data.length);
  if (!(data instanceof BigInt64Array || data instanceof BigUint64Array)) {
    (stored as Float32Array).set(data);
  } else {
    for (let at = 0; at < data.length; ++at) {
      stored[at] = Number(data[at]);
      if (BigInt(Number(stored[at])) !== data[at]) {
        throw new GossamerError(
          'input',
          `${what}: element ${at} is ${data[at]}; this device has ${storage} only`,
        );
      }
    }
  }
  return encode(stored, storage);
}

/** Inverse of toStorage. */
export function fromStorage(bytes: Uint8Array, storage: DType, dtype: DType): TensorData {
  const stored = decode(bytes, storage);
  if (dtype === storage || travelAlike(dtype, storage)) return stored;
  const values = arrayOf(dtype, stored.length);
  if (dtype === 'i64' || dtype === 'u64') {
    for (let at = 0; at < stored.length; ++at) values[at] = BigInt(stored[at] as number);
  } else if (dtype === 'bool') {
    for (let at = 0; at < stored.length; ++at) values[at] = stored[at] ? 1 : 0;
  } else {
    (values as Float32Array).set(stored as Float32Array);
  }
  return values;
}
