/** What code for onnxruntime-common sees of tensors, by its names. */
import {Tensor as AnyTensor} from './tensor.ts';
import type {DataTypeMap as AnyDataTypeMap, ElementType as AnyElementType} from './element_types.ts';
import type * as options from './tensor_options.ts';
import type {
  FromGpu, Global, OfDims, TensorFromGpuBufferOptions, TensorFromImageBitmapOptions, TensorFromImageDataOptions, TensorFromImageElementOptions, TensorFromMLTensorOptions,
  TensorFromTextureOptions, TensorFromUrlOptions, TensorToDataUrlOptions, TensorToImageDataOptions,
} from './tensor_options.ts';

export type {
  ImageFormat, ImageSource, ImageTensorLayout, OptionResizedDimensions, OptionsDimensions, OptionsFormat, OptionsNormalizationParameters, OptionsTensorDataType,
  OptionsTensorFormat, OptionsTensorLayout, TensorFromGpuBufferOptions, TensorFromImageBitmapOptions, TensorFromImageDataOptions, TensorFromImageElementOptions,
  TensorFromImageOptions, TensorFromMLTensorOptions, TensorFromTextureOptions, TensorFromUrlOptions, TensorToDataUrlOptions, TensorToImageDataOptions,
} from './tensor_options.ts';

/* eslint-disable @typescript-eslint/no-namespace -- code for onnxruntime-web says Tensor.Type */
export declare namespace Tensor {
  type DataTypeMap = AnyDataTypeMap;
  /** An element of `data`, as numbers go. */
  type ElementTypeMap = {[T in AnyElementType]: T extends 'int64' | 'uint64' ? bigint : T extends 'string' ? string : T extends 'bool' ? boolean : number};
  type Type = AnyElementType;
  type DataType = DataTypeMap[Type];
  type ElementType = ElementTypeMap[Type];
  type DataLocation = options.DataLocation;
  type CpuPinnedDataTypes = Exclude<Type, 'string'>;
  type GpuBufferTypeFallback = {size: number; mapState: 'unmapped' | 'pending' | 'mapped'};
  type GpuBufferType = Global<'GPUBuffer', GpuBufferTypeFallback>;
  /** Those of 4 bytes are stored as they are; fromGpuBuffer throws for others. */
  type GpuBufferDataTypes = options.GpuBufferDataTypes;
  /** Not supported. */
  type TextureType = WebGLTexture;
  type TextureDataTypes = options.TextureDataTypes;
  /** Not supported. */
  type MLTensorTypeFallback = {destroy(): void};
  type MLTensorType = Global<'MLTensor', MLTensorTypeFallback>;
  type MLTensorDataTypes = options.MLTensorDataTypes;
}
/* eslint-enable @typescript-eslint/no-namespace */

interface OfType<T> extends OfDims {
  readonly type: T;
}
export interface CpuPinnedConstructorParameters<T extends Tensor.CpuPinnedDataTypes = Tensor.CpuPinnedDataTypes> extends OfType<T> {
  readonly location: 'cpu-pinned';
  readonly data: Tensor.DataTypeMap[T];
}
export interface GpuBufferConstructorParameters<T extends Tensor.GpuBufferDataTypes = Tensor.GpuBufferDataTypes> extends OfType<T>, FromGpu<T> {
  readonly location: 'gpu-buffer';
  readonly gpuBuffer: Tensor.GpuBufferType;
}
export interface TextureConstructorParameters<T extends Tensor.TextureDataTypes = Tensor.TextureDataTypes> extends OfType<T>, FromGpu<T> {
  readonly location: 'texture';
  readonly texture: Tensor.TextureType;
}
export interface MLTensorConstructorParameters<T extends Tensor.MLTensorDataTypes = Tensor.MLTensorDataTypes> extends OfType<T>, FromGpu<T> {
  readonly location: 'ml-tensor';
  readonly mlTensor: Tensor.MLTensorType;
}

export interface ConversionUtils {
  toDataURL(options?: TensorToDataUrlOptions): string;
  toImageData(options?: TensorToImageDataOptions): ImageData;
}
export interface TypedShapeUtils<T extends Tensor.Type> {
  /** The same elements with other dims; on the host they are shared. */
  reshape(dims: readonly number[]): TypedTensor<T>;
}
export interface TensorUtils extends ConversionUtils {
  readonly size: number;
}
export interface TypedTensorUtils<T extends Tensor.Type> extends TensorUtils, TypedShapeUtils<T> {}

