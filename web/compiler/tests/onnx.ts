/** Enough of protobuf's wire form to write a small ONNX model for a test. */

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  do {
    bytes.push((value % 128) | (value >= 128 ? 128 : 0));
    value = Math.floor(value / 128);
  } while (value > 0);
  return bytes;
};

type Field = readonly [number: number, value: number | string | readonly number[] | Uint8Array];

/** A message of fields: numbers as varints, strings and bytes with their length. */
export function message(...fields: readonly Field[]): number[] {
  return fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(number * 8), ...varint(value)];
    const bytes = typeof value === 'string' ? [...new TextEncoder().encode(value)] : [...value];
    return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
  });
}

const FLOAT = 1;

function valueInfo(name: string, shape: readonly (number | string)[]): number[] {
  const dims = shape.map((extent): Field =>
    [1, typeof extent === 'number' ? message([1, extent]) : message([2, extent])],
  );
  const tensor = message([1, FLOAT], [2, message(...dims)]);
  return message([1, name], [2, message([1, tensor])]);
}

const node = (type: string, inputs: readonly string[], output: string): number[] =>
  message(...inputs.map((input): Field => [1, input]), [2, output], [4, type], [3, output]);

/** y = relu(x w + b) for x [n, 3], w [3, 2]; `operator` replaces Relu. */
export function perceptron(n: number | string, operator = 'Relu'): Uint8Array {
  const floats = (values: readonly number[]): Uint8Array =>
    new Uint8Array(Float32Array.from(values).buffer);
  const constant = (name: string, shape: readonly number[], values: readonly number[]): number[] =>
    message(...shape.map((extent): Field => [1, extent]), [2, FLOAT], [8, name], [9, floats(values)]);
  const graph = message(
    [1, node('MatMul', ['x', 'w'], 'product')],
    [1, node('Add', ['product', 'b'], 'sum')],
    [1, node(operator, ['sum'], 'y')],
    [2, 'perceptron'],
    [5, constant('w', [3, 2], [1, 2, 3, 4, 5, 6])],
    [5, constant('b', [2], [0.5, -100])],
    [11, valueInfo('x', [n, 3])],
    [12, valueInfo('y', [n, 2])],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}
