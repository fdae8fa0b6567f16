// Arrays of the tests: .npy files, and the raw elements in them.
import {readFileSync} from 'node:fs';

const KINDS = {'<f4': Float32Array, '<f8': Float64Array, '<i8': BigInt64Array, '<i4': Int32Array, '|u1': Uint8Array, '|b1': Uint8Array, '|i1': Int8Array};

export function npy(type, shape, elements) {
  const data = new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  let header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`;
  header += ' '.repeat(63 - ((header.length + 10) % 64)) + '\n';
  return Buffer.concat([Buffer.from([0x93]), Buffer.from('NUMPY'), Buffer.from([1, 0, header.length & 255, header.length >> 8]), Buffer.from(header), data]);
}

/** {type, shape, elements, raw} of a file or its bytes. */
export function parse_npy(bytes) {
  if (bytes.subarray(1, 6).toString() !== 'NUMPY') throw new Error('not an .npy file');
  const length = bytes.readUInt16LE(8);
  const header = bytes.subarray(10, 10 + length).toString();
  const type = header.match(/'descr': '(.*?)'/)[1];
  const shape = [...header.match(/'shape': \((.*?)\)/)[1].matchAll(/\d+/g)].map(Number);
  const raw = bytes.subarray(10 + length);
  return {type, shape, raw, elements: elements_of(type, raw)};
}

export const read_npy = (file) => parse_npy(readFileSync(file));

export function elements_of(type, raw) {
  const copy = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength);
  return new KINDS[type](copy);
}

/** What is wrong with elements, or undefined: of floats the largest difference, against the largest value. */
export function difference(got, wanted, tolerance) {
  if (got.length !== wanted.length) return `${got.length} elements, not ${wanted.length}`;
  let scale = 1;
  for (const value of wanted) scale = Math.max(scale, Math.abs(Number(value)) || 0);
  for (let at = 0; at < got.length; ++at) {
    const a = Number(got[at]), b = Number(wanted[at]);
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    if (!(Math.abs(a - b) <= tolerance * scale)) return `element ${at} is ${a}, not ${b}`;
  }
}

/** Numbers in [0, 1) from a seed (mulberry32, https://github.com/bryc/code/blob/master/jshash/PRNGs.md). */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
