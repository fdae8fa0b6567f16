// Runs exported functions of a module on given memory, for the tests beside it.
// node run_module.mjs DIR: reads DIR/module.wasm, DIR/jobs.json and DIR/in.bin, writes DIR/out.bin.
// A job is {name, buffers: [bytes, ...], scalars: [...], range}; in.bin and out.bin hold all jobs' buffers in order.
import { readFileSync, writeFileSync } from 'node:fs';

const dir = process.argv[2];
const jobs = JSON.parse(readFileSync(`${dir}/jobs.json`, 'utf8'));
const input = readFileSync(`${dir}/in.bin`);
const memory = new WebAssembly.Memory({ initial: 256 });
const { instance } = await WebAssembly.instantiate(readFileSync(`${dir}/module.wasm`), { env: { memory } });
const bytes = new Uint8Array(memory.buffer);
const words = new Int32Array(memory.buffer);
const align = (n) => (n + 63) & ~63;

const outputs = [];
let read = 0;
for (const { name, buffers, scalars, range } of jobs) {
  // As near to the start of memory as docs/specs/package.md allows, so that an address far below the first buffer traps.
  let top = 64;
  const addresses = [];
  const from = read;
  for (const size of buffers) {
    addresses.push(top);
    bytes.set(input.subarray(read, read + size), top);
    bytes.fill(0xcd, top + size, align(top + size) + 64);
    read += size;
    top = align(top + size) + 64;
  }
  const args = top;
  words.set([...addresses, ...scalars], args / 4);
  if (instance.exports.scratch) instance.exports.scratch.value = align(args + 4096);
  const run = instance.exports[name];
  if (name.startsWith('plan')) {
    run(addresses[0], addresses[1]);
  } else {
    // Any partition of the range gives the same.
    const middle = Math.floor(range / 3);
    if (middle > 0) run(0, middle, args);
    run(middle, range, args);
  }
  buffers.forEach((size, k) => {
    outputs.push(bytes.slice(addresses[k], addresses[k] + size));
    for (let at = addresses[k] + size; at < align(addresses[k] + size) + 64; ++at) {
      if (bytes[at] !== 0xcd) throw new Error(`${name} wrote past buffer ${k}`);
    }
  });
  if (from === read) throw new Error(`${name} has no buffers`);
}
writeFileSync(`${dir}/out.bin`, Buffer.concat(outputs));
