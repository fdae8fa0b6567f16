// Writes ONNX files: the few messages of the format that the benchmark's networks need.
const FLOAT = 1;
const INT64 = 7;

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);

function message(field, ...parts) {
  const body = Buffer.concat(parts.flat());
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
}

const text = (field, value) => message(field, Buffer.from(value));

function attribute([name, value]) {
  if (Array.isArray(value)) {
    return message(5, text(1, name), value.map((each) => number(8, each)), number(20, 7));
  }
  return message(5, text(1, name), number(3, value), number(20, 2));
}

function tensor({name, shape, data}) {
  const type = data instanceof BigInt64Array ? INT64 : FLOAT;
  const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return message(5, shape.map((extent) => number(1, extent)), number(2, type), text(8, name), message(9, raw));
}

function port(field, {name, shape}) {
  const dims = shape.map((extent) => message(1, number(1, extent)));
  return message(field, text(1, name), message(2, message(1, number(1, FLOAT), message(2, dims))));
}

/**
 * The bytes of a model of opset 13. nodes: {op, inputs, output, attributes}; weights: {name, shape,
 * data: Float32Array or BigInt64Array}; inputs and outputs: {name, shape}, all f32.
 */
export function onnxFile({name, nodes, weights, inputs, outputs}) {
  const encoded = nodes.map(({op, inputs: from, output, attributes = {}}) =>
    message(
      1,
      from.map((each) => text(1, each)),
      text(2, output),
      text(3, output),
      text(4, op),
      Object.entries(attributes).map(attribute),
    ),
  );
  const graph = message(
    7,
    encoded,
    text(2, name),
    weights.map(tensor),
    inputs.map((each) => port(11, each)),
    outputs.map((each) => port(12, each)),
  );
  return Buffer.concat([number(1, 8), text(2, 'gossamer-bench'), graph, message(8, text(1, ''), number(2, 13))]);
}
