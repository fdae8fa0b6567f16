/** onnxruntime-web's Tensor: values on the host, or memory on a GPU. */
import type {DeviceTensor} from '../../runtime/src/index.ts';
import {product, shapeText} from '../../runtime/src/values/types.ts';
import {ARRAYS, type Data, type DataTypeMap, type ElementType, isElementType, placesOf} from './element_types.ts';
import * as image from './image.ts';
import type {DataLocation, GpuBufferDataTypes, ImageSource, TensorFromGpuBufferOptions, TensorFromImageOptions, TensorToImageDataOptions} from './tensor_options.ts';

/** Types that lie in a GPUBuffer as the same type. */
const GPU_TYPES: readonly ElementType[] = ['float32', 'int32', 'uint32'];

type Loose = ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean> | readonly string[];

function typeOfArray(data: unknown): ElementType {
  if (Array.isArray(data)) {
    if (typeof data[0] === 'string') return 'string';
    if (typeof data[0] === 'boolean') return 'bool';
    throw new TypeError('new Tensor(array) is for texts and booleans: say the type of numbers, as in new Tensor(\'float32\', array, dims)');
  }
  const name = ArrayBuffer.isView(data) ? (data as unknown as {[Symbol.toStringTag]: string})[Symbol.toStringTag] : '';
  if (name === 'Uint8ClampedArray') return 'uint8';
  if (name === 'Float16Array') return 'float16';
  const found = Object.entries(ARRAYS).find(([, array]) => array.name === name)?.[0];
  if (found) return found as ElementType;
  throw new TypeError(`new Tensor: data is ${name || typeof data}, not an array of a tensor's type`);
}

function arrayFor(type: ElementType, data: unknown): Data {
  if (type === 'string') {
    if (Array.isArray(data) && data.every((each) => typeof each === 'string')) return data;
    throw new TypeError('new Tensor: a tensor of strings needs an array of strings');
  }
  const wanted = ARRAYS[type];
  if (ArrayBuffer.isView(data)) {
    const name = (data as unknown as {[Symbol.toStringTag]: string})[Symbol.toStringTag];
    if (name === wanted.name || (type === 'float16' && name === 'Uint16Array')) return data as unknown as Data;
    if (type === 'uint8' && data instanceof Uint8ClampedArray) return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.length);
    if ((type === 'int4' || type === 'uint4') && /^U?[iI]nt8Array$/.test(name)) return data as unknown as Data;
    throw new TypeError(`new Tensor: a tensor of ${type} needs a ${wanted.name}, not a ${name}`);
  }
  if (!Array.isArray(data)) throw new TypeError(`new Tensor: a tensor of ${type} needs a ${wanted.name} or an array, not ${typeof data}`);
  if (type === 'float16' && wanted.name === 'Uint16Array') {
    throw new TypeError('new Tensor: float16 from plain numbers needs an engine with Float16Array; give the bits as a Uint16Array');
  }
  const wide = type === 'int64' || type === 'uint64';
  return new wanted((wide ? data.map((each) => BigInt(each as number)) : data.map(Number)) as never) as Data;
}

function checkedSize(dims: unknown): number {
  if (!Array.isArray(dims)) throw new TypeError('a tensor\'s dims are an array of numbers');
  for (const extent of dims as unknown[]) {
    if (!Number.isSafeInteger(extent) || (extent as number) < 0) throw new RangeError(`${shapeText(dims as number[])} are no dims: all must be whole numbers, 0 at least`);
  }
  return product(dims as number[]);
}

/** What Tensors are made of: values, or memory with a way to read it. */
interface Place<T extends ElementType> {
  readonly location: DataLocation;
  readonly data?: DataTypeMap[T] | undefined;
  readonly kept?: DeviceTensor | undefined;
  readonly gpuBuffer?: GPUBuffer | undefined;
  readonly read?: (() => Promise<DataTypeMap[T]>) | undefined;
  readonly release?: (() => void) | undefined;
}

const PLACE: unique symbol = Symbol('place');

/** Values of one type (tensor_api.ts declares what users see). `dims` may be set; the elements stay in row-major order. */
export class Tensor<T extends ElementType = ElementType> {
  readonly type: T;
  dims: readonly number[];
  readonly size: number;
  #place: Place<T>;
  #reading: Promise<DataTypeMap[T]> | undefined;

