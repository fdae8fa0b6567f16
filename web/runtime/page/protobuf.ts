/** Reading protobuf's wire form (https://protobuf.dev/programming-guides/encoding/). */

export interface Field {
  readonly number: number;
  /** A varint, or the bits of a fixed number. */
  readonly value: bigint;
  /** The content of a string, bytes, message or packed list; empty otherwise. */
  readonly bytes: Uint8Array;
  /** Where the field with its key begins and ends in the message. */
  readonly begin: number;
  readonly end: number;
}

/** The fields of a message in order. Throws an Error where the bytes are no message. */
export function* fieldsOf(message: Uint8Array): Generator<Field> {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const nothing = new Uint8Array();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) break;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error('it is cut off, or not of this kind');
  };
  while (at < message.length) {
    const begin = at;
    const key = Number(varint());
    const [number, wire] = [Math.floor(key / 8), key % 8];
    let value = 0n;
    let bytes: Uint8Array = nothing;
    if (wire === 0) value = varint();
    else {
      const length = wire === 2 ? Number(varint()) : wire === 5 ? 4 : wire === 1 ? 8 : NaN;
      if (!(at + length <= message.length)) throw new Error('it is cut off, or not of this kind');
      if (wire === 5) value = BigInt(view.getUint32(at, true));
      else if (wire === 1) value = view.getBigUint64(at, true);
      else bytes = message.subarray(at, at + length);
      at += length;
    }
    yield {number, value, bytes, begin, end: at};
  }
}

/** The numbers of a repeated field: one a field, or packed varints. */
export function varintsOf({value, bytes}: Field): bigint[] {
  if (bytes.length === 0) return [value];
  const all: bigint[] = [];
  let [number, shift] = [0n, 0n];
  for (const byte of bytes) {
    number |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) continue;
    all.push(BigInt.asUintN(64, number));
    [number, shift] = [0n, 0n];
  }
  return all;
}

export const textOf = ({bytes}: Field): string => new TextDecoder().decode(bytes);
