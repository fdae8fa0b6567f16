// Packages for wasm whose tensors lie around and above 2 GiB of the memory: a slot that nothing uses comes first. Its
// pages are reserved and never touched, so that a small machine will do.
import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {bundle} from '../../web/runtime/build/bundle.mjs';
import {MODELS} from './models.mjs';

// The first tensors lie across the border of 31 bits, or all close to the end of 32.
const GAPS = [2 ** 31 - 8192, 2 ** 32 - 2 ** 24];
const NUMBERS = {expand: [40n, 300n], tile: [30n, 20n], concat: [900n, 1100n], pad: [17n, 40n], matmul: [60n, 70n], conv: [500n, 8n],
  resize_line: [700n, 3001n], loop_rows: [5n, 300n], range: [3000n]};

/** The same, with a slot of so many bytes before all others. */
function moved(files, bytes) {
  const manifest = JSON.parse(files.get('manifest.json'));
  manifest.slots.unshift({bytes, persistent: true});
  for (const tensor of manifest.tensors) ++tensor.slot;
  return new Map([...files, ['manifest.json', Buffer.from(JSON.stringify(manifest))]]);
}

const numbersOf = (data) => Array.from(data, Number);

/** Records each model at each place, alone and with helping threads. */
export async function testHighMemory({gossamer, work, record}) {
  const outfile = path.join(work, 'runtime.mjs');
  await bundle({entryPoints: [path.resolve(import.meta.dirname, '../../web/runtime/src/index.ts')], platform: 'node', format: 'esm', outfile});
  const {load} = await import(pathToFileURL(outfile).href);
  for (const [name, numbers] of Object.entries(NUMBERS)) {
    const {bytes, make, wanted} = MODELS[name];
    const folder = path.join(work, 'high', name);
    mkdirSync(folder, {recursive: true});
    writeFileSync(path.join(folder, 'model.onnx'), bytes);
    const site = path.join(folder, 'package');
    execFileSync(gossamer, ['compile', path.join(folder, 'model.onnx'), '--target', 'wasm', '--output', site], {stdio: 'pipe'});
    const files = new Map(readdirSync(site, {recursive: true}).flatMap((file) =>
      /^wasm\/[^/]+$|^[^/]+\.(json|wasm|safetensors)$/.test(file) ? [[path.basename(file), readFileSync(path.join(site, file))]] : []));
    const feeds = make(...numbers);
    const want = wanted(feeds, numbers);
    const expected = Array.from({length: want.shape.reduce((all, each) => all * Number(each), 1)}, (_, at) => want.at(at));
    for (const gap of GAPS) {
      for (const threads of [1, 3]) {
        const problems = [];
        try {
          const model = await load(moved(files, gap), {device: 'wasm', threads});
          const {memory} = model.report();
          if (memory.persistent < gap) problems.push(`the gap is not there: ${JSON.stringify(memory)}`);
          const given = Object.fromEntries(model.inputs.map((port, at) => [port.name, {dtype: feeds[at].type, ...feeds[at]}]));
          // The second run is recorded anew nowhere: what is kept has addresses, too.
          for (const _ of [1, 2]) {
            const [output] = Object.values(await model.run(given));
            const got = numbersOf(await output.data());
            const at = expected.findIndex((each, place) => !(Math.abs(each - got[place]) <= 1e-3));
            if (got.length !== expected.length || at >= 0) problems.push(`element ${at} is ${got[at]}, not ${expected[at]}`);
          }
          model.dispose();
        } catch (problem) {
          problems.push(problem.message);
        }
        record(`${name} in Node, above ${gap} bytes, ${threads} thread(s)`, problems);
      }
    }
  }
}
