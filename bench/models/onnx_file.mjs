// Writes ONNX files, in Node.js and in pages: the few messages of the format that the benchmark needs. Reads the fields of
// any message.
// A message is a list of chunks that are joined once at the end: BERT's weights are 340 MB.
const TYPES = {f32: 1, u8: 2, i8: 3, i32: 6, i64: 7, bool: 9};

/** The element type of an array, as in ports. */
export function typeOf(data) {
  if (data instanceof Float32Array) return 'f32';
  if (data instanceof BigInt64Array) return 'i64';
  if (data instanceof Int32Array) return 'i32';
  if (data instanceof Int8Array) return 'i8';
  if (data instanceof Uint8Array) return 'u8';
  throw new Error(`onnx_file: no element type for ${data?.constructor?.name}`);
}

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Uint8Array.from([...bytes, Number(rest)]);
}

const sizeOf = (chunks) => chunks.reduce((sum, {length}) => sum + length, 0);
const number = (field, value) => [varint(field << 3), varint(value)];
const message = (field, ...parts) => {
  const body = parts.flat(Infinity);
  return [varint((field << 3) | 2), varint(sizeOf(body)), ...body];
};
const text = (field, value) => message(field, new TextEncoder().encode(value));
const float = (field, value) => [varint((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)];

/** Fields of a protobuf message: [[number, BigInt or bytes], ...]. */
export function fields(bytes) {
  const found = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length) => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    found.push([tag >> 3, kind === 0 ? varint() : take(kind === 5 ? 4 : kind === 1 ? 8 : Number(varint()))]);
  }
  return found;
}

/** A number written as an integer, {float: 0.5}, a string, a list of integers, or a graph {nodes, inputs, outputs} of names. */
function attribute([name, value]) {
  if (value.nodes) {
    const ports = [value.inputs.map((each) => message(11, text(1, each))), value.outputs.map((each) => message(12, text(1, each)))];
    return message(5, text(1, name), message(6, value.nodes.map(node), text(2, name), ...ports), number(20, 5));
  }
  if (Array.isArray(value)) return message(5, text(1, name), value.map((each) => number(8, each)), number(20, 7));
  if (typeof value === 'string') return message(5, text(1, name), text(4, value), number(20, 3));
  if (typeof value === 'object') return message(5, text(1, name), float(2, value.float), number(20, 1));
  return message(5, text(1, name), number(3, value), number(20, 2));
}

function tensorParts({name, shape, data}) {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return [shape.map((extent) => number(1, extent)), number(2, TYPES[typeOf(data)]), text(8, name), message(9, raw)];
}

function joined(chunks) {
  const file = new Uint8Array(sizeOf(chunks));
  let at = 0;
  for (const chunk of chunks) {
    file.set(chunk, at);
    at += chunk.length;
  }
  return file;
}

/** The bytes of a TensorProto: {name, shape, data: typed array}. */
export const tensorFile = (tensor) => joined(tensorParts(tensor).flat(Infinity));

/** Extents that are names are free dimensions. */
function port(field, {name, type, dims}) {
  const extents = dims.map((extent) => message(1, typeof extent === 'string' ? text(2, extent) : number(1, extent)));
  return message(field, text(1, name), message(2, message(1, number(1, TYPES[type]), message(2, extents))));
}

function node({op, inputs, outputs, attributes = {}, domain}) {
  const names = [inputs.map((each) => text(1, each)), outputs.map((each) => text(2, each))];
  return message(1, ...names, text(3, outputs[0]), text(4, op), Object.entries(attributes).map(attribute), domain ? text(7, domain) : []);
}

/**
 * The bytes of a model. nodes: {op, inputs, outputs, attributes, domain}; weights: {name, shape, data: typed array};
 * inputs and outputs: {name, type, dims}; opset: of ONNX's own domain.
 */
export function onnxFile({name, nodes, weights, inputs, outputs, opset}) {
  const ports = [inputs.map((each) => port(11, each)), outputs.map((each) => port(12, each))];
  const graph = message(7, nodes.map(node), text(2, name), weights.map((weight) => message(5, tensorParts(weight))), ...ports);
  const domains = new Set(nodes.map(({domain}) => domain).filter(Boolean));
  const opsets = [message(8, text(1, ''), number(2, opset)), ...[...domains].map((each) => message(8, text(1, each), number(2, 1)))];
  return joined([number(1, 8), text(2, 'gossamer-bench'), graph, opsets].flat(Infinity));
}
