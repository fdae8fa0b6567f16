/** Enough of protobuf's wire form to write a small ONNX model for a test. */

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  do {
    bytes.push((value % 128) | (value >= 128 ? 128 : 0));
    value = Math.floor(value / 128);
  } while (value > 0);
  return bytes;
};

export type Field = readonly [number: number, value: number | string | readonly number[] | Uint8Array];

/** A message of fields: numbers as varints, strings and bytes with their length. */
export function message(...fields: readonly Field[]): number[] {
  return fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(number * 8), ...varint(value)];
    const bytes = typeof value === 'string' ? [...new TextEncoder().encode(value)] : [...value];
    return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
  });
}

const FLOAT = 1;
const INT64 = 7;

type Shape = readonly (number | string)[];

function valueInfo(name: string, shape: Shape, type = FLOAT): number[] {
  const dims = shape.map((extent): Field =>
    [1, typeof extent === 'number' ? message([1, extent]) : message([2, extent])],
  );
  const tensor = message([1, type], [2, message(...dims)]);
  return message([1, name], [2, message([1, tensor])]);
}

const node = (type: string, inputs: readonly string[], output: string, domain = ''): number[] =>
  message(...inputs.map((input): Field => [1, input]), [2, output], [4, type], [3, output], [7, domain]);

/** y = relu(x w + b) for x [n, 3], w [3, 2]; `operator` of `domain` replaces Relu. */
export function perceptron(n: number | string, operator = 'Relu', domain = ''): Uint8Array {
  const floats = (values: readonly number[]): Uint8Array =>
    new Uint8Array(Float32Array.from(values).buffer);
  const constant = (name: string, shape: readonly number[], values: readonly number[]): number[] =>
    message(...shape.map((extent): Field => [1, extent]), [2, FLOAT], [8, name], [9, floats(values)]);
  const graph = message(
    [1, node('MatMul', ['x', 'w'], 'product')],
    [1, node('Add', ['product', 'b'], 'sum')],
    [1, node(operator, ['sum'], 'y', domain)],
    [2, 'perceptron'],
    [5, constant('w', [3, 2], [1, 2, 3, 4, 5, 6])],
    [5, constant('b', [2], [0.5, -100])],
    [11, valueInfo('x', [n, 3])],
    [12, valueInfo('y', [n, 2])],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])], ...(domain ? [[8, message([1, domain], [2, 1])] as const] : [])));
}

/** y = x * s for x [2], where s is an input with the default [2]; `unused`: another, which nothing reads. */
export function scaled({version = 8, half = false}: {version?: number; half?: boolean} = {}): Uint8Array {
  const type = half ? 10 : FLOAT;
  const values = half ? Uint8Array.of(0, 0x40) : new Uint8Array(Float32Array.of(2).buffer);
  const constant = (name: string): number[] => message([1, 1], [2, type], [8, name], [9, values]);
  const graph = message(
    [1, node('Mul', ['x', 's'], 'y')],
    [2, 'scaled'],
    [5, constant('s')],
    [5, constant('unused')],
    ...['s', 'x', 'unused'].map((name): Field => [11, valueInfo(name, [name === 'x' ? 2 : 1], type)]),
    [12, valueInfo('y', [2], type)],
  );
  return Uint8Array.from(message([1, version], [7, graph], [8, message([1, ''], [2, 17])]));
}

