/** Inputs and outputs of an ONNX file, read without the compiler: the ports of a session whose model is compiled by its first feeds. */
import type {PortInfo} from '../../runtime/src/index.ts';

/** A port of a session. Without `shape`, any number of dimensions is taken. */
export interface Port extends Pick<PortInfo, 'dtype' | 'name'> {
  readonly shape: PortInfo['shape'] | undefined;
}

type Value = number | Uint8Array;

/** Varints and lengths up to 2^53, which is more than a file has; numbers of four and eight bytes are passed over. */
function fieldsOf(bytes: Uint8Array): Map<number, Value[]> {
  const fields = new Map<number, Value[]>();
  let at = 0;
  const varint = (): number => {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const wire = key % 8;
    if (wire === 1 || wire === 5) {
      at += wire === 1 ? 8 : 4;
      continue;
    }
    let value: Value = varint();
    if (wire === 2) {
      at += value;
      value = bytes.subarray(at - value, at);
    }
    const number = Math.floor(key / 8);
    const known = fields.get(number);
    if (known) known.push(value);
    else fields.set(number, [value]);
  }
  return fields;
}

const NONE = new Uint8Array();
const first = (fields: Map<number, Value[]>, number: number): Value | undefined => fields.get(number)?.[0];
const message = (fields: Map<number, Value[]>, number: number): Map<number, Value[]> => fieldsOf((first(fields, number) as Uint8Array | undefined) ?? NONE);
const messages = (fields: Map<number, Value[]>, number: number): Map<number, Value[]>[] => (fields.get(number) ?? []).map((each) => fieldsOf(each as Uint8Array));
const text = (fields: Map<number, Value[]>, number: number): string => new TextDecoder().decode((first(fields, number) as Uint8Array | undefined) ?? NONE);

/** Of TensorProto.DataType. */
const DTYPES = ['', 'f32', 'u8', 'i8', 'u16', 'i16', 'i32', 'i64', 'string', 'bool', 'f16', 'f64', 'u32', 'u64'];

/** Ports as onnx.proto's ValueInfoProto has them; '?' for an extent without a value or a name. Undefined where one is not a tensor. `kept`: inputs with a default that count. */
export function signatureOf(model: Uint8Array, kept: readonly string[] = []): {inputs: Port[]; outputs: Port[]} | undefined {
  const graph = message(fieldsOf(model), 7);
  const constants = new Set(messages(graph, 5).map((each) => text(each, 8)));
  const portOf = (value: Map<number, Value[]>): Port => {
    const tensor = message(message(value, 2), 1);
    const shape = messages(message(tensor, 2), 1).map((dim) => (first(dim, 1) as number | undefined) ?? (text(dim, 2) || '?'));
    return {name: text(value, 1), dtype: (DTYPES[Number(first(tensor, 1) ?? 0)] ?? '') as PortInfo['dtype'], shape: tensor.has(2) ? shape : undefined};
  };
  const inputs = messages(graph, 11).map(portOf).filter(({name}) => !constants.has(name) || kept.includes(name));
  const outputs = messages(graph, 12).map(portOf);
  return [...inputs, ...outputs].every(({dtype}) => dtype as string) ? {inputs, outputs} : undefined;
}

/** Names of inputs with a default, an initializer, which a feed may override: from IR version 4 on. Before, every weight was listed as an input. */
export function overridable(bytes: Uint8Array): string[] {
  const model = fieldsOf(bytes);
  if (Number(first(model, 1) ?? 0) < 4) return [];
  const graph = message(model, 7);
  const defaults = new Set([...messages(graph, 5).map((each) => text(each, 8)), ...messages(graph, 15).map((each) => text(message(each, 1), 8))]);
  return messages(graph, 11).map((each) => text(each, 1)).filter((name) => defaults.has(name));
}

/** Files in which a model keeps weights, as TensorProto.external_data names them, relative to the model's own. */
export function weightFiles(model: Uint8Array): string[] {
  const entries = messages(message(fieldsOf(model), 7), 5).flatMap((tensor) => messages(tensor, 13));
  return [...new Set(entries.filter((entry) => text(entry, 1) === 'location').map((entry) => text(entry, 2)))];
}
