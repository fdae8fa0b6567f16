/** Reading .npy files (NumPy's NEP 1): only what carries tensors, in row-major order. */

const TYPES: Readonly<Record<string, string>> = {
  f4: 'f32', f2: 'f16', f8: 'f64', i1: 'i8', i2: 'i16', i4: 'i32', i8: 'i64',
  u1: 'u8', u2: 'u16', u4: 'u32', u8: 'u64', b1: 'bool',
};

export interface NpyHeader {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Where the values start. */
  readonly offset: number;
}

export function readNpyHeader(file: Uint8Array, where: string): NpyHeader {
  const wrong = (what: string): never => {
    throw new Error(`${where}: ${what}`);
  };
  if (file.length < 12 || file[0] !== 0x93 || String.fromCharCode(...file.subarray(1, 6)) !== 'NUMPY') {
    wrong('not an .npy file');
  }
  const view = new DataView(file.buffer, file.byteOffset);
  const old = file[6] === 1;
  const start = old ? 10 : 12;
  const length = old ? view.getUint16(8, true) : view.getUint32(8, true);
  const header = new TextDecoder().decode(file.subarray(start, start + length));
  const descr = /'descr': *'([<>|=])([a-z]\d+)'/.exec(header);
  const shape = /'shape': *\(([^)]*)\)/.exec(header);
  const dtype = TYPES[descr?.[2] ?? ''];
  if (!dtype || descr?.[1] === '>') return wrong(`element type ${descr?.[0] ?? '?'} is not supported`);
  if (!shape || header.includes("'fortran_order': True")) return wrong('not in row-major order');
  const extents = (shape[1] ?? '').split(',').filter((each) => each.trim() !== '');
  return {dtype, shape: extents.map(Number), offset: start + length};
}
