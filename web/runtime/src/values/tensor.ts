import {ARRAYS, type DType, GossamerError, product, shapeText, type TensorData} from './types.ts';

/** Values in the page's memory: what a model is fed with. */
export interface Tensor {
  readonly data: TensorData;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** The same of strings. */
export interface StringTensor {
  readonly data: readonly string[];
  readonly shape: readonly number[];
  readonly dtype: 'string';
}

/** A result. Its values are on their way from the device when run() returns. */
export interface Output {
  readonly name: string;
  readonly dtype: DType | 'string';
  readonly shape: readonly number[];
  /**
   * Row-major values; f16 and bf16 as Float32Array, bool as bytes of 0 and 1, codes of small types;
   * of an output of strings as data<string[]>().
   */
  data<T extends TensorData | string[] = TensorData>(): Promise<T>;
  /** Lets go of the values. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** A new array of the class in which values of this type travel. */
export const arrayOf = (dtype: DType, length: number): TensorData => new ARRAYS[dtype](length);

/** The first type of each class, by its name, so that arrays of another realm and Float16Array are known too. */
const NATURAL = new Map((Object.keys(ARRAYS) as DType[]).reverse().map((dtype) => [ARRAYS[dtype].name, dtype]));
NATURAL.set('Float16Array', 'f16').set('Uint8ClampedArray', 'u8');

function naturalType(data: ArrayLike<number | bigint | boolean>): DType {
  const first = data[0];
  if (ArrayBuffer.isView(data)) {
    const known = NATURAL.get((data as object)[Symbol.toStringTag as keyof object]);
    if (known) return known;
  }
  return typeof first === 'bigint' ? 'i64' : typeof first === 'boolean' ? 'bool' : 'f32';
}

/**
 * A tensor of `data` in row-major order. The type follows the array (plain numbers are f32) unless
 * given; then the values are converted. Without a shape it is a vector. The array is not copied when
 * its class fits. An array of strings makes a tensor of strings. Throws 'input' when the length does
 * not fit the shape.
 */
export function tensor(
  data: readonly string[],
  shape?: readonly number[],
  dtype?: 'string',
): StringTensor;
export function tensor(
  data: ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>,
  shape?: readonly number[],
  dtype?: DType,
): Tensor;
export function tensor(
  data: ArrayLike<number | bigint | boolean> | readonly string[],
  shape: readonly number[] = [data.length],
  dtype?: DType | 'string',
): Tensor | StringTensor {
  if (!shape.every((extent) => Number.isInteger(extent) && extent >= 0)) {
    throw new GossamerError('input', `${shapeText(shape)} is not a shape`);
  }
  if (product(shape) !== data.length) {
    throw new GossamerError(
      'input',
      `shape ${shapeText(shape)} has ${product(shape)} elements, the data has ${data.length}`,
    );
  }
  if (dtype === 'string' || typeof data[0] === 'string') {
    return {data: [...(data as readonly string[])], shape: [...shape], dtype: 'string'};
  }
  const values = data as ArrayLike<number | bigint | boolean>;
  return numbers(values, shape, dtype ?? naturalType(values));
}

function numbers(
  values: ArrayLike<number | bigint | boolean>,
  shape: readonly number[],
  dtype: DType,
): Tensor {
  const target = arrayOf(dtype, 0);
  if (
    ArrayBuffer.isView(values) &&
    (values as object)[Symbol.toStringTag as keyof object] === target[Symbol.toStringTag]
  ) {
    return {data: values as unknown as TensorData, shape: [...shape], dtype};
  }
  const converted = arrayOf(dtype, values.length);
  const wide = dtype === 'i64' || dtype === 'u64';
  for (let at = 0; at < values.length; ++at) {
    const value = values[at] ?? 0;
    converted[at] = wide
      ? BigInt(typeof value === 'number' ? Math.trunc(value) : value)
      : dtype === 'bool'
        ? Number(Boolean(value))
        : Number(value);
  }
  return {data: converted, shape: [...shape], dtype};
}
