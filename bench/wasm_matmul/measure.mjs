// node measure.mjs NAME ROWS FILE ...: runs 512^3 multiplications and prints their rates, by CPU time of this thread.
import { readFileSync } from 'node:fs';

const size = 512;
const variants = [];
for (let k = 2; k + 2 < process.argv.length; k += 3) {
  const [name, rows, file] = process.argv.slice(k, k + 3);
  const memory = new WebAssembly.Memory({ initial: 64 });
  const { instance } = await WebAssembly.instantiate(readFileSync(file), { env: { memory } });
  const floats = new Float32Array(memory.buffer);
  const [a, b, c, args] = [64, 64 + 4 * size * size, 64 + 8 * size * size, 64 + 12 * size * size];
  for (let i = 0; i < size * size; ++i) {
    floats[a / 4 + i] = ((i * 37) % 101) / 101 - 0.5;
    floats[b / 4 + i] = ((i * 53) % 97) / 97 - 0.5;
  }
  new Int32Array(memory.buffer).set([a, b, c], args / 4);
  const tiles = Math.floor(size / rows);
  const range = (size / 8) * tiles;
  variants.push({ name, run: () => instance.exports.k0(0, range, args), flops: 2 * tiles * rows * size * size, times: [], floats, b, c });
}
for (const { run } of variants) for (let k = 0; k < 5; ++k) run();
for (let round = 0; round < 15; ++round) {
  for (const variant of variants) {
    const before = process.cpuUsage();
    for (let k = 0; k < 4; ++k) variant.run();
    variant.times.push(process.cpuUsage(before).user / 4);
  }
}
for (const { name, flops, times, floats, b, c } of variants) {
  let sum = 0;
  for (let k = 0; k < size; ++k) sum += floats[16 + 3 * size + k] * floats[b / 4 + k * 8 + 5];
  const got = floats[c / 4 + 3 * size + 5];
  if (Math.abs(got - sum) > 1e-3) throw new Error(`${name}: ${got} instead of ${sum}`);
  times.sort((x, y) => x - y);
  console.log(`${name}: median ${(flops / times[7] / 1e3).toFixed(1)} G/s, best ${(flops / times[0] / 1e3).toFixed(1)} G/s`);
}
