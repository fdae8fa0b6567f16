// Models that other programs export, read from disk with their test data: those of the zoo, which `make zoo` generates. Only
// Node.js can read them; a page gets them from the server (lib/packages.mjs).
import {fields} from './onnx_file.mjs';

const builtin = (name) => globalThis.process?.getBuiltinModule?.(name);

const ARRAYS = {
  1: ['f32', Float32Array], 2: ['u8', Uint8Array], 3: ['i8', Int8Array], 6: ['i32', Int32Array], 7: ['i64', BigInt64Array], 9: ['bool', Uint8Array],
  10: ['f16', Uint16Array],
};

/** A TensorProto with raw data: {name, shape, type, data}. Throws for an element type that the benchmark does not have. */
export function readTensor(bytes) {
  const message = fields(bytes);
  const all = (number) => message.filter(([field]) => field === number).map(([, value]) => value);
  const [kind] = all(2);
  if (!ARRAYS[kind]) throw new Error(`a tensor of ONNX's element type ${kind}`);
  const [type, Kind] = ARRAYS[kind];
  const raw = all(9)[0] ?? new Uint8Array();
  return {
    name: new TextDecoder().decode(all(8)[0]),
    shape: all(1).map(Number),
    type,
    data: new Kind(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength)),
  };
}

const zoo = () => builtin('node:path').resolve(import.meta.dirname, '../../third_party/cache/zoo');

/** Whether `make zoo` has generated it here. */
export const isExported = (name) => builtin('node:fs')?.existsSync(builtin('node:path').join(zoo(), name, 'test_data_set_0')) ?? false;

/** A model of the zoo with a test data set, as bench/models/graph.mjs has graphs; `source`: its file. */
export function exportedGraph(name, set = 0) {
  const {readFileSync, readdirSync} = builtin('node:fs');
  const {join} = builtin('node:path');
  const folder = join(zoo(), name);
  const data = join(folder, `test_data_set_${set}`);
  const files = readdirSync(data);
  const tensors = (kind) =>
    files.filter((file) => file.startsWith(`${kind}_`)).map((_, at) => readTensor(readFileSync(join(data, `${kind}_${at}.pb`))));
  const outputs = tensors('output');
  return {
    name: `zoo_${name}`,
    inputs: tensors('input').map((port) => ({...port, dims: port.shape})),
    outputs: outputs.map((port) => ({name: port.name, type: port.type, dims: port.shape})),
    expected: outputs,
    source: join(folder, 'model.onnx'),
    file: () => readFileSync(join(folder, 'model.onnx')),
  };
}
