/** What a page reads of an ONNX file (onnx.proto3) before compiling it, and what it adds to it. */
import {encode, type Field as Encoded, varint} from '../../compiler/src/protobuf.ts';
import {type Field, fieldsOf, textOf} from '../../runtime/page/protobuf.ts';
import {dtypeOf, numberOf} from '../../runtime/page/tensor_proto.ts';
import type {StringTensor, Tensor} from '../../runtime/src/index.ts';
import {encode as bytesOf} from '../../runtime/src/storage.ts';

export interface ModelInput {
  readonly name: string;
  /** "?" where it is no type of this library. */
  readonly dtype: string;
  /** Of an element, where it is a sequence; undefined: not said. "?" is a dimension without a name. */
  readonly shape: readonly (number | string)[] | undefined;
  readonly sequence: boolean;
  readonly optional: boolean;
}

export interface Signature {
  /** Without those that have a value in the file. */
  readonly inputs: readonly ModelInput[];
  /** Files that hold weights, relative to the model's folder. */
  readonly externalFiles: readonly string[];
}

// Field numbers of onnx.proto3.
const MODEL = {graph: 7, functions: 25} as const;
const GRAPH = {node: 1, initializer: 5, input: 11} as const;
const NODE = {attribute: 5} as const;
const FUNCTION = {node: 7} as const;
const ATTRIBUTE = {tensor: 5, graph: 6, tensors: 10, graphs: 11} as const;
const TENSOR = {dims: 1, type: 2, strings: 6, name: 8, raw: 9, external: 13, location: 14} as const;

const find = (message: Uint8Array, number: number): Field | undefined => {
  for (const field of fieldsOf(message)) if (field.number === number) return field;
  return undefined;
};

function readInput(message: Uint8Array): ModelInput {
  const name = find(message, 1);
  let type = find(message, 2)?.bytes ?? new Uint8Array();
  let [sequence, optional] = [false, false];
  for (;;) {
    const around = find(type, 4) ?? find(type, 9);
    if (!around) break;
    if (around.number === 4) sequence = true;
    else optional = true;
    type = find(around.bytes, 1)?.bytes ?? new Uint8Array();
  }
  const tensor = find(type, 1)?.bytes ?? new Uint8Array();
  const shape = find(tensor, 2);
  const extents = [...fieldsOf(shape?.bytes ?? new Uint8Array())].map(({bytes}) => {
    const value = find(bytes, 1);
    const param = find(bytes, 2);
    return value ? Number(value.value) : param ? textOf(param) : '?';
  });
  return {
    name: name ? textOf(name) : '',
    dtype: dtypeOf(Number(find(tensor, 1)?.value ?? 0)) ?? '?',
    shape: shape && extents,
    sequence,
    optional,
  };
}

/** The pieces of a message whose fields `change` gives new contents; undefined: none did. */
function changed(message: Uint8Array, change: (field: Field) => Uint8Array[] | undefined): Uint8Array[] | undefined {
  const pieces: Uint8Array[] = [];
  let kept = 0;
  for (const field of fieldsOf(message)) {
    const content = field.bytes.length > 0 ? change(field) : undefined;
    if (!content) continue;
    pieces.push(message.subarray(kept, field.begin), ...wrapped(field.number, content));
    kept = field.end;
  }
  return kept === 0 ? undefined : [...pieces, message.subarray(kept)];
}

/** A field of this content, behind its key and length. */
function wrapped(number: number, content: readonly Uint8Array[]): Uint8Array[] {
  const size = content.reduce((sum, {length}) => sum + length, 0);
  return [Uint8Array.from([...varint(BigInt(8 * number + 2)), ...varint(BigInt(size))]), ...content];
}

type TensorChange = (tensor: Uint8Array) => Uint8Array[] | undefined;

