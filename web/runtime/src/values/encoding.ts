/** Elements of a type as bytes, and back. */
import {ARRAYS, bytesOf, type DType, type TensorData} from './types.ts';

const single = new Float32Array(1);
const word = new Uint32Array(single.buffer);

/** Where the engine has it: converts a million numbers in a millisecond or two. */
const Halves = (globalThis as {Float16Array?: new (values: ArrayLike<number> | ArrayBuffer) => ArrayBufferView & ArrayLike<number>}).Float16Array;

/** IEEE binary16 bits of a number, rounded to nearest even. */
export function toHalf(value: number): number {
  single[0] = value;
  const bits = word[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00;
  if (rest >= 0x477ff000) return sign | 0x7c00; // rounds to 65536 or is larger
  if (rest >= 0x38800000) {
    return sign | ((rest - 0x38000000 + 0xfff + ((rest >>> 13) & 1)) >>> 13);
  }
  // Below the smallest normal half: adding 0.5 makes the FPU round at 2^-24.
  single[0] = Math.abs(value) + 0.5;
  return sign | ((word[0] as number) - 0x3f000000);
}

export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

function toBfloat(value: number): number {
  single[0] = value;
  const bits = word[0] as number;
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

function fromBfloat(bits: number): number {
  word[0] = bits << 16;
  return single[0] as number;
}

/** The bits of numbers as halves, rounded to nearest even. */
export function halvesOf(values: ArrayLike<number>, convert = toHalf): Uint16Array {
  if (Halves && convert === toHalf) return new Uint16Array(new Halves(values).buffer);
  const bits = new Uint16Array(values.length);
  for (let at = 0; at < bits.length; ++at) bits[at] = convert(values[at] as number);
  return bits;
}

/** What every half means, by its bits. */
let numbers: Float32Array | undefined;

/** The inverse. */
export function numbersOf(bits: Uint16Array): Float32Array {
  if (Halves) return new Float32Array(new Halves(bits.slice().buffer));
  const all = (numbers ??= new Float32Array(65536).map((_, half) => fromHalf(half)));
  const values = new Float32Array(bits.length);
  for (let at = 0; at < bits.length; ++at) values[at] = all[bits[at] as number] as number;
  return values;
}

const viewOf = (data: ArrayBufferView): Uint8Array =>
  new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);

/** The file's or buffer's bytes of a type, as the array in which its values travel. May share their memory. */
export function decode(bytes: Uint8Array, dtype: DType): TensorData {
  const count = Math.floor(bytes.byteLength / bytesOf(dtype));
  if (dtype === 'f16' || dtype === 'bf16') {
    const bits = new Uint16Array(bytes.slice(0, count * 2).buffer);
    return dtype === 'f16' ? numbersOf(bits) : new Float32Array(count).map((_, at) => fromBfloat(bits[at] as number));
  }
  const {buffer, byteOffset} = bytes.byteOffset % bytesOf(dtype) ? bytes.slice() : bytes;
  return new ARRAYS[dtype](buffer, byteOffset, count);
}

/** The bytes of values in a type's own form; inverse of decode. May share the array's memory. */
export function encode(data: TensorData, dtype: DType): Uint8Array {
  if (dtype === 'f16' || dtype === 'bf16') {
    return viewOf(halvesOf(data as ArrayLike<number>, dtype === 'f16' ? toHalf : toBfloat));
  }
  return viewOf(data);
}
