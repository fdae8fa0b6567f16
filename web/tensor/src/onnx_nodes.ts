/** The nodes that a model names (protobuf, onnx.proto: ModelProto.graph, GraphProto.node, NodeProto). */
import {GossamerError} from '../../runtime/src/values/types.ts';

export interface OnnxNode {
  readonly name: string;
  readonly opType: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** The length-delimited fields of a message, by number. Throws 'damaged'. */
function* fields(bytes: Uint8Array): Generator<[number: number, content: Uint8Array]> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new GossamerError('damaged', 'the ONNX model is cut off');
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const wire = key & 7;
    if (wire === 0) varint();
    else if (wire === 2) {
      const size = varint();
      yield [key >>> 3, bytes.subarray(at, (at += size))];
    } else at += wire === 1 ? 8 : 4;
  }
}

export function nodesOf(model: Uint8Array): OnnxNode[] {
  const text = new TextDecoder();
  const made: OnnxNode[] = [];
  for (const [field, graph] of fields(model)) {
    if (field !== 7) continue;
    for (const [part, node] of fields(graph)) {
      if (part !== 1) continue;
      const names: string[][] = [[], [], [], [], [], [], [], []];
      for (const [number, content] of fields(node)) names[number]?.push(text.decode(content));
      const [, inputs = [], outputs = [], [name = ''] = [], [opType = ''] = [], , , [domain = ''] = []] = names;
      made.push({name, opType, domain, inputs, outputs});
    }
  }
  return made;
}
