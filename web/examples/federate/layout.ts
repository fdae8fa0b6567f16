/** The network that is learnt together (train/training.ts), as the server knows it: names and shapes, and files of them. */
import {numbers} from '../page/numbers.ts';

export type Layout = readonly (readonly [name: string, shape: readonly number[]])[];

export const DIGITS: Layout = [
  ['0.weight', [16, 1, 5, 5]], ['0.bias', [16]],
  ['3.weight', [32, 16, 5, 5]], ['3.bias', [32]],
  ['7.weight', [64, 512]], ['7.bias', [64]],
  ['10.weight', [10, 64]], ['10.bias', [10]],
];

export const sizeOf = (shape: readonly number[]): number => shape.reduce((all, extent) => all * extent, 1);
export const elementsOf = (layout: Layout): number => layout.reduce((sum, [, shape]) => sum + sizeOf(shape), 0);

/** PyTorch's: even within 1 / sqrt(inputs), biases as the weights before them. */
export function initial(layout: Layout, seed: number): Float32Array {
  const random = numbers(seed);
  let bound = 0;
  return Float32Array.from(layout.flatMap(([, shape]) => {
    if (shape.length > 1) bound = 1 / Math.sqrt(sizeOf(shape.slice(1)));
    return Array.from({length: sizeOf(shape)}, () => bound * (2 * random() - 1));
  }));
}

/** A safetensors file of these weights, which are one after the other. */
export function toFile(layout: Layout, weights: Float32Array): Uint8Array<ArrayBuffer> {
  let end = 0;
  const header = JSON.stringify(Object.fromEntries(layout.map(([name, shape]) => [name, {dtype: 'F32', shape, data_offsets: [end, (end += 4 * sizeOf(shape))]}])));
  const text = new TextEncoder().encode(header.padEnd(8 * Math.ceil(header.length / 8)));
  const file = new Uint8Array(8 + text.length + end);
  new DataView(file.buffer).setUint32(0, text.length, true);
  file.set(text, 8);
  const view = new DataView(file.buffer, 8 + text.length);
  weights.forEach((weight, at) => view.setFloat32(4 * at, weight, true));
  return file;
}
