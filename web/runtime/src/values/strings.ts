/** A tensor of strings is one value to users and two tensors, bytes and lengths, in a package (package.md). */
import type {StringTensor, Tensor} from './tensor.ts';
import {LARGEST, within} from './types.ts';

/**
 * Widths are rounded up, so that texts of about one length make tensors of one shape. Throws 'input' where
 * many texts and a long one are more bytes than 31 bits count.
 */
export function packStrings({data, shape}: StringTensor, name = ''): Tensor[] {
  const encoder = new TextEncoder();
  const texts = data.map((text) => encoder.encode(text));
  const longest = texts.reduce((most, {length}) => Math.max(most, length), 1);
  const width = Math.ceil(longest / 8) * 8;
  const bytes = new Uint8Array(within(texts.length * width, `bytes of input "${name}", packed,`, LARGEST));
  texts.forEach((text, at) => bytes.set(text, at * width));
  return [
    {data: bytes, shape: [...shape, width], dtype: 'u8'},
    {data: Int32Array.from(texts, ({length}) => length), shape, dtype: 'i32'},
  ];
}

export function unpackStrings(bytes: Uint8Array, lengths: Int32Array, width: number): string[] {
  const decoder = new TextDecoder();
  return Array.from(lengths, (length, at) =>
    decoder.decode(bytes.subarray(at * width, at * width + length)),
  );
}
