/**
 * Large weights stay with the caller: the compiler is given the model without them, and says of which ranges of the model's and other
 * files the package's files of weights consist. A bundle of its own.
 */
import {Sha256} from '../../runtime/src/hash/sha256.ts';
import {Xxh3} from '../../runtime/src/hash/xxh3.ts';
import {type MadeFile, normalPath} from './call.ts';
import type {Call} from './compile_in.ts';
import {hashOf} from './kept.ts';
import {decode, encode, type Field, type Piece, varint} from './protobuf.ts';

/** The compiler looks at the elements of tensors up to 16 KiB (onnx::ReadOptions::copy_limit). */
const LEAST_BYTES = 32 * 1024;
/** TensorProto.DataType whose elements it never looks at: not 64-bit integers, which GPUs may not hold, nor strings. */
const HELD_TYPES = [1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 16, 17, 18, 19, 20, 21, 22, 23];
const [GRAPH, INITIALIZER] = [7, 5];
const [DATA_TYPE, RAW_DATA, EXTERNAL_DATA, DATA_LOCATION] = [2, 9, 13, 14];
const EXTERNAL = 1;
/** manifest.json lists the SHA-256 of each such piece of larger files (package::piece_bytes). */
const PIECE = 4 * 2 ** 20;

export interface Split {
  readonly call: Call;
  /** By the names that the compiler has. */
  readonly files: ReadonlyMap<string, Uint8Array | Blob>;
}

const text = (bytes: Uint8Array, {at, end}: Piece): string => new TextDecoder().decode(bytes.subarray(at, end));
const sizeOf = (file: Uint8Array | Blob): number => (file instanceof Uint8Array ? file.length : file.size);
const rangeOf = async (file: Uint8Array | Blob, from: number, to: number): Promise<Uint8Array> =>
  file instanceof Uint8Array ? file.subarray(from, to) : new Uint8Array(await file.slice(from, to).arrayBuffer());

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, {length}) => sum + length, 0);
}

