/** Protobuf's wire form, as much as ONNX needs. */

export type Field = readonly [number: number, value: number | bigint | string | Uint8Array | Float];

/** A number of four bytes; plain numbers are varints. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A number in pieces of seven bits. */
export function* varint(value: bigint): Generator<number> {
  let rest = BigInt.asUintN(64, value);
  for (; rest > 127n; rest >>= 7n) yield Number(rest & 127n) | 128;
  yield Number(rest);
}

/** A message of these fields, in this order. */
export function encode(fields: readonly Field[]): Uint8Array {
  const bytes: number[] = [];
  for (const [number, value] of fields) {
    const key = (wire: number): void => void bytes.push(...varint(BigInt(number * 8 + wire)));
    if (typeof value === 'number' || typeof value === 'bigint') {
      key(0);
      bytes.push(...varint(BigInt(value)));
    } else if (value instanceof Float) {
      key(5);
      bytes.push(...new Uint8Array(Float32Array.of(value.value).buffer));
    } else {
      const content = typeof value === 'string' ? new TextEncoder().encode(value) : value;
      key(2);
      bytes.push(...varint(BigInt(content.length)));
      for (const byte of content) bytes.push(byte);
    }
  }
  return Uint8Array.from(bytes);
}

/** A field of a message: [begin, end) is all of it, [at, end) its content. value: a varint's; undefined: one of four or eight bytes, or a length. */
export interface Piece {
  readonly number: number;
  readonly begin: number;
  readonly at: number;
  readonly end: number;
  readonly value: number | undefined;
  readonly isBytes: boolean;
}

/** The fields of the message at [begin, end), numbers exact below 2^53. Throws a RangeError for what is none. */
export function* decode(bytes: Uint8Array, begin = 0, end = bytes.length): Generator<Piece> {
  let at = begin;
  const number = (): number => {
    for (let value = 0, unit = 1; at < end; unit *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
    throw new RangeError('a number is cut off');
  };
  while (at < end) {
    const from = at;
    const key = number();
    const wire = key % 8;
    const value = wire === 0 || wire === 2 ? number() : undefined;
    const content = at;
    if (![0, 1, 2, 5].includes(wire)) throw new RangeError(`wire type ${wire}`);
    if (wire !== 0) at += wire === 2 ? (value as number) : wire === 1 ? 8 : 4;
    if (at > end) throw new RangeError('a field is cut off');
    yield {number: Math.floor(key / 8), begin: from, at: content, end: at, value: wire === 0 ? value : undefined, isBytes: wire === 2};
  }
}
