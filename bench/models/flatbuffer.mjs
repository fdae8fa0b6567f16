// Writes FlatBuffers (https://flatbuffers.dev/internals): what .tflite files need of them. Values are described as
//   i8(1), u8(1), i32(1), u32(1)    scalars of a table
//   table([field, ...])             fields in the schema's order; undefined: left out
//   vector([table, ...]), ints([1, 2]), text('x'), bytes(typedArray)
// and written forward, each object behind those that refer to it.
const scalar = (size, set) => (value) => ({kind: 'scalar', size, set, value});
export const i8 = scalar(1, 'setInt8');
export const u8 = scalar(1, 'setUint8');
export const i32 = scalar(4, 'setInt32');
export const u32 = scalar(4, 'setUint32');
export const table = (fields) => ({kind: 'table', fields});
export const vector = (items) => ({kind: 'vector', items});
export const ints = (values) => bytesOf(Int32Array.from(values), values.length, 4);
export const text = (value) => {
  const raw = new TextEncoder().encode(value);
  return bytesOf(Uint8Array.from([...raw, 0]), raw.length, 4); // its final 0 is not counted
};
/** Aligned to 16 bytes, as kernels want weights. */
export const bytes = (data) => bytesOf(data, data.byteLength, 16);

function bytesOf(data, count, align) {
  return {kind: 'bytes', data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength), count, align};
}

class Writer {
  constructor() {
    this.reserve(1 << 20);
    this.end = 0;
  }

  reserve(size) {
    if (this.file?.length >= size) return;
    const grown = new Uint8Array(Math.max(size, 2 * (this.file?.length ?? 0)));
    if (this.file) grown.set(this.file);
    this.file = grown;
    this.view = new DataView(grown.buffer);
  }

  /** A place of `size` bytes whose byte `offset` is at a multiple of `align`. */
  place(size, align, offset = 0) {
    this.end += (align - ((this.end + offset) % align)) % align;
    const at = this.end;
    this.end += size;
    this.reserve(this.end);
    return at;
  }

  refer(at, target) {
    const to = this.write(target);
    this.view.setUint32(at, to - at, true);
  }

  /** Writes an object and what it refers to; gives its position. */
  write(value) {
    if (value.kind === 'table') return this.table(value.fields);
    if (value.kind === 'bytes') {
      const at = this.place(4 + value.data.length, value.align, 4);
      this.view.setUint32(at, value.count, true);
      this.file.set(value.data, at + 4);
      return at;
    }
    const at = this.place(4 + 4 * value.items.length, 4);
    this.view.setUint32(at, value.items.length, true);
    for (const [index, item] of value.items.entries()) this.refer(at + 4 + 4 * index, item);
    return at;
  }

  /** Every field has four bytes; the table of their offsets stands before. */
  table(fields) {
    const known = this.place(4 + 2 * fields.length, 4);
    const present = fields.filter((field) => field !== undefined);
    const at = this.place(4 + 4 * present.length, 4);
    this.view.setUint16(known, 4 + 2 * fields.length, true);
    this.view.setUint16(known + 2, 4 + 4 * present.length, true);
    this.view.setInt32(at, at - known, true);
    for (const [index, field] of fields.entries()) {
      if (field === undefined) continue;
      const offset = 4 + 4 * present.indexOf(field);
      this.view.setUint16(known + 4 + 2 * index, offset, true);
      if (field.kind === 'scalar') this.view[field.set](at + offset, field.value, true);
      else this.refer(at + offset, field);
    }
    return at;
  }
}

/** The bytes of a file with this table at its root; identifier: four letters. */
export function flatbuffer(root, identifier) {
  const writer = new Writer();
  const at = writer.place(8, 4);
  writer.file.set(new TextEncoder().encode(identifier), 4);
  writer.refer(at, root);
  return writer.file.subarray(0, writer.end);
}
