/** Between what values mean (value type) and how they lie in a buffer (storage type). */
import {decode, encode} from './encoding.ts';
import {arrayOf} from './tensor.ts';
import {type DType, GossamerError, type TensorData} from './types.ts';

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
  const stored = arrayOf(storage, data.length);
  for (let at = 0; at < data.length; ++at) stored[at] = Number(data[at]);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    for (let at = 0; at < data.length; ++at) {
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
  if (dtype === storage) return stored;
  const values = arrayOf(dtype, stored.length);
  const wide = dtype === 'i64' || dtype === 'u64';
  for (let at = 0; at < stored.length; ++at) {
    const value = Number(stored[at]);
    values[at] = wide ? BigInt(value) : dtype === 'bool' ? Number(value !== 0) : value;
  }
  return values;
}