  /** Of a type, from an array of its class (or plain numbers), one element a place; without dims a vector. */
  constructor(type: T, data: DataTypeMap[T] | Loose, dims?: readonly number[]);
  /** Of the type that the array has. */
  constructor(data: Data | Uint8ClampedArray | readonly boolean[] | readonly string[], dims?: readonly number[]);
  /** @internal */
  constructor(place: typeof PLACE, type: T, dims: readonly number[], where: Place<T>);
  constructor(...given: unknown[]) {
    if (given[0] === PLACE) {
      [, this.type, this.dims, this.#place] = given as [symbol, T, readonly number[], Place<T>];
      this.size = checkedSize([...this.dims]);
      return;
    }
    const named = typeof given[0] === 'string';
    if (named && !isElementType(given[0])) throw new TypeError(`new Tensor: there is no type "${String(given[0])}"`);
    const [values, dims] = (named ? given.slice(1) : given) as [unknown, readonly number[] | undefined];
    this.type = (named ? given[0] : typeOfArray(values)) as T;
    const data = arrayFor(this.type, values) as DataTypeMap[T];
    this.dims = dims ? [...dims] : [data.length];
    this.size = checkedSize(dims ? dims : this.dims);
    const places = placesOf(this.type, this.size);
    if (places !== data.length) throw new RangeError(`new Tensor: dims ${shapeText(this.dims)} have ${places} places, the data has ${data.length}`);
    this.#place = {location: 'cpu', data};
  }

  /** @internal */
  static at<T extends ElementType>(type: T, dims: readonly number[], place: Place<T>): Tensor<T> {
    return new Tensor(PLACE, type, dims, place);
  }

  /** float32, int32 or uint32 in a buffer of env.webgpu.device, with STORAGE and COPY_SRC. It stays the caller's. */
  static fromGpuBuffer<T extends GpuBufferDataTypes = 'float32'>(gpuBuffer: GPUBuffer, {dataType = 'float32' as T, dims, download, dispose}: TensorFromGpuBufferOptions<T>): Tensor<T> {
    if (!GPU_TYPES.includes(dataType)) throw new TypeError(`Tensor.fromGpuBuffer: ${dataType} has another form in memory here; ${GPU_TYPES.join(', ')} are as they are`);
    return Tensor.at(dataType, [...dims], {location: 'gpu-buffer', gpuBuffer, read: download, release: dispose});
  }

  /** As new Tensor: there is no memory here that could be pinned. */
  static fromPinnedBuffer<T extends Exclude<ElementType, 'string'>>(type: T, buffer: DataTypeMap[T], dims?: readonly number[]): Tensor<T> {
    return new Tensor(type, buffer, dims);
  }

  /** A picture as [1, channels, height, width], or with `tensorLayout: 'NHWC'` [1, height, width, channels]. */
  static async fromImage(source: ImageSource, options?: TensorFromImageOptions): Promise<Tensor<'float32'> | Tensor<'uint8'>> {
    const {type, data, dims} = await image.fromImage(source, options);
    return new Tensor<'float32' | 'uint8'>(type, data, dims) as Tensor<'float32'> | Tensor<'uint8'>;
  }

  static fromTexture(): never {
    throw new Error('Tensor.fromTexture is not supported: give the values, or a picture to Tensor.fromImage');
  }

  static fromMLTensor(): never {
    throw new Error('Tensor.fromMLTensor is not supported: WebNN is no execution provider here');
  }

  get location(): DataLocation {
    return this.#place.location;
  }

  /** The values, of a tensor on the host. */
  get data(): DataTypeMap[T] {
    const {data, location} = this.#check();
    if (data) return data;
    throw new Error(`the tensor's values are not on the host (its location is "${location}"): await getData()`);
  }

  /** On webgpu, its memory: f32, i32 and u32 as they are, other types as docs/specs/package.md says. */
  get gpuBuffer(): GPUBuffer {
    const {gpuBuffer, kept, location} = this.#check();
    const found = gpuBuffer ?? kept?.gpuBuffer;
    if (found) return found;
    throw new Error(`the tensor has no GPUBuffer (its location is "${location}")`);
  }

  get texture(): never {
    throw new Error('textures are not supported: await getData()');
  }

  get mlTensor(): never {
    throw new Error('WebNN is not supported: await getData()');
  }

  /** @internal */
  get kept(): DeviceTensor | undefined {
    return this.#check().kept;
  }

  #check(): Place<T> {
    if (this.#place.location === 'none') throw new Error('the tensor was disposed of');
    return this.#place;
  }

  /** The values, read where that is needed. `releaseData`: the tensor is on the host from then on, and its memory given back. */
  async getData(releaseData = false): Promise<DataTypeMap[T]> {
    const {data, read} = this.#check();
    if (data) return data;
    if (!read) throw new Error('the tensor was made from a GPUBuffer without a `download` function, so its values cannot be read');
    const values = await (this.#reading ??= read().finally(() => (this.#reading = undefined)));
    if (releaseData && this.#place.location !== 'none') {
      this.#place.release?.();
      this.#place = {location: 'cpu', data: values};
    }
    return values;
  }

  /** Gives its memory back. */
  dispose(): void {
    if (this.#reading) throw new Error('the tensor is being read: await getData() first');
    this.#place.release?.();
    this.#place = {location: 'none'};
  }

  /** The same elements with other dims; on the host they are shared. */
  reshape(dims: readonly number[]): Tensor<T> {
    const place = this.#check();
    if (checkedSize([...dims]) !== this.size) throw new RangeError(`reshape: ${shapeText(dims)} has not the ${this.size} elements of ${shapeText(this.dims)}`);
    if (place.location !== 'cpu') throw new Error('reshape is for tensors on the host: await getData(true) first');
    return Tensor.at(this.type, [...dims], place);
  }

  /** Of [1, 3 or 4 or 1, height, width] or, with `tensorLayout: 'NHWC'`, channels last. */
  toImageData(options?: TensorToImageDataOptions): ImageData {
    return image.toImageData(this, options);
  }

  toDataURL(options?: TensorToImageDataOptions): string {
    return image.toDataURL(this, options);
  }
}
