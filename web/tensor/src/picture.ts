/** Bytes of what a page shows. */
import {GossamerError} from '../../runtime/src/values/types.ts';

export type Picture =
  | ImageData | ImageBitmap | HTMLImageElement | HTMLVideoElement | HTMLCanvasElement | OffscreenCanvas | VideoFrame
  | {readonly data: Uint8Array | Uint8ClampedArray; readonly width: number; readonly height: number};

interface Sized {
  readonly readyState?: number;
  readonly naturalWidth?: number;
  readonly videoWidth?: number;
  readonly displayWidth?: number;
  readonly width?: number;
  readonly naturalHeight?: number;
  readonly videoHeight?: number;
  readonly displayHeight?: number;
  readonly height?: number;
}

/** What a GPU reads where it lies. */
export type Snapshot = ImageBitmap | VideoFrame;

/** What it shows at this moment, for a GPU; nothing where its bytes are in the page anyway. */
export function snapshotOf(picture: Picture): Promise<Snapshot> | undefined {
  if ('data' in picture || typeof createImageBitmap === 'undefined') return undefined;
  return typeof VideoFrame !== 'undefined' && picture instanceof VideoFrame ? Promise.resolve(picture.clone()) : createImageBitmap(picture);
}

/** Throws 'input' for a picture that is not there yet. */
export function sizeOf(picture: Picture): {width: number; height: number} {
  const sized: Sized = picture;
  const width = sized.naturalWidth ?? sized.videoWidth ?? sized.displayWidth ?? sized.width ?? 0;
  const height = sized.naturalHeight ?? sized.videoHeight ?? sized.displayHeight ?? sized.height ?? 0;
  // A video may know its size before it has a frame (HTMLMediaElement.HAVE_CURRENT_DATA).
  if (width > 0 && height > 0 && (sized.readyState ?? 2) >= 2) return {width, height};
  throw new GossamerError('input', 'fromData: the picture is not loaded yet: it has no pixels (of a video await "loadeddata")');
}

let canvas: OffscreenCanvas | undefined;

/** Four bytes a pixel, not premultiplied. Throws 'input' for a picture that is not there yet, 'unsupported' without canvases. */
export function pixels(picture: Picture): {data: Uint8Array; width: number; height: number} {
  if ('data' in picture) {
    const {data, width, height} = picture;
    return {data: new Uint8Array(data.buffer, data.byteOffset, data.length).slice(), width, height};
  }
  const {width, height} = sizeOf(picture);
  if (typeof OffscreenCanvas === 'undefined') {
    throw new GossamerError('unsupported', 'fromData: without canvases it takes {data, width, height} only');
  }
  canvas ??= new OffscreenCanvas(width, height);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d', {willReadFrequently: true}) as OffscreenCanvasRenderingContext2D;
  context.drawImage(picture, 0, 0, width, height);
  const {data} = context.getImageData(0, 0, width, height);
  return {data: new Uint8Array(data.buffer), width, height};
}
