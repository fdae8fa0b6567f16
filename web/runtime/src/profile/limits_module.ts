/**
 * A module as the compiler writes them (docs/specs/package.md, "Binding") with two kernels: `copy` moves 64 KiB an item
 * from the first buffer to the second; `arithmetic` multiplies and adds vectors. The encoding is that of the WebAssembly
 * core specification, chapter 5.
 */
const ROUNDS = 1024;
/** Engines have 16 registers of vectors, and an operation's result comes some three or four cycles after it. */
const CHAINS = 14;
/** In vectors of four: multiply-adds with relaxed SIMD, else one half multiplies and one half adds, as sums of products do. */
export const operationsAnItem = (relaxed: boolean): number => ROUNDS * CHAINS * 4 * (relaxed ? 2 : 1);

type Bytes = readonly number[];

const unsigned = (value: number): Bytes => (value > 127 ? [(value & 127) | 128, ...unsigned(value >>> 7)] : [value]);
const signed = (value: number): Bytes =>
  value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
const sized = (bytes: Bytes): Bytes => [...unsigned(bytes.length), ...bytes];
const section = (id: number, bytes: Bytes): Bytes => [id, ...sized(bytes)];
const list = (items: readonly Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()];
const text = (letters: string): Bytes => sized(Array.from(letters, (letter) => letter.charCodeAt(0)));

const [I32, V128] = [0x7f, 0x7b];
const get = (local: number): Bytes => [0x20, ...unsigned(local)];
const set = (local: number): Bytes => [0x21, ...unsigned(local)];
const tee = (local: number): Bytes => [0x22, ...unsigned(local)];
const constant = (value: number): Bytes => [0x41, ...signed(value)];
const [ADD, SUB, SHL, LESS] = [[0x6a], [0x6b], [0x74], [0x48]];
const load = (offset: number): Bytes => [0x28, 2, offset];
const vector = (operation: number, ...rest: Bytes): Bytes => [0xfd, ...unsigned(operation), ...rest];
const MULTIPLY = vector(0xe6);
const PLUS = vector(0xe4);
const MULTIPLY_ADD = vector(0x105);
const repeat = (body: Bytes): Bytes => [0x03, 0x40, ...body, 0x0d, 0, 0x0b];

// Parameters and locals.
const [BEGIN, END, ARGS, COUNT, FACTOR, FIRST] = [0, 1, 2, 3, 4, 5];
const at = (buffer: number, shift: number): Bytes => [
  ...get(ARGS), ...load(4 * buffer), ...get(BEGIN), ...constant(shift), ...SHL, ...ADD,
];

const COPY = [
  0, ...at(1, 16), ...at(0, 16), ...get(END), ...get(BEGIN), ...SUB, ...constant(16), ...SHL, 0xfc, 10, 0, 0, 0x0b,
];

function arithmetic(relaxed: boolean): Bytes {
  const chains = Array.from({length: CHAINS}, (_, chain) => FIRST + chain);
  const float = (value: number): Bytes => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)];
  const step = (chain: number): Bytes =>
    relaxed ? [...get(FACTOR), ...MULTIPLY_ADD] : chain % 2 ? MULTIPLY : PLUS;
  const item = [
    ...at(0, 4), ...vector(0, 4, 0), ...set(FACTOR),
    // They differ, so that all are computed.
    ...chains.flatMap((chain) => [...get(FACTOR), ...float(chain), ...vector(0x13), ...MULTIPLY, ...set(chain)]),
    ...constant(ROUNDS), ...set(COUNT),
    ...repeat([
      ...chains.flatMap((chain) => [...get(chain), ...get(FACTOR), ...step(chain), ...set(chain)]),
      ...get(COUNT), ...constant(1), ...SUB, ...tee(COUNT),
    ]),
    ...at(1, 4), ...chains.flatMap((chain, index) => [...get(chain), ...(index > 0 ? PLUS : [])]), ...vector(11, 4, 0),
    ...get(BEGIN), ...constant(1), ...ADD, ...tee(BEGIN), ...get(END), ...LESS,
  ];
  return [...list([[1, I32], [1 + CHAINS, V128]]), ...repeat(item), 0x0b];
}

/** `relaxed`: with relaxed SIMD's multiply-add, where the engine has it. */
export function limitsModule(relaxed: boolean): Uint8Array {
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, list([[0x60, 3, I32, I32, I32, 0]])),
    ...section(2, list([[...text('env'), ...text('memory'), 2, 1, 1, 2]])),
    ...section(3, list([[0], [0]])),
    ...section(7, list([[...text('copy'), 0, 0], [...text('arithmetic'), 0, 1]])),
    ...section(10, list([sized(COPY), sized(arithmetic(relaxed))])),
  ]);
}
