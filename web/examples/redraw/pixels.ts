/** Pictures as planes of numbers and back. */

/** Four bytes a pixel, as ImageData has them. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray<ArrayBuffer>;
}

export const pixels = (width: number, height: number): Pixels => ({width, height, data: new Uint8ClampedArray(4 * width * height)});

/** Brightness of bytes, 0 to 1 (JFIF's Y). */
export function luma({width, height, data}: Pixels): Float32Array {
  return Float32Array.from({length: width * height}, (_, at) =>
    (0.299 * (data[4 * at] as number) + 0.587 * (data[4 * at + 1] as number) + 0.114 * (data[4 * at + 2] as number)) / 255);
}

/** The picture with another brightness, its colours as they are: JFIF's Cb and Cr stay, so each of red, green and blue moves with Y. */
export function withLuma(picture: Pixels, wanted: Float32Array): Pixels {
  const made = pixels(picture.width, picture.height);
  const had = luma(picture);
  for (let at = 0; at < had.length; ++at) {
    const change = 255 * ((wanted[at] as number) - (had[at] as number));
    for (let channel = 0; channel < 3; ++channel) made.data[4 * at + channel] = (picture.data[4 * at + channel] as number) + change;
    made.data[4 * at + 3] = 255;
  }
  return made;
}

/** Planes of blue, green and red, 0 to 255. */
export function toBgr({width, height, data}: Pixels): Float32Array {
  const area = width * height;
  const planes = new Float32Array(3 * area);
  for (let at = 0; at < area; ++at) for (let channel = 0; channel < 3; ++channel) planes[(2 - channel) * area + at] = data[4 * at + channel] as number;
  return planes;
}

export function fromBgr(planes: Float32Array, width: number, height: number): Pixels {
  const made = pixels(width, height);
  const area = width * height;
  for (let at = 0; at < area; ++at) {
    for (let channel = 0; channel < 3; ++channel) made.data[4 * at + channel] = planes[(2 - channel) * area + at] as number;
    made.data[4 * at + 3] = 255;
  }
  return made;
}

export function canvasOf({width, height, data}: Pixels): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext('2d')?.putImageData(new ImageData(data, width, height), 0, 0);
  return canvas;
}

/** A picture, or a part of it, at a size, as the browser scales. */
export function scaled(source: CanvasImageSource, from: {x: number; y: number; width: number; height: number}, width: number, height: number): Pixels {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (!context) throw new Error('There is no canvas to be had.');
  context.imageSmoothingQuality = 'high';
  // Under what is transparent.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, width, height);
  context.drawImage(source, from.x, from.y, from.width, from.height, 0, 0, width, height);
  return {width, height, data: context.getImageData(0, 0, width, height).data};
}
