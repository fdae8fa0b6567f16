/** Elements of a type as bytes, and back. */
import {ARRAYS, bytesOf, type DType, type TensorData} from './types.ts';

const word = new DataView(new ArrayBuffer(4));

/** IEEE binary16 bits of a number, rounded to nearest even. */
export function toHalf(value: number): number {
  word.setFloat32(0, value);
  const bits = word.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00;
  if (rest >= 0x477ff000) return sign | 0x7c00; // rounds to 65536 or is larger
  if (rest >= 0x38800000) {
    return sign | ((rest - 0x38000000 + 0xfff + ((rest >>> 13) & 1)) >>> 13);
  }
  // Below the smallest normal half: adding 0.5 makes the FPU round at 2^-24.
  word.setFloat32(0, Math.abs(value) + 0.5);
  return sign | (word.getUint32(0) - 0x3f000000);
}

export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

function toBfloat(value: number): number {
  word.setFloat32(0, value);
  const bits = word.getUint32(0);
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function fromBfloat(bits: number): number {
  word.setUint32(0, bits << 16);
  return word.getFloat32(0);
}

const viewOf = (data: ArrayBufferView): Uint8Array =>
  new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);

/** The file's or buffer's bytes of a type, as the array in which its values travel. May share their memory. */
export function decode(bytes: Uint8Array, dtype: DType): TensorData {
  const count = Math.floor(bytes.byteLength / bytesOf(dtype));
  if (dtype === 'f16' || dtype === 'bf16') {
    const bits = new Uint16Array(bytes.slice(0, count * 2).buffer);
    return Float32Array.from(bits, dtype === 'f16' ? fromHalf : fromBfloat);
  }
  const {buffer, byteOffset} = bytes.byteOffset % bytesOf(dtype) ? bytes.slice() : bytes;
  return new ARRAYS[dtype](buffer, byteOffset, count);
}

/** The bytes of values in a type's own form; inverse of decode. May share the array's memory. */
export function encode(data: TensorData, dtype: DType): Uint8Array {
  if (dtype === 'f16' || dtype === 'bf16') {
    const bits = new Uint16Array(data.length);
    const convert = dtype === 'f16' ? toHalf : toBfloat;
    for (let at = 0; at < bits.length; ++at) bits[at] = convert(Number(data[at]));
    return viewOf(bits);
  }
  return viewOf(data);
}
