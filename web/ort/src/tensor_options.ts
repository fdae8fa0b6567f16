/** Options of tensors, by onnxruntime-common's names. */
import type {DataTypeMap, ElementType} from './element_types.ts';

/** An instance of a class of the page, where its declarations are there. */
export type Global<Name extends string, Otherwise = unknown> = typeof globalThis extends Record<Name, {readonly prototype: infer T}> ? T : Otherwise;

export type DataLocation = 'none' | 'cpu' | 'cpu-pinned' | 'texture' | 'gpu-buffer' | 'ml-tensor';
export type GpuBufferDataTypes = 'float32' | 'float16' | 'int32' | 'int64' | 'uint32' | 'uint8' | 'bool';
export type MLTensorDataTypes = 'float32' | 'float16' | 'int8' | 'uint8' | 'int32' | 'uint32' | 'int64' | 'uint64' | 'bool' | 'uint4' | 'int4';
export type TextureDataTypes = 'float32';

export type ImageFormat = 'RGB' | 'RGBA' | 'BGR' | 'RBG';
export type ImageTensorLayout = 'NHWC' | 'NCHW';
export type ImageSource = ImageData | ImageBitmap | HTMLImageElement | HTMLCanvasElement | OffscreenCanvas | string;

export interface OptionsFormat {
  format?: ImageFormat;
}
export interface OptionsTensorFormat {
  /** Channels of the tensor; default 'RGB'. */
  tensorFormat?: ImageFormat;
}
export interface OptionsTensorDataType {
  /** 'uint8': bytes as they are, if no `norm` is given. */
  dataType?: 'float32' | 'uint8';
}
export interface OptionsTensorLayout {
  tensorLayout?: ImageTensorLayout;
}
export interface OptionsDimensions {
  height?: number;
  width?: number;
}
export interface OptionResizedDimensions {
  resizedHeight?: number;
  resizedWidth?: number;
}
type Channels = number | [number, number, number] | [number, number, number, number];
export interface OptionsNormalizationParameters {
  /** One number for all channels, or one for each. */
  norm?: {bias?: Channels; mean?: Channels};
}

interface FromImage extends OptionResizedDimensions, OptionsTensorFormat, OptionsTensorLayout, OptionsTensorDataType, OptionsNormalizationParameters {}
export type TensorFromImageDataOptions = FromImage;
export type TensorFromImageElementOptions = FromImage;
export type TensorFromImageBitmapOptions = FromImage;
export interface TensorFromUrlOptions extends FromImage, OptionsDimensions {}
export type TensorFromImageOptions = TensorFromUrlOptions;

export interface TensorToImageDataOptions extends OptionsTensorLayout, OptionsFormat, OptionsNormalizationParameters {}
export type TensorToDataUrlOptions = TensorToImageDataOptions;

export interface FromGpu<T extends ElementType> {
  /** Gives the values when they are asked for. */
  download?(this: void): Promise<DataTypeMap[T]>;
  /** Called by the tensor's dispose(). */
  dispose?(this: void): void;
}
export interface OfDims {
  readonly dims: readonly number[];
}
export interface TensorFromGpuBufferOptions<T extends GpuBufferDataTypes> extends OfDims, FromGpu<T> {
  dataType?: T;
}
export interface TensorFromMLTensorOptions<T extends MLTensorDataTypes> extends OfDims, FromGpu<T> {
  dataType?: T;
}
export interface TensorFromTextureOptions<T extends TextureDataTypes> extends Required<OptionsDimensions>, OptionsFormat, FromGpu<T> {}
