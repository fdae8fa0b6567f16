/** State as a file (https://github.com/huggingface/safetensors, "Format"), as PyTorch reads and writes it. */
import {Xxh3} from '../../runtime/src/hash/xxh3.ts';
import {Pieces} from '../../runtime/src/package/pieces.ts';
import {readSafetensors} from '../../runtime/src/package/safetensors.ts';
import {decode, encode} from '../../runtime/src/values/encoding.ts';
import {GossamerError, product} from '../../runtime/src/values/types.ts';
import {type DType, isDType} from './dtype.ts';
import {Tensor} from './tensor.ts';

const WHERE = 'safetensors file';
/** In the metadata: the hash of all that follows the header. Files of others have none. */
const HASH = 'gossamer.xxh3';

const fileName = (dtype: DType): string => (dtype === 'bool' ? 'BOOL' : dtype.toUpperCase());

async function hashOf(bytes: Uint8Array): Promise<string> {
  const hash = await Xxh3.create();
  hash.update(bytes);
  return hash.digest();
}

/** A file of these tensors, computed in one program. */
export async function saveSafetensors(state: Readonly<Record<string, Tensor>>): Promise<Uint8Array> {
  const names = Object.keys(state);
  const data = await Promise.all(names.map((name) => (state[name] as Tensor).data()));
  const parts = data.map((each, at) => encode(each, (state[names[at] as string] as Tensor).dtype));
  const body = new Uint8Array(parts.reduce((sum, {length}) => sum + length, 0));
  const header: Record<string, unknown> = {};
  let end = 0;
  parts.forEach((part, at) => {
    const {dtype, shape} = state[names[at] as string] as Tensor;
    body.set(part, end);
    header[names[at] as string] = {dtype: fileName(dtype), shape, data_offsets: [end, (end += part.length)]};
  });
  const metadata = {format: 'pt', [HASH]: await hashOf(body)};
  const json = JSON.stringify({__metadata__: metadata, ...header});
  const text = new TextEncoder().encode(json.padEnd(8 * Math.ceil(json.length / 8)));
  const file = new Uint8Array(8 + text.length + body.length);
  new DataView(file.buffer).setUint32(0, text.length, true);
  file.set(text, 8);
  file.set(body, 8 + text.length);
  return file;
}

/** The tensors of a file by name; bf16 becomes f32. Rejects with 'damaged' for one that is cut or was changed. */
export async function loadSafetensors(file: Uint8Array | ArrayBuffer): Promise<Record<string, Tensor>> {
  const bytes = file instanceof Uint8Array ? file : new Uint8Array(file);
  const stored = readSafetensors(new Pieces([bytes], false), WHERE);
  const start = 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start))) as {__metadata__?: Record<string, string>};
  const hash = header.__metadata__?.[HASH];
  if (hash !== undefined && hash !== (await hashOf(bytes.subarray(start)))) {
    throw new GossamerError('damaged', `${WHERE}: its elements are not those that were written`);
  }
  const made: Record<string, Tensor> = {};
  for (const [name, {dtype, shape, begin, end}] of stored) {
    const known = dtype === 'bf16' ? 'f32' : dtype;
    if (!dtype || !isDType(known)) throw new GossamerError('input', `${WHERE}: "${name}" is of a type that tensors do not have`);
    const data = decode(bytes.slice(begin, end), dtype);
    if (data.length !== product(shape)) throw new GossamerError('damaged', `${WHERE}: "${name}" has not as many elements as its shape`);
    made[name] = new Tensor(data, {shape, dtype: known});
  }
  return made;
}