interface TypedTensorBase<T extends Tensor.Type> {
  readonly type: T;
  readonly dims: readonly number[];
  /** The values of a tensor on the host; others throw. */
  readonly data: Tensor.DataTypeMap[T];
  readonly location: Tensor.DataLocation;
  /** Of a tensor in the memory of a GPU; others throw. */
  readonly gpuBuffer: Tensor.GpuBufferType;
  /** Throws: not supported. */
  readonly texture: Tensor.TextureType;
  /** Throws: not supported. */
  readonly mlTensor: Tensor.MLTensorType;
  /** The values, read from the GPU if needed. `releaseData`: the tensor is on the host from then on, and its GPU memory is freed. */
  getData(releaseData?: boolean): Promise<Tensor.DataTypeMap[T]>;
  /** Frees its memory. */
  dispose(): void;
}
export interface TypedTensor<T extends Tensor.Type> extends TypedTensorBase<T>, TypedTensorUtils<T> {}
/** Values of one type; the elements are in row-major order. */
export interface Tensor extends TypedTensorBase<Tensor.Type>, TypedTensorUtils<Tensor.Type> {}

type FromImageResult = Promise<TypedTensor<'float32'> | TypedTensor<'uint8'>>;

export interface TensorFactory {
  /** A picture as [1, channels, height, width], or with `tensorLayout: 'NHWC'` [1, height, width, channels]. */
  fromImage(image: ImageData, options?: TensorFromImageDataOptions): FromImageResult;
  fromImage(image: HTMLImageElement, options?: TensorFromImageElementOptions): FromImageResult;
  fromImage(address: string, options?: TensorFromUrlOptions): FromImageResult;
  fromImage(image: ImageBitmap | HTMLCanvasElement | OffscreenCanvas, options?: TensorFromImageBitmapOptions): FromImageResult;
  /** float32, int32 or uint32 in a buffer of env.webgpu.device with the usages STORAGE and COPY_SRC. The caller keeps the buffer. */
  fromGpuBuffer<T extends Tensor.GpuBufferDataTypes = 'float32'>(buffer: Tensor.GpuBufferType, options: TensorFromGpuBufferOptions<T>): TypedTensor<T>;
  /** As the constructor: no memory is pinned here. */
  fromPinnedBuffer<T extends Tensor.CpuPinnedDataTypes>(type: T, buffer: Tensor.DataTypeMap[T], dims?: readonly number[]): TypedTensor<T>;
  /** Throws: not supported. */
  fromTexture<T extends Tensor.TextureDataTypes = 'float32'>(texture: Tensor.TextureType, options: TensorFromTextureOptions<T>): TypedTensor<'float32'>;
  /** Throws: not supported. */
  fromMLTensor<T extends Tensor.MLTensorDataTypes>(tensor: Tensor.MLTensorType, options: TensorFromMLTensorOptions<T>): TypedTensor<T>;
}

type Wide = 'int64' | 'uint64';
type Dims = readonly number[];

/** A type, an array of its class or plain numbers with an element for each place, and dims; without dims, a vector. */
export interface TensorConstructor extends TensorFactory {
  new (type: 'string', data: readonly string[], dims?: Dims): TypedTensor<'string'>;
  new (type: 'bool', data: Tensor.DataTypeMap['bool'] | readonly boolean[], dims?: Dims): TypedTensor<'bool'>;
  new (type: 'uint8', data: Uint8ClampedArray, dims?: Dims): TypedTensor<'uint8'>;
  new <T extends Wide>(type: T, data: Tensor.DataTypeMap[T] | readonly bigint[] | readonly number[], dims?: Dims): TypedTensor<T>;
  new <T extends Exclude<Tensor.Type, Wide | 'bool' | 'string'>>(type: T, data: Tensor.DataTypeMap[T] | readonly number[], dims?: Dims): TypedTensor<T>;
  new (data: Float32Array, dims?: Dims): TypedTensor<'float32'>;
  new (data: Float64Array, dims?: Dims): TypedTensor<'float64'>;
  new (data: Int8Array, dims?: Dims): TypedTensor<'int8'>;
  new (data: Int16Array, dims?: Dims): TypedTensor<'int16'>;
  new (data: Int32Array, dims?: Dims): TypedTensor<'int32'>;
  new (data: BigInt64Array, dims?: Dims): TypedTensor<'int64'>;
  new (data: Uint8Array | Uint8ClampedArray, dims?: Dims): TypedTensor<'uint8'>;
  new (data: Uint16Array, dims?: Dims): TypedTensor<'uint16'>;
  new (data: Uint32Array, dims?: Dims): TypedTensor<'uint32'>;
  new (data: BigUint64Array, dims?: Dims): TypedTensor<'uint64'>;
  new (data: readonly string[], dims?: Dims): TypedTensor<'string'>;
  new (data: readonly boolean[], dims?: Dims): TypedTensor<'bool'>;
  new (type: Tensor.Type, data: Tensor.DataType | readonly number[] | readonly bigint[] | readonly boolean[] | readonly string[], dims?: Dims): Tensor;
  new (data: Tensor.DataType, dims?: Dims): Tensor;
}

export const Tensor: TensorConstructor = AnyTensor;
