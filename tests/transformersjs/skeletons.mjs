// Checkpoints without their weights, which `make test` fills from seeds, because the libraries that export them take 6 GB:
//
//   node tests/transformersjs/skeletons.mjs     # after export.py: writes skeletons/NAME.gz of the form that FORMS names
//
// A skeleton is a compressed list of files. Large initializers of its models have no data; their doc_string says how they are distributed.
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {gunzipSync, gzipSync} from 'node:zlib';
import {halfOf} from '../../bench/lib/half.mjs';
import {once} from '../once.mjs';
import {writeGrouped} from './grouped.mjs';

const cache = path.resolve(import.meta.dirname, '../../third_party/cache');
const stored = path.join(import.meta.dirname, 'skeletons');

/** By checkpoint, the form that `make test` runs. */
export const FORMS = {
  features: 'q8', classification: 'fp32', entities: 'fp16', entailment: 'q4', masked: 'q4f16', answers: 'fp32', llama: 'fp32', t5: 'fp32', vit: 'q4', segformer: 'q8',
  dpt: 'fp32', yolos: 'fp32', detr: 'fp32', whisper: 'q8', vits: 'fp32',
};
export const SUFFIXES = {fp32: '', fp16: '_fp16', q8: '_quantized', q4: '_q4', q4f16: '_q4f16'};

/** Elements that a model keeps as they are. */
const FEW = 96;
/** Of onnx.TensorProto.DataType: bytes of an element of the types that weights have. */
const SIZES = {1: 4, 2: 1, 3: 1, 10: 2};

/** Fields of a message: {number, from, start, end}, where `from` is the place of its key and start to end its content. */
function* fieldsOf(bytes) {
  let at = 0;
  const varint = () => {
    for (let value = 0, unit = 1; ; unit *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const from = at;
    const key = varint();
    const start = at;
    let value;
    if (key % 8 === 0) value = varint();
    else if (key % 8 === 2) {
      const length = varint();
      yield {number: key >> 3, from, start: at, end: (at += length)};
      continue;
    } else at += key % 8 === 1 ? 8 : 4;
    yield {number: key >> 3, from, start, end: at, value};
  }
}

function field(number, content) {
  const head = [];
  for (let rest = number * 8 + 2; ; rest = Math.floor(rest / 128)) {
    head.push(rest >= 128 ? (rest % 128) | 128 : rest);
    if (rest < 128) break;
  }
  for (let rest = content.length; ; rest = Math.floor(rest / 128)) {
    head.push(rest >= 128 ? (rest % 128) | 128 : rest);
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from(head), content]);
}

/** The model with each initializer as `change` makes it of its bytes. */
function withInitializers(model, change) {
  const rebuilt = (bytes, number, replace) =>
    Buffer.concat([...fieldsOf(bytes)].map((each) => (each.number === number ? field(number, replace(bytes.subarray(each.start, each.end))) : bytes.subarray(each.from, each.end))));
  return rebuilt(model, 7, (graph) => rebuilt(graph, 5, change));
}

function tensorOf(bytes) {
  const tensor = {dims: [], type: 0, name: '', raw: undefined, text: ''};
  for (const {number, start, end, value} of fieldsOf(bytes)) {
    if (number === 1 && value !== undefined) tensor.dims.push(value);
    else if (number === 1) throw new Error('packed dims');
    else if (number === 2) tensor.type = value;
    else if (number === 8) tensor.name = bytes.toString('utf8', start, end);
    else if (number === 9) tensor.raw = bytes.subarray(start, end);
    else if (number === 12) tensor.text = bytes.toString('utf8', start, end);
  }
  return tensor;
}

/** The bits of a number of the size of a weight. */
function toHalf(value) {
  const size = Math.abs(value);
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 2 ** -30)));
  const units = Math.round(size / 2 ** (exponent - 10)); // 2048 carries into the exponent
  return (value < 0 ? 32768 : 0) + (units < 1024 ? units : ((exponent + 15) << 10) + units - 1024);
}

function valuesOf({type, raw}) {
  const bytes = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length);
  if (type === 1) return new Float32Array(bytes);
  if (type === 10) return Float32Array.from(new Uint16Array(bytes), halfOf);
  return type === 3 ? new Int8Array(bytes) : new Uint8Array(bytes);
}

/** How the elements are distributed, as a text; undefined for tables and masks, which models keep. */
function distribution(tensor) {
  const values = valuesOf(tensor);
  if (tensor.type === 2 || tensor.type === 3) {
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
    return high - low > 8 ? `integers ${low} ${high}` : undefined;
  }
  if (!values.every(Number.isFinite) || new Set(values.subarray(0, 500)).size < 32) return undefined;
  const mean = values.reduce((a, b) => a + b) / values.length;
  const spread = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
  // Scales of quantized blocks stay positive.
  const positive = values.every((value) => value > 0);
  return `${positive ? 'positive' : 'normal'} ${mean.toPrecision(4)} ${spread.toPrecision(4)}`;
}