/** y = x w + b for x [1, inputs], w [classes, inputs], as the last layer of a network is written. */
export function classifier(inputs: number, classes: number): Uint8Array {
  const constant = (name: string, shape: readonly number[]): number[] => {
    const count = shape.reduce((a, b) => a * b, 1);
    const data = new Uint8Array(Float32Array.from({length: count}, (_, at) => Math.sin(at)).buffer);
    return message(...shape.map((extent): Field => [1, extent]), [2, FLOAT], [8, name], [9, data]);
  };
  const transposed = message([1, 'transB'], [3, 1], [20, 2]);
  const gemm = message([1, 'x'], [1, 'w'], [1, 'b'], [2, 'y'], [4, 'Gemm'], [3, 'y'], [5, transposed]);
  const graph = message(
    [1, gemm],
    [2, 'classifier'],
    [5, constant('w', [classes, inputs])],
    [5, constant('b', [classes])],
    [11, valueInfo('x', [1, inputs])],
    [12, valueInfo('y', [1, classes])],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}

/** y = softmax(x x) x for x of side x side. The softmax is over columns: over rows all would be one kernel, which no search changes. */
export function product(side: number): Uint8Array {
  const axis = message([1, 'axis'], [3, 0], [20, 2]);
  const graph = message(
    [1, node('MatMul', ['x', 'x'], 'square')],
    [1, message([1, 'square'], [2, 'weights'], [4, 'Softmax'], [5, axis])],
    [1, node('MatMul', ['weights', 'x'], 'y')],
    [2, 'product'],
    [11, valueInfo('x', [side, side])],
    [12, valueInfo('y', [side, side])],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}

/** y = relu(x) of four elements of ONNX's type `type`. */
export function relu(type: number): Uint8Array {
  const graph = message(
    [1, node('Relu', ['x'], 'y')],
    [2, 'relu'],
    [11, valueInfo('x', [4], type)],
    [12, valueInfo('y', [4], type)],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}

export interface SumOptions {
  readonly a?: Shape;
  readonly b?: Shape;
  readonly operator?: string;
  /** b is i64. */
  readonly integers?: boolean;
  /** b is a weight in this file. */
  readonly location?: string;
}

/** c = a + b, where node "the sum" can be given every mistake. */
export function sum({a = [4], b = [4], operator = 'Add', integers, location}: SumOptions = {}): Uint8Array {
  const weight = (path: string): number[] =>
    message(
      ...b.map((extent): Field => [1, Number(extent)]),
      [2, FLOAT], [8, 'b'], [13, message([1, 'location'], [2, path])], [14, 1],
    );
  const graph = message(
    [1, message([1, 'a'], [1, 'b'], [2, 'c'], [3, 'the sum'], [4, operator])],
    [2, 'sum'],
    ...(location === undefined ? [] : [[5, weight(location)] as const]),
    [11, valueInfo('a', a)],
    ...(location === undefined ? [[11, valueInfo('b', b, integers ? INT64 : FLOAT)] as const] : []),
    [12, valueInfo('c', a)],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}

const bare = (name: string, type = FLOAT): number[] => message([1, name], [2, message([1, message([1, type])])]);
const modelOf = (...graph: readonly Field[]): Uint8Array => Uint8Array.from(message([1, 8], [7, message(...graph)], [8, message([1, ''], [2, 17])]));

/** y = x without its axes of extent 1. */
export const squeezed = (shape: Shape): Uint8Array =>
  modelOf([1, node('Squeeze', ['x'], 'y')], [2, 'squeezed'], [11, valueInfo('x', shape)], [12, bare('y')]);

/** y = x without axis 1 where its extent is 1, as torch's exporter writes squeeze(x, 1): an If whose branches differ in rank. */
export function squeezedIfOne(shape: Shape): Uint8Array {
  const branch = (name: string, operator: string, inputs: readonly string[]): Field =>
    [5, message([1, name], [6, message([1, node(operator, inputs, 't')], [2, operator], [12, bare('t')])], [20, 5])];
  const one = message([1, 1], [2, INT64], [8, 'one'], [9, Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0)]);
  return modelOf(
    [1, node('Shape', ['x'], 'shape')],
    [1, node('Gather', ['shape', 'one'], 'n')],
    [1, node('Equal', ['n', 'one'], 'is one')],
    [1, message([1, 'is one'], [2, 'y'], [4, 'If'], branch('then_branch', 'Squeeze', ['x', 'one']), branch('else_branch', 'Identity', ['x']))],
    [2, 'squeezed if one'],
    [5, one],
    [11, valueInfo('x', shape)],
    [12, bare('y')],
  );
}

/** y = x summed over `axes`, an input of one element, which then has no axis more. */
export const summedOver = (shape: Shape): Uint8Array =>
  modelOf(
    [1, message([1, 'x'], [1, 'axes'], [2, 'y'], [4, 'ReduceSum'], [5, message([1, 'keepdims'], [3, 0], [20, 2])])],
    [2, 'summed over'],
    [11, valueInfo('x', shape)],
    [11, valueInfo('axes', [1], INT64)],
    [12, bare('y')],
  );

/** values and indices are the k largest elements of x along its last axis. The inputs have no shapes, as those of Transformers.js's own models. */
export const largest = (): Uint8Array =>
  modelOf(
    [1, message([1, 'x'], [1, 'k'], [2, 'values'], [2, 'indices'], [4, 'TopK'])],
    [2, 'largest'],
    [11, bare('x')],
    [11, bare('k', INT64)],
    [12, bare('values')],
    [12, bare('indices', INT64)],
  );

/** y is element 0 of the sequence xs of [n, 2], plus 1 where the optional mask of [2] is given. */
export function picked(): Uint8Array {
  const pair = (shape: Shape): number[] => {
    const dims = shape.map((extent): Field =>
      [1, typeof extent === 'number' ? message([1, extent]) : message([2, extent])],
    );
    return message([1, message([1, FLOAT], [2, message(...dims)])]);
  };
  const zero = message([2, INT64], [8, 'zero'], [9, new Uint8Array(8)]);
  const graph = message(
    [1, node('SequenceAt', ['xs', 'zero'], 'x')],
    [1, node('OptionalHasElement', ['mask'], 'has')],
    [1, message([1, 'has'], [2, 'one'], [4, 'Cast'], [5, message([1, 'to'], [3, FLOAT], [20, 2])])],
    [1, node('Add', ['x', 'one'], 'y')],
    [2, 'picked'],
    [5, zero],
    [11, message([1, 'xs'], [2, message([4, message([1, pair(['n', 2])])])])],
    [11, message([1, 'mask'], [2, message([9, message([1, pair([2])])])])],
    [12, valueInfo('y', ['m', 2])],
  );
  return Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
}

/** What a page can be given instead of a good model, and what it must say. */
export const BAD_MODELS: readonly (readonly [what: string, bytes: Uint8Array, message: RegExp])[] = [
  ['an empty file', new Uint8Array(), /the file is empty, not an ONNX model/],
  ['text', new TextEncoder().encode('this is no model, it is a sentence.\n'), /text that begins with "this is no model, it is a sentence\.", not an ONNX model/],
  ['a page', new TextEncoder().encode('<!DOCTYPE html><html><title>404'), /an HTML page, not an ONNX model \(.*check the address/],
  ['a pointer', new TextEncoder().encode('version https://git-lfs.github.com/spec/v1\noid'), /a Git LFS pointer, .*git lfs pull/],
  ['weights alone', Uint8Array.from([2, 0, 0, 0, 0, 0, 0, 0, 123, 125]), /a safetensors file/],
  ['a truncated model', sum().subarray(0, 60), /truncated/],
  ['an unknown operator', sum({operator: 'Frobnicate'}), /\[Frobnicate\] "the sum": is an unknown operator/],
  ['two types', sum({integers: true}), /"the sum": inputs have types f32 and i64/],
  ['shapes that do not broadcast', sum({a: [3]}), /"the sum": shapes \[3\] and \[4\] do not broadcast/],
  ['weights in another file', sum({location: 'w.bin'}), /"b": external data "w\.bin": was not given \(the model wants "w\.bin"; externalData has no files/],
  ['a path out of the folder', sum({location: '../w.bin'}), /"b": .*"\.\.\/w\.bin" leaves the model's folder/],
  ['an absolute path', sum({location: '/etc/passwd'}), /"b": .*"\/etc\/passwd" leaves the model's folder/],
  ['an input no machine holds', sum({a: [2 ** 20, 2 ** 20, 2 ** 20], b: [1]}), /"a": .*more elements than/],
  ['a result that does not fit', sum({a: [2 ** 16, 1], b: [1, 2 ** 16]}), /"the sum": would make a tensor of 4294967296 elements, "c"/],
];

/** y = -NAME(relu(x)) of com.example for x [2, 4]; `alpha` as the node's attribute. */
export function ownOperator(name: string, shape: readonly number[] = [2, 4], alpha?: number): Uint8Array {
  const given = alpha === undefined ? [] : [[5, message([1, 'alpha'], [3, alpha], [20, 2])] as const];
  const graph = message(
    [1, message([1, 'x'], [2, 'r'], [4, 'Relu'])],
    [1, message([1, 'r'], [2, 's'], [3, 'mine'], [4, name], ...given, [7, 'com.example'])],
    [1, message([1, 's'], [2, 'y'], [4, 'Neg'])],
    [2, 'own operator'],
    [11, valueInfo('x', [2, 4])],
    [12, valueInfo('y', shape)],
  );
  const imports = [message([1, ''], [2, 17]), message([1, 'com.example'], [2, 1])];
  return Uint8Array.from(message([1, 8], [7, graph], ...imports.map((each) => [8, each] as const)));
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/**
 * y = x + w0 + w1 + ... of 8192 elements, reshaped to [64, 128]; every other weight is a scalar of four bytes. Weights and
 * the shape lie in the file data/w.bin, which comes beside the model.
 */
export function manyWeights(count: number): {model: Uint8Array; file: Uint8Array} {
  const pieces: Uint8Array[] = [];
  let offset = 0;
  const outside = (name: string, type: number, values: Float32Array | BigInt64Array): number[] => {
    const entries = {location: 'data/w.bin', offset: String(offset), length: String(values.byteLength)};
    pieces.push(new Uint8Array(values.buffer as ArrayBuffer));
    offset += values.byteLength;
    return message(
      [1, values.length], [2, type], [8, name],
      ...Object.entries(entries).map(([key, text]): Field => [13, message([1, key], [2, text])]),
      [14, 1],
    );
  };
  const weights = Array.from({length: count}, (_, i) =>
    outside(`w${i}`, FLOAT, new Float32Array(i % 2 ? 8192 : 1).fill(i)),
  );
  const sums = weights.map((_, i) => node('Add', [i === 0 ? 'x' : `s${i - 1}`, `w${i}`], `s${i}`));
  const graph = message(
    ...[...sums, node('Reshape', [`s${count - 1}`, 'shape'], 'y')].map((one): Field => [1, one]),
    [2, 'many weights'],
    ...[...weights, outside('shape', INT64, BigInt64Array.of(64n, 128n))].map((one): Field => [5, one]),
    [11, valueInfo('x', [8192])],
    [12, valueInfo('y', [64, 128])],
  );
  const model = Uint8Array.from(message([1, 8], [7, graph], [8, message([1, ''], [2, 17])]));
  return {model, file: joined(pieces)};
}

export interface SmallModel {
  readonly inputs: Readonly<Record<string, Shape>>;
  /** Operator, inputs, output; a Constant has its only element as its input. */
  readonly nodes: readonly (readonly [type: string, inputs: readonly (string | number)[], output: string])[];
  readonly initializers: Readonly<Record<string, readonly [shape: readonly number[], values: readonly number[]]>>;
  readonly outputs: readonly string[];
  /** What PyTorch's exporter says about initializers. */
  readonly kinds?: Readonly<Record<string, string>>;
}

/** A model of floats without attributes. */
export function smallModel({inputs, nodes, initializers, outputs, kinds = {}}: SmallModel): Uint8Array {
  const tensor = (name: string, shape: readonly number[], values: readonly number[]): number[] =>
    message(...shape.map((extent): Field => [1, extent]), [2, FLOAT], [8, name], [9, new Uint8Array(Float32Array.from(values).buffer)]);
  const constant = (value: number, output: string): number[] =>
    message([2, output], [4, 'Constant'], [5, message([1, 'value'], [5, tensor('', [], [value])], [20, 4])]);
  return modelOf(
    ...nodes.map(([type, given, output]): Field => [1, type === 'Constant' ? constant(Number(given[0]), output) : node(type, given.map(String), output)]),
    [2, 'small'],
    ...Object.entries(initializers).map(([name, [shape, values]]): Field => [5, tensor(name, shape, values)]),
    ...Object.entries(inputs).map(([name, shape]): Field => [11, valueInfo(name, shape)]),
    ...outputs.map((name): Field => [12, bare(name)]),
    ...Object.entries(kinds).map(([name, kind]): Field =>
      [13, message([1, name], [4, message([1, 'pkg.torch.export.graph_signature.InputSpec.kind'], [2, kind])])]),
  );
}
