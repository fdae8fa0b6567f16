/** What a page reads of an ONNX file (onnx.proto3) before compiling it, and what it adds to it. */
import {encode, type Field as Encoded, varint} from '../../compiler/src/protobuf.ts';
import {type Field, fieldsOf, textOf} from '../../runtime/page/protobuf.ts';
import {dtypeOf, numberOf} from '../../runtime/page/tensor_proto.ts';
import {encode as bytesOf} from '../../runtime/src/values/encoding.ts';
import type {StringTensor, Tensor} from '../../runtime/src/index.ts';

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
const GRAPH = {node: 1, initializer: 5, input: 11, output: 12} as const;
const NODE = {attribute: 5} as const;
const FUNCTION = {node: 7} as const;
const ATTRIBUTE = {tensor: 5, graph: 6, tensors: 10, graphs: 11} as const;
const TENSOR = {dims: 1, type: 2, strings: 6, name: 8, raw: 9, external: 13} as const;

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

/** Calls `see` with every tensor of the model, those of nested graphs and functions too. */
function eachTensor(model: Uint8Array, see: (tensor: Uint8Array) => void): void {
  const inNode = (node: Uint8Array): void => {
    for (const attribute of fieldsOf(node)) {
      if (attribute.number !== NODE.attribute) continue;
      for (const {number, bytes} of fieldsOf(attribute.bytes)) {
        if (number === ATTRIBUTE.tensor || number === ATTRIBUTE.tensors) see(bytes);
        else if (number === ATTRIBUTE.graph || number === ATTRIBUTE.graphs) inGraph(bytes);
      }
    }
  };
  const inGraph = (graph: Uint8Array): void => {
    for (const {number, bytes} of fieldsOf(graph)) {
      if (number === GRAPH.node) inNode(bytes);
      else if (number === GRAPH.initializer) see(bytes);
    }
  };
  for (const {number, bytes} of fieldsOf(model)) {
    if (number === MODEL.graph) inGraph(bytes);
    if (number !== MODEL.functions) continue;
    for (const field of fieldsOf(bytes)) if (field.number === FUNCTION.node) inNode(field.bytes);
  }
}

/** The file that holds a tensor's values, if it is another one. */
function locationOf(tensor: Uint8Array): string | undefined {
  for (const {number, bytes} of fieldsOf(tensor)) {
    const key = number === TENSOR.external ? find(bytes, 1) : undefined;
    const value = key && textOf(key) === 'location' ? find(bytes, 2) : undefined;
    if (value) return textOf(value);
  }
  return undefined;
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
  eachTensor(model, (tensor) => {
    const location = locationOf(tensor);
    if (location) files.add(location);
  });
  return {inputs: inputs.filter(({name}) => !named.has(name)), externalFiles: [...files]};
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

/** The model with another output, behind its own: a tensor that one of its nodes makes. */
export function withOutput(model: Uint8Array, name: string): Uint8Array[] {
  const added = wrapped(GRAPH.output, [encode([[1, name]])]);
  return changed(model, ({number, bytes}) => (number === MODEL.graph ? [bytes, ...added] : undefined)) ?? [model];
}