function emptied(bytes) {
  const tensor = tensorOf(bytes);
  const size = SIZES[tensor.type];
  if (!tensor.raw || !size || tensor.raw.length < FEW * size) return bytes;
  const text = distribution(tensor);
  if (!text) return bytes;
  const kept = [...fieldsOf(bytes)].filter(({number}) => number !== 9 && number !== 12).map(({from, end}) => bytes.subarray(from, end));
  return Buffer.concat([...kept, field(12, Buffer.from(text))]);
}

/** Normally distributed numbers of a seed. */
function* normal(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
  for (;;) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform())), angle = 2 * Math.PI * uniform();
    yield radius * Math.cos(angle);
    yield radius * Math.sin(angle);
  }
}

function filled(bytes) {
  const {dims, type, name, raw, text} = tensorOf(bytes);
  const [kind, first, second] = text.split(' ');
  if (raw || !['normal', 'positive', 'integers'].includes(kind)) return bytes;
  const count = dims.reduce((a, b) => a * b, 1);
  const source = normal(createHash('sha256').update(name).digest().readUInt32LE());
  const [a, b] = [Number(first), Number(second)];
  const draw = () => {
    const value = source.next().value;
    if (kind === 'integers') return Math.round(Math.min(b, Math.max(a, (a + b) / 2 + (value * (b - a)) / 6)));
    return kind === 'positive' ? Math.max(a / 8, a + b * value) : a + b * value;
  };
  const made = new {1: Float32Array, 2: Uint8Array, 3: Int8Array, 10: Uint16Array}[type](count);
  for (let at = 0; at < count; ++at) made[at] = type === 10 ? toHalf(draw()) : draw();
  return Buffer.concat([bytes, field(9, Buffer.from(made.buffer))]);
}

/** Files of a checkpoint, for one form. */
function filesOf(folder, form) {
  const onnx = readdirSync(path.join(folder, 'onnx')).filter((name) => name.replace('.onnx', '').endsWith(SUFFIXES[form]) && (form !== 'fp32' || !/_(fp16|quantized|q4|q4f16)\./.test(name)));
  return [...readdirSync(folder).filter((name) => name.endsWith('.json')), ...onnx.map((name) => `onnx/${name}`)].sort();
}

function packed(files) {
  const list = Buffer.from(JSON.stringify(files.map(([name, bytes]) => [name, bytes.length])));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(list.length);
  return gzipSync(Buffer.concat([length, list, ...files.map(([, bytes]) => bytes)]), {level: 9});
}

function unpacked(file) {
  const bytes = gunzipSync(readFileSync(file));
  let at = 4 + bytes.readUInt32LE(0);
  return JSON.parse(bytes.toString('utf8', 4, at)).map(([name, length]) => [name, bytes.subarray(at, (at += length))]);
}

/** The folder of the filled checkpoints, made once. */
export function seededCheckpoints() {
  const key = createHash('sha256').update(readFileSync(import.meta.filename)).update(readFileSync(path.join(import.meta.dirname, 'grouped.mjs')));
  const names = readdirSync(stored).sort();
  for (const name of names) key.update(name).update(readFileSync(path.join(stored, name)));
  return once(path.join(cache, 'transformersjs-seeded'), key.digest('hex'), (folder) => {
    for (const name of names) {
      for (const [file, bytes] of unpacked(path.join(stored, name))) {
        const to = path.join(folder, path.basename(name, '.gz'), file);
        mkdirSync(path.dirname(to), {recursive: true});
        writeFileSync(to, file.endsWith('.onnx') ? withInitializers(bytes, filled) : bytes);
      }
    }
    writeGrouped(path.join(folder, 'grouped'), path.join(folder, 'llama'));
  });
}

if (process.argv[1] === import.meta.filename) {
  rmSync(stored, {recursive: true, force: true});
  mkdirSync(stored);
  for (const [name, form] of Object.entries(FORMS)) {
    const folder = path.join(cache, 'transformersjs', name);
    const files = filesOf(folder, form).map((file) => [file, readFileSync(path.join(folder, file))]);
    const bytes = packed(files.map(([file, content]) => [file, file.endsWith('.onnx') ? withInitializers(content, emptied) : content]));
    writeFileSync(path.join(stored, `${name}.gz`), bytes);
    console.log(`${name}, ${form}: ${(bytes.length / 1024).toFixed(0)} KB`);
  }
}
