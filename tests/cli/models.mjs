// Small ONNX models and .npy files as bytes: as much protobuf as that takes.

export const types = {f32: 1, u8: 2, i64: 7, string: 8, bool: 9, f16: 10, f64: 11};

function varint(number) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(number));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

export const integer = (field, number) => Buffer.concat([varint(field << 3), varint(number)]);

// A string, bytes or an embedded message.
export function block(field, content) {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

export const message = (...fields) => Buffer.concat(fields.flat());

// ValueInfoProto: name, and a tensor type of element type and shape (numbers, or names of dimensions), which may
// stand in a sequence or an optional; without a shape its rank is unknown.
export function value(name, type, shape, {sequence = false, optional = false} = {}) {
  const extents = shape?.map((extent) => block(1, typeof extent === 'string' ? block(2, extent) : integer(1, extent)));
  let proto = block(1, message(integer(1, types[type]), ...(extents ? [block(2, message(extents))] : [])));
  if (sequence) proto = block(4, block(1, proto)); // TypeProto.sequence_type.elem_type
  if (optional) proto = block(9, block(1, proto));
  return message(block(1, name), block(2, proto));
}

// `integers`, `strings`, `graphs`: the attributes that are one of these each.
export function node(operator, inputs, outputs, {name = '', integers = {}, strings = {}, graphs = {}} = {}) {
  const attributes = (given, type, field) =>
    Object.entries(given).map(([key, content]) => block(5, message(block(1, key), field(content), integer(20, type))));
  return message(
    inputs.map((input) => block(1, input)),
    outputs.map((output) => block(2, output)),
    block(3, name), block(4, operator),
    attributes(integers, 2, (number) => integer(3, number)),
    attributes(strings, 3, (text) => block(4, text)),
    attributes(graphs, 5, (graph) => block(6, graph)));
}

// TensorProto whose data lies in a file.
export function tensor(name, type, shape, {location}) {
  const entry = message(block(1, 'location'), block(2, location));
  return message(
    shape.map((extent) => integer(1, extent)),
    integer(2, types[type]), block(8, name), block(13, entry), integer(14, 1));
}

// TensorProto with its data in it; `data` is an array of the type's elements.
export const stored = ({type, shape, data}, name = '') => message(
  shape.map((extent) => integer(1, extent)), integer(2, types[type]), block(8, name),
  block(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)));

// GraphProto.
export const graph = ({nodes, inputs, outputs, weights = []}) => message(
  nodes.map((one) => block(1, one)), block(2, 'test'), weights.map((one) => block(5, one)),
  inputs.map((one) => block(11, one)), outputs.map((one) => block(12, one)));

// ModelProto of opset 17.
export const model = (parts) => message(integer(1, 8), block(7, graph(parts)), block(8, integer(2, 17)));

// An .npy file of this content; kind is '<f4' or '|u1', whose digit is the element's bytes.
export function npyOf(kind, shape, content, {fortran = false} = {}) {
  const order = fortran ? 'True' : 'False';
  const extents = shape.map((extent) => `${extent},`).join(' ');
  const header = `{'descr': '${kind}', 'fortran_order': ${order}, 'shape': (${extents}), }\n`;
  const start = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  return Buffer.concat([start, Buffer.from(header), content]);
}

// An array of zeros.
export function npy(kind, shape) {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return npyOf(kind, shape, Buffer.alloc(count * Number(kind[2])));
}
