/**
 * Random numbers by counting: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC11).
 * The key is the seed, the counter is (block, 0, tensor, 0): the same seed and order of calls give the same numbers everywhere.
 */
const [M0, M1, W0, W1] = [0xd2511f53, 0xcd9e8d57, 0x9e3779b9, 0xbb67ae85];

/** The upper 32 bits of a product of two words. */
function high(a: number, b: number): number {
  const [a0, a1, b0, b1] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  return (a1 * b1 + Math.floor(middle / 65536) + (((middle & 0xffff) + a0 * b1) / 65536 >>> 0)) >>> 0;
}

/** One block: the four words of `counter`, replaced by random ones. */
export function philox(counter: Uint32Array, key: readonly [number, number]): void {
  let [x0 = 0, x1 = 0, x2 = 0, x3 = 0] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; ++round) {
    const above = high(M1, x2) ^ x1 ^ k0;
    const below = high(M0, x0) ^ x3 ^ k1;
    x1 = Math.imul(M1, x2) >>> 0;
    x3 = Math.imul(M0, x0) >>> 0;
    x0 = above >>> 0;
    x2 = below >>> 0;
    k0 = (k0 + W0) >>> 0;
    k1 = (k1 + W1) >>> 0;
  }
  counter[0] = x0;
  counter[1] = x1;
  counter[2] = x2;
  counter[3] = x3;
}

let key: readonly [number, number] = [0, 0];
let drawn = 0;

/** All that is random from here on follows from this number (up to 2^53). */
export function manualSeed(seed: number): void {
  key = [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0];
  drawn = 0;
}
manualSeed(Date.now());

/** How far it has come since the seed; and back there. */
export const position = (): number => drawn;
export function seek(to: number): void {
  drawn = to;
}

/** `count` words, of a tensor of their own. */
export function words(count: number): Uint32Array {
  const made = new Uint32Array(4 * Math.ceil(count / 4));
  const tensor = drawn++;
  for (let at = 0; at < count; at += 4) {
    const block = made.subarray(at, at + 4);
    block[0] = at / 4;
    block[2] = tensor;
    philox(block, key);
  }
  return made.subarray(0, count);
}

/** Evenly distributed in [low, high), from 24 bits. */
export const uniform = (count: number, low = 0, high = 1): Float64Array =>
  Float64Array.from(words(count), (word) => low + (word >>> 8) * 2 ** -24 * (high - low));

/** Normally distributed (Box and Muller). */
export function normal(count: number, mean = 0, deviation = 1): Float64Array {
  const pairs = words(2 * Math.ceil(count / 2));
  const made = new Float64Array(count);
  for (let at = 0; at < count; ++at) {
    const even = at & ~1;
    const radius = Math.sqrt(-2 * Math.log(((pairs[even] ?? 0) + 1) * 2 ** -32));
    const angle = 2 * Math.PI * (pairs[even + 1] ?? 0) * 2 ** -32;
    made[at] = mean + deviation * radius * (at & 1 ? Math.sin(angle) : Math.cos(angle));
  }
  return made;
}

/** The numbers 0 to n - 1 in random order (Fisher and Yates). */
export function permutation(n: number): Int32Array {
  const made = Int32Array.from({length: n}, (_, at) => at);
  const random = words(n);
  for (let at = n - 1; at > 0; --at) {
    const other = Math.floor(((random[at] ?? 0) * (at + 1)) / 2 ** 32);
    [made[at], made[other]] = [made[other] ?? 0, made[at] ?? 0];
  }
  return made;
}
