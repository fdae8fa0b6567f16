/** Element types, as package.md names them. */
export type DType =
  | 'f32' | 'f16' | 'bf16' | 'f64'
  | 'i8' | 'i16' | 'i32' | 'i64'
  | 'u8' | 'u16' | 'u32' | 'u64'
  | 'bool'
  | 'f8e4m3fn' | 'f8e4m3fnuz' | 'f8e5m2' | 'f8e5m2fnuz' | 'f8e8m0' | 'f4e2m1' | 'f6e2m3' | 'f6e3m2'
  | 'i4' | 'u4' | 'i2' | 'u2';

export type DeviceKind = 'webgpu' | 'webgl' | 'wasm';

/**
 * f16 and bf16 travel as Float32Array, bool as Uint8Array of 0 and 1; 8- and 4-bit floats as
 * Uint8Array of their codes; 4- and 2-bit integers one a byte, their low bits counting.
 */
export type TensorData =
  | Float32Array | Float64Array
  | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint16Array | Uint32Array | BigUint64Array;

type ArrayType = {
  new (length: number): TensorData;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TensorData;
  readonly name: string; readonly BYTES_PER_ELEMENT: number};

/** The class in which values of a type travel. */
export const ARRAYS: Readonly<Record<DType, ArrayType>> = {
  f32: Float32Array, f16: Float32Array, bf16: Float32Array, f64: Float64Array,
  i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array,
  u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array,
  bool: Uint8Array,
  f8e4m3fn: Uint8Array, f8e4m3fnuz: Uint8Array, f8e5m2: Uint8Array, f8e5m2fnuz: Uint8Array,
  f8e8m0: Uint8Array, f4e2m1: Uint8Array, f6e2m3: Uint8Array, f6e3m2: Uint8Array,
  i4: Int8Array, u4: Uint8Array, i2: Int8Array, u2: Uint8Array,
};

/** Bytes of an element in memory. */
const BYTES = Object.fromEntries(Object.entries(ARRAYS).map(([dtype, {BYTES_PER_ELEMENT: bytes}]) => [dtype, dtype.endsWith('f16') ? 2 : bytes]));
export const bytesOf = (dtype: DType): number => BYTES[dtype] as number;

export const isDType = (name: unknown): name is DType =>
  typeof name === 'string' && Object.hasOwn(ARRAYS, name);

export const product = (shape: readonly number[]): number =>
  shape.reduce((all, extent) => all * extent, 1);

/** Kernels count elements and work in 32 bits. */
export const LARGEST = 2 ** 31 - 1;

export const SAFE = Number.MAX_SAFE_INTEGER;

/** The number, in a range (by default exact and not negative). Throws 'input', also for NaN. */
export function within(
  value: number,
  what: string,
  most = SAFE,
  least = 0,
): number {
  if (value >= least && value <= most) return value;
  throw new GossamerError('input', `${what} would be ${value}, not ${least} to ${most}`);
}

export const shapeText = (shape: readonly (number | string)[]): string => `[${shape.join(', ')}]`;

/** What kind of trouble an error is; a program may branch on it, people read the message. */
export type ErrorCode =
  | 'source' // the package cannot be had: missing file, network
  | 'damaged' // a file is truncated, has another size or another hash, or says nonsense
  | 'version' // made by a compiler for another run time
  | 'unsupported' // this browser, page or device lacks something
  | 'kernel' // the device refused a kernel
  | 'out-of-memory'
  | 'lost' // the device went away
  | 'input' // wrong name, type or shape
  | 'disposed';

/** Everything that this library throws, except the AbortSignal's own reason. */
export class GossamerError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'GossamerError';
    this.code = code;
  }
}

/** What messages call a kernel: its name, and the node of the model that it computes. */
export const kernelName = (name: string, origin: string): string =>
  `kernel "${name}"${origin && ` (${origin})`}`;

export const disposed = (): GossamerError => new GossamerError('disposed', 'the model was disposed');

export const messageOf = (problem: unknown): string =>
  problem instanceof Error ? problem.message : String(problem);

/** An error with what it is about before its message; what the page has no memory for is 'out-of-memory'. */
export function about(what: string, problem: unknown): unknown {
  const code =
    problem instanceof GossamerError
      ? problem.code
      : problem instanceof RangeError
        ? 'out-of-memory'
        : undefined;
  return code ? new GossamerError(code, `${what}: ${messageOf(problem)}`, {cause: problem}) : problem;
}
