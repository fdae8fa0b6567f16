/** MNIST's files: "idx", a header of big-endian words, then a byte an element; gzipped or not. */

export interface Idx {
  readonly shape: readonly number[];
  readonly data: Uint8Array<ArrayBuffer>;
}

async function unzipped(file: Blob): Promise<ArrayBuffer> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (first !== 0x1f || second !== 0x8b) return file.arrayBuffer();
  return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

/** Throws for what is no such file of bytes. */
export async function readIdx(file: Blob, name: string): Promise<Idx> {
  const bytes = await unzipped(file);
  const view = new DataView(bytes);
  const rank = bytes.byteLength >= 4 ? view.getUint8(3) : 0;
  if (bytes.byteLength < 4 + 4 * rank || view.getUint16(0) !== 0 || view.getUint8(2) !== 8) {
    throw new Error(`${name} is no idx file of bytes`);
  }
  const shape = Array.from({length: rank}, (_, at) => view.getUint32(4 + 4 * at));
  const size = shape.reduce((all, extent) => all * extent, 1);
  if (bytes.byteLength !== 4 + 4 * rank + size) throw new Error(`${name} has another size than its header says`);
  return {shape, data: new Uint8Array(bytes, 4 + 4 * rank)};
}

export interface Digits {
  /** A byte a pixel, 28 x 28 a digit: 0 (paper) to 255 (ink). */
  readonly pixels: Uint8Array<ArrayBuffer>;
  readonly labels: Uint8Array<ArrayBuffer>;
  readonly count: number;
}

/** Throws where the two do not belong together. */
export function digitsOf(images: Idx, labels: Idx): Digits {
  const [count = 0, height, width] = images.shape;
  if (height !== 28 || width !== 28) throw new Error(`the pictures are ${height} x ${width}, not 28 x 28`);
  if (labels.shape[0] !== count) throw new Error(`${count} pictures and ${labels.shape[0]} labels do not belong together`);
  return {pixels: images.data, labels: labels.data, count};
}

/** So many of them, from one on; a view of the same bytes. */
export function firstOf({pixels, labels, count}: Digits, most: number, from = 0): Digits {
  const kept = Math.max(0, Math.min(most, count - from));
  const [side, end] = [28 * 28, from + kept];
  return {pixels: pixels.subarray(from * side, end * side), labels: labels.subarray(from, end), count: kept};
}