/** The model with every tensor in it replaced by what `change` makes of it. */
function withTensors(model: Uint8Array, change: TensorChange): Uint8Array[] | undefined {
  const inNode = (node: Uint8Array): Uint8Array[] | undefined =>
    changed(node, ({number, bytes}) =>
      number !== NODE.attribute
        ? undefined
        : changed(bytes, (field) => {
            if (field.number === ATTRIBUTE.tensor || field.number === ATTRIBUTE.tensors) return change(field.bytes);
            const isGraph = field.number === ATTRIBUTE.graph || field.number === ATTRIBUTE.graphs;
            return isGraph ? inGraph(field.bytes) : undefined;
          }),
    );
  const inGraph = (graph: Uint8Array): Uint8Array[] | undefined =>
    changed(graph, ({number, bytes}) =>
      number === GRAPH.node ? inNode(bytes) : number === GRAPH.initializer ? change(bytes) : undefined,
    );
  return changed(model, ({number, bytes}) => {
    if (number === MODEL.graph) return inGraph(bytes);
    if (number !== MODEL.functions) return undefined;
    return changed(bytes, (field) => (field.number === FUNCTION.node ? inNode(field.bytes) : undefined));
  });
}

/** Where a tensor's values lie, if in another file. */
function externalOf(tensor: Uint8Array): Map<string, string> | undefined {
  const entries = [...fieldsOf(tensor)].filter(({number}) => number === TENSOR.external);
  if (entries.length === 0) return undefined;
  const text = (entry: Uint8Array, number: number): string => {
    const field = find(entry, number);
    return field ? textOf(field) : '';
  };
  return new Map(entries.map(({bytes}) => [text(bytes, 1), text(bytes, 2)]));
}

/** Throws an Error where the bytes are no model. */
export function readSignature(model: Uint8Array): Signature {
  const graph = find(model, MODEL.graph)?.bytes ?? new Uint8Array();
  const named = new Set<string>();
  const inputs: ModelInput[] = [];
  for (const {number, bytes} of fieldsOf(graph)) {
    const name = number === GRAPH.initializer ? find(bytes, TENSOR.name) : undefined;
    if (name) named.add(textOf(name));
    if (number === GRAPH.input) inputs.push(readInput(bytes));
  }
  const files = new Set<string>();
  withTensors(model, (tensor) => {
    const location = externalOf(tensor)?.get('location');
    if (location) files.add(location);
    return undefined;
  });
  return {inputs: inputs.filter(({name}) => !named.has(name)), externalFiles: [...files]};
}

/** The model with the weights of these files in it; what is not among them stays outside. */
export function withFiles(model: Uint8Array, files: ReadonlyMap<string, Uint8Array>): Uint8Array[] {
  const inlined = withTensors(model, (tensor) => {
    const external = externalOf(tensor);
    const file = files.get(external?.get('location') ?? '');
    if (!external || !file) return undefined;
    const offset = Number(external.get('offset') ?? 0);
    const length = external.get('length');
    const values = file.subarray(offset, length === undefined ? undefined : offset + Number(length));
    const outside: number[] = [TENSOR.external, TENSOR.location, TENSOR.raw];
    const rest = [...fieldsOf(tensor)].filter(({number}) => !outside.includes(number));
    return [...rest.map(({begin, end}) => tensor.subarray(begin, end)), ...wrapped(TENSOR.raw, [values])];
  });
  return inlined ?? [model];
}

function tensorProto(name: string, {data, shape, dtype}: Tensor | StringTensor): Uint8Array {
  const type = numberOf(dtype);
  if (type === undefined) throw new Error(`a constant of ${dtype} is not possible here`);
  const dims = shape.map((extent): Encoded => [TENSOR.dims, extent]);
  const values: Encoded[] =
    dtype === 'string' ? data.map((text) => [TENSOR.strings, text]) : [[TENSOR.raw, bytesOf(data, dtype)]];
  return encode([...dims, [TENSOR.type, type], [TENSOR.name, name], ...values]);
}

/** The model in which these inputs have values: they are no inputs any more. */
export function withConstants(
  model: Uint8Array,
  constants: Readonly<Record<string, Tensor | StringTensor>>,
): Uint8Array[] {
  const added = Object.entries(constants).flatMap(([name, value]) => wrapped(GRAPH.initializer, [tensorProto(name, value)]));
  if (added.length === 0) return [model];
  return changed(model, ({number, bytes}) => (number === MODEL.graph ? [bytes, ...added] : undefined)) ?? [model];
}
