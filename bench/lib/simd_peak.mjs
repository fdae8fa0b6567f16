// V8's SIMD peak on this machine: twelve independent chains of multiply and add on f32x4, in registers.
const CHAINS = 12;
const STEPS = 16;

const leb = (value) => {
  const bytes = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
};
const sized = (bytes) => [...leb(bytes.length), ...bytes];
const section = (id, bytes) => [id, ...sized(bytes)];

/** (turns: i32) -> f32: each turn is CHAINS * STEPS multiplications and additions of 4 lanes. */
function peakModule() {
  const simd = (opcode) => [0xfd, ...leb(opcode)];
  const multiplyAdd = [];
  for (let step = 0; step < STEPS; ++step) {
    for (let chain = 1; chain <= CHAINS; ++chain) {
      // acc = acc * factor + factor, with the factor in the last local.
      const factor = [0x20, CHAINS + 1];
      multiplyAdd.push(0x20, chain, ...factor, ...simd(0xe6), ...factor, ...simd(0xe4), 0x21, chain);
    }
  }
  const sum = [0x20, 1];
  for (let chain = 2; chain <= CHAINS; ++chain) sum.push(0x20, chain, ...simd(0xe4));
  const code = [
    1, CHAINS + 1, 0x7b, // locals: v128
    0x43, 0x00, 0x00, 0x00, 0x3f, ...simd(0x13), 0x21, CHAINS + 1, // factor = 0.5
    0x03, 0x40, ...multiplyAdd, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, // loop while --turns
    ...sum, ...simd(0x1f), 0, 0x0b,
  ];
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7d]),
    ...section(3, [1, 0]),
    ...section(7, [1, 1, 0x66, 0, 0]),
    ...section(10, [1, ...sized(code)]),
  ]);
}

/** {run(), flops}: multiply plus add, without relaxed SIMD's fused one; a few milliseconds a run. */
export async function simdPeak() {
  const {instance} = await WebAssembly.instantiate(peakModule());
  const turns = 200_000;
  return {run: () => instance.exports.f(turns), flops: turns * CHAINS * STEPS * 8};
}