function joinedOf(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const external = (entries: Readonly<Record<string, string>>): Field[] =>
  Object.entries(entries).map(([key, value]): Field => [EXTERNAL_DATA, encode([[1, key], [2, value]])]);

/** One tensor of the model: with a range of the model in place of large elements, and with small elements of other files in it. */
async function rewritten(model: Uint8Array, {at, end}: Piece, name: string, files: ReadonlyMap<string, Uint8Array | Blob>): Promise<Uint8Array[] | undefined> {
  const fields = [...decode(model, at, end)];
  const find = (number: number): Piece | undefined => fields.find((field) => field.number === number);
  const isHeld = (length: number): boolean => length >= LEAST_BYTES && HELD_TYPES.includes(find(DATA_TYPE)?.value ?? 0);
  const without = (numbers: readonly number[]): Uint8Array[] =>
    fields.filter(({number}) => !numbers.includes(number)).map((field) => model.subarray(field.begin, field.end));
  const raw = find(RAW_DATA);
  if (raw && find(DATA_LOCATION)?.value !== EXTERNAL) {
    const length = raw.end - raw.at;
    if (!isHeld(length)) return undefined;
    const place = external({location: name, offset: String(raw.at), length: String(length)});
    return [...without([RAW_DATA, DATA_LOCATION]), encode([...place, [DATA_LOCATION, EXTERNAL]])];
  }
  if (find(DATA_LOCATION)?.value !== EXTERNAL) return undefined;
  const entries = fields.filter(({number}) => number === EXTERNAL_DATA).map((entry): [string, string] => {
    const pair = [...decode(model, entry.at, entry.end)];
    const part = (number: number): string => pair.filter((field) => field.number === number).map((field) => text(model, field))[0] ?? '';
    return [part(1), part(2)];
  });
  const {location = '', offset = '0', length} = Object.fromEntries(entries);
  const file = files.get(normalPath(location));
  if (!file || length === undefined || isHeld(Number(length))) return undefined;
  const bytes = await rangeOf(file, Number(offset), Number(offset) + Number(length));
  return [...without([EXTERNAL_DATA, DATA_LOCATION]), encode([[RAW_DATA, bytes]])];
}

/** Undefined where there is nothing to hold, and for what is no model. */
export async function split(call: Call): Promise<Split | undefined> {
  const {model} = call;
  const files = new Map<string, Uint8Array | Blob>(call.external);
  let name = 'model';
  while (files.has(name)) name += '_';
  try {
    const graph = [...decode(model)].find(({number, isBytes}) => number === GRAPH && isBytes);
    if (!graph) return undefined;
    const parts: Uint8Array[] = [];
    let kept = graph.at;
    for (const field of decode(model, graph.at, graph.end)) {
      const tensor = field.number === INITIALIZER && field.isBytes ? await rewritten(model, field, name, files) : undefined;
      if (!tensor) continue;
      parts.push(model.subarray(kept, field.begin), Uint8Array.from([INITIALIZER * 8 + 2, ...varint(BigInt(lengthOf(tensor)))]), ...tensor);
      kept = field.end;
    }
    parts.push(model.subarray(kept, graph.end));
    const head = Uint8Array.from([GRAPH * 8 + 2, ...varint(BigInt(lengthOf(parts)))]);
    const rest = joinedOf([model.subarray(0, graph.begin), head, ...parts, model.subarray(graph.end)]);
    const held = Object.fromEntries([[name, model.length], ...[...files].map(([each, file]): [string, number] => [each, sizeOf(file)])]);
    return {call: {...call, model: rest, external: [], options: {...call.options, held}}, files: files.set(name, model)};
  } catch (problem) {
    if (problem instanceof RangeError) return undefined; // the compiler says what is wrong with it
    throw problem;
  }
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = await hashOf(bytes);
  if (digest !== undefined) return digest;
  const hash = await Sha256.create();
  hash.update(bytes);
  return hash.digest();
}

async function xxh3(bytes: Uint8Array): Promise<string> {
  const hash = await Xxh3.create();
  hash.update(bytes);
  return hash.digest();
}

async function assembled({bytes, parts = []}: MadeFile, files: Split['files']): Promise<Uint8Array<ArrayBuffer>> {
  const all = new Uint8Array(parts.reduce((sum, [, , length]) => sum + length, 0));
  let at = 0;
  let own = 0;
  for (const [path, offset, length] of parts) {
    all.set(path === '' ? bytes.subarray(own, (own += length)) : await rangeOf(files.get(path) as Uint8Array | Blob, offset, offset + length), at);
    at += length;
  }
  return all;
}

/** The package's files, as they are where the compiler has all weights. `pieces`: the manifest lists hashes of larger files' pieces. */
export async function completed(made: readonly MadeFile[], files: Split['files'], pieces: boolean): Promise<[string, Uint8Array][]> {
  let manifest = new TextDecoder().decode(made[0]?.bytes);
  const complete = made.map(async (file): Promise<readonly [string, Uint8Array, ...string[][]]> => {
    if (!file.parts) return [file.name, file.bytes];
    const bytes = await assembled(file, files);
    const starts = pieces && bytes.length > PIECE ? Array.from({length: Math.ceil(bytes.length / PIECE)}, (_, at) => at * PIECE) : [];
    return [file.name, bytes, await Promise.all([xxh3(bytes), sha256(bytes), ...starts.map((from) => sha256(bytes.subarray(from, from + PIECE)))])];
  });
  const named: [string, Uint8Array][] = [];
  for (const [name, bytes, hashes] of await Promise.all(complete)) {
    if (!hashes) {
      named.push([name, bytes]);
      continue;
    }
    const [hash, digest, ...each] = hashes as [string, string, ...string[]];
    const own = name.startsWith('@') ? `weights.${digest.slice(0, 16)}.safetensors` : name;
    const list = each.length > 0 ? `,"pieces":${JSON.stringify(each)}` : '';
    const entry = new RegExp(`\\{"name":"${name}","bytes":${bytes.length},"xxh3":"@\\d+","sha256":"@\\d+"`);
    manifest = manifest.replace(entry, `{"name":"${own}","bytes":${bytes.length},"xxh3":"${hash}","sha256":"${digest}"${list}`);
    named.push([own, bytes]);
  }
  return [['manifest.json', new TextEncoder().encode(manifest)], ...named.slice(1)];
}
