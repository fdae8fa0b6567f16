/** What resizing and normalising a picture needs to know. */
import type {Picture} from './preprocess.ts';

/** A texture of RGBA bytes, not multiplied by alpha, with the top row first, of the device's own context or GPUDevice. */
export interface TextureSource {
  readonly texture: WebGLTexture | GPUTexture;
  readonly width: number;
  readonly height: number;
}

/** What has pixels; RGBA bytes are `{width, height, rgba}`. */
export type ImageSource =
  | ImageBitmap | ImageData | HTMLImageElement | HTMLVideoElement | HTMLCanvasElement | OffscreenCanvas | VideoFrame
  | Picture | TextureSource;

/** What the GPUs' programs are told. */
export interface Work {
  readonly picture: {readonly width: number; readonly height: number};
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly planes: boolean;
  /** By column (row) of the tensor: the first pixel, how many, their weights; `most` numbers and two each. */
  readonly columns: Float32Array<ArrayBuffer>;
  readonly rows: Float32Array<ArrayBuffer>;
  readonly mostColumns: number;
  readonly mostRows: number;
  /** The lines of the picture that count. */
  readonly begin: number;
  readonly lines: number;
  readonly scale: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
  /** Of integers. */
  readonly limits: readonly [number, number] | undefined;
}
