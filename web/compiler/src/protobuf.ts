/** Protobuf's wire form, as much as an ONNX function needs. */

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
