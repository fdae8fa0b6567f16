/** How a camera was held: the orientation in Exif data, and pictures turned upright by it. */
import type {Picture} from '../../runtime/src/image/preprocess.ts';

const EXIF_JPEG = 0xffe1;
const SCAN = 0xffda;
const ORIENTATION = 0x0112;

/** Of TIFF's header and first directory: 12 bytes an entry. 1 where there is none. */
function ofTiff(tiff: DataView): number {
  const order = tiff.getUint16(0);
  const little = order === 0x4949;
  if ((!little && order !== 0x4d4d) || tiff.getUint16(2, little) !== 42) return 1;
  const directory = tiff.getUint32(4, little);
  for (let at = 0; at < tiff.getUint16(directory, little); ++at) {
    const entry = directory + 2 + 12 * at;
    if (tiff.getUint16(entry, little) !== ORIENTATION) continue;
    const value = tiff.getUint16(entry + 8, little);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

/** Of a JPEG or PNG file; 1 (upright) also for damaged data. */
export function orientationOf(file: Uint8Array): number {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const part = (from: number, length: number): DataView => new DataView(file.buffer, file.byteOffset + from, length);
  try {
    if (view.getUint16(0) === 0xffd8) {
      for (let at = 2; at + 4 <= file.length; at += 2 + view.getUint16(at + 2)) {
        const marker = view.getUint16(at);
        if (marker === SCAN) return 1;
        if (marker === EXIF_JPEG && view.getUint32(at + 4) === 0x45786966) return ofTiff(part(at + 10, view.getUint16(at + 2) - 8));
      }
      return 1;
    }
    for (let at = 8; at + 12 <= file.length; at += 12 + view.getUint32(at)) {
      if (view.getUint32(at + 4) === 0x65584966) return ofTiff(part(at + 8, view.getUint32(at)));
    }
  } catch (problem) {
    // A read beyond the end.
    if (!(problem instanceof RangeError)) throw problem;
  }
  return 1;
}

export function upright({width, height, rgba}: Picture, orientation: number): Picture {
  if (orientation === 1) return {width, height, rgba};
  const swaps = orientation > 4;
  const [newWidth, newHeight] = swaps ? [height, width] : [width, height];
  const turned = new Uint8Array(rgba.length);
  for (let y = 0; y < newHeight; ++y) {
    for (let x = 0; x < newWidth; ++x) {
      // Where the pixel is in the file: mirrored columns in 2, 3, 7 and 8 of the stored picture, rows in 3, 4, 6 and 7.
      const [a, b] = swaps ? [y, x] : [x, y];
      const column = [2, 3, 7, 8].includes(orientation) ? width - 1 - a : a;
      const row = [3, 4, 6, 7].includes(orientation) ? height - 1 - b : b;
      const from = 4 * (row * width + column);
      turned.set(rgba.subarray(from, from + 4), 4 * (y * newWidth + x));
    }
  }
  return {width: newWidth, height: newHeight, rgba: turned};
}
