// GGUF files that the gguf package wrote: every type of weights to the bit, logits of every architecture, files that are damaged, and texts.
//
//   node tests/gguf/suite.mjs
import {execFileSync, spawnSync} from 'node:child_process';
import {copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {block, integer, message, model, node, value} from '../cli/models.mjs';
import {npy, parse_npy} from '../libraries/arrays.mjs';
import {prepare} from './made_files.mjs';
import {testTexts} from './texts.mjs';

const {build, gossamer, tally, targets, folder, work} = prepare('gguf', ['make.py', 'reference.py', 'words.py'].map((name) => path.join(import.meta.dirname, name)));
const read = (name) => parse_npy(readFileSync(path.join(folder, name)));

/** Outputs of a run by their names. */
function run(file, target, feeds, outputs) {
  const inputs = Object.entries(feeds).flatMap(([name, bytes]) => {
    writeFileSync(path.join(work, `${name}.npy`), bytes);
    return ['--input', `${name}=${path.join(work, `${name}.npy`)}`];
  });
  const {status, stderr} = spawnSync(gossamer, ['run', file, '--target', target, ...inputs, '--save', path.join(work, 'out')], {encoding: 'utf8'});
  if (status !== 0) throw new Error(stderr.trim());
  return outputs.map((name) => parse_npy(readFileSync(path.join(work, 'out', `${name}.npy`))));
}

function recorded(name, check) {
  try {
    tally.record(name, check());
  } catch (problem) {
    tally.record(name, problem.message);
  }
}

/** Every row of weights in a type, as the operator reads them. */
function decoded(type, target) {
  const blocks = read(`${type}.blocks.npy`);
  const bytes = Buffer.from(blocks.raw);
  const width = 512;
  const plain = {F32: [1, 4], F16: [10, 2], BF16: [16, 2]}[type];
  const numbers = type.endsWith('_K') ? 256 : 32;
  const shape = plain ? [64, width] : [64, width / numbers, bytes.length / 64 / (width / numbers)];
  const weights = message(shape.map((extent) => integer(1, extent)), integer(2, plain ? plain[0] : 2), block(8, 'w'), block(9, bytes));
  const gather = message(node('GatherBlocks', ['w', 'ids'], ['y'], {strings: plain ? {} : {format: type}}), block(7, 'ai.gossamer'));
  const file = path.join(work, 'rows.onnx');
  writeFileSync(file, model({nodes: [gather], inputs: [value('ids', 'i64', ['rows'])], outputs: [value('y', 'f32', ['rows', width])], weights: [weights]}));
  const [made] = run(file, target, {ids: npy('<i8', [64], BigInt64Array.from({length: 64}, (_, at) => BigInt(at)))}, ['y']);
  const has = new Uint32Array(Uint8Array.from(made.raw).buffer);
  const wanted = new Uint32Array(Uint8Array.from(read(`${type}.numbers.npy`).raw).buffer);
  const wrong = [...has.keys()].filter((at) => has[at] !== wanted[at] && !((has[at] & 0x7fffffff) > 0x7f800000 && (wanted[at] & 0x7fffffff) > 0x7f800000));
  if (has.length !== wanted.length) return `${has.length} numbers, not ${wanted.length}`;
  return wrong.length > 0 ? `${wrong.length} of ${has.length} numbers differ, the first at ${wrong[0]}: ${has[wrong[0]].toString(16)}, not ${wanted[wrong[0]].toString(16)}` : undefined;
}

for (const target of targets)
  for (const type of ['F32', 'F16', 'BF16', 'Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q4_K', 'Q5_K', 'Q6_K']) recorded(`${type} on ${target}: numbers, to the bit`, () => decoded(type, target));

const LAYERS = {gemma3: 6};
const [GROUPS, HEAD] = [2, 64];

/** A prompt, and the tokens after it with the caches that it left. */
function logits(name, target) {
  const layers = LAYERS[name] ?? 2;
  const caches = Array.from({length: layers}, (_, layer) => ['key', 'value'].map((part) => `${layer}.${part}`)).flat();
  const ids = read(`${name}.ids.npy`).elements;
  const wanted = read(`${name}.logits.npy`).elements;
  const words = wanted.length / ids.length;
  const compiled = path.join(work, `${name}.${target}`);
  execFileSync(gossamer, ['compile', path.join(folder, `${name}.gguf`), '--target', target, '--emit', 'package', '-o', compiled], {stdio: 'pipe'});
  let kept = caches.map(() => npy('<f4', [1, GROUPS, 0, HEAD], new Float32Array()));
  for (const [from, to] of [[0, 20], [20, 21], [21, ids.length]]) {
    const feeds = {input_ids: npy('<i8', [1, to - from], ids.slice(from, to)), attention_mask: npy('<i8', [1, to], new BigInt64Array(to).fill(1n))};
    caches.forEach((cache, at) => (feeds[`past_key_values.${cache}`] = kept[at]));
    const [made, ...present] = run(compiled, target, feeds, ['logits', ...caches.map((cache) => `present.${cache}`)]);
    kept = present.map((each) => npy('<f4', each.shape, each.elements));
    const has = made.elements;
    const error = has.reduce((most, each, at) => Math.max(most, Math.abs(each - wanted[from * words + at])), 0);
    if (has.length !== (to - from) * words || !(error < 3e-5)) return `tokens ${from} to ${to}: ${has.length} logits, which differ by ${error}`;
  }
}

for (const target of targets)
  for (const name of ['llama', 'llama-spm', 'qwen2', 'qwen3', 'gemma3', 'phi3', 'phi3-long']) recorded(`${name} on ${target}: logits`, () => logits(name, target));

// The weights of a package are the file's, not numbers of 32 bits.
recorded('a package is as large as its model', () => {
  const file = path.join(folder, 'llama-spm.gguf');
  const {stdout, stderr} = spawnSync(gossamer, ['compile', file, '--target', 'cpu', '-o', path.join(work, 'package'), '--json'], {encoding: 'utf8'});
  const {memory_bytes: memory} = JSON.parse(stdout || '{}').packages?.[0] ?? JSON.parse(stdout || '{}');
  const size = readFileSync(file).length;
  return memory < 1.3 * size ? undefined : `${memory} bytes of memory, the file has ${size}: ${stderr}`;
});

// A model in several files, which llama.cpp names so.
const partsIn = path.join(work, 'parts');
mkdirSync(partsIn);
const partNames = readdirSync(folder).filter((name) => name.startsWith('parts-'));
for (const name of partNames) copyFileSync(path.join(folder, name), path.join(partsIn, name));
const [firstPart, secondPart] = partNames;
const compiled = (file, target, to) => spawnSync(gossamer, ['compile', file, '--target', target, '--emit', 'package', '-o', path.join(work, to)], {encoding: 'utf8'});
recorded('a model in several files is that in one', () => {
  const {stderr} = compiled(path.join(partsIn, firstPart), 'wasm', 'joined');
  compiled(path.join(folder, 'qwen2.gguf'), 'wasm', 'whole');
  const names = readdirSync(path.join(work, 'whole'));
  const differ = names.filter((name) => !readFileSync(path.join(work, 'whole', name)).equals(readFileSync(path.join(work, 'joined', name))));
  return partNames.length === 3 && names.length > 2 && differ.length === 0 ? undefined : `${partNames.join(', ')}: ${differ.join(', ')} ${stderr}`;
});
const refusedPart = (name, file, words) => {
  const {status, stderr} = compiled(path.join(partsIn, file), 'wasm', 'none');
  tally.record(`parts: ${name}`, status === 1 && words.test(stderr) ? undefined : `exit code ${status}: ${stderr.trim()}`);
};
refusedPart('not the first one', secondPart, /the file is part 2 of 3 \(give the first one, parts-00001-of-00003\.gguf\)/);
copyFileSync(path.join(folder, partNames[2]), path.join(partsIn, secondPart));
refusedPart('one in place of another', firstPart, /parts-00002-of-00003\.gguf: is part 3 of 3, not part 2 of 3 \(download all parts/);
writeFileSync(path.join(partsIn, secondPart), readFileSync(path.join(folder, secondPart)).subarray(0, -5000));
refusedPart('one that is cut', firstPart, /parts-00002-of-00003\.gguf.*ends at byte \d+, the file has \d+/);
rmSync(path.join(partsIn, secondPart));
refusedPart('one that is missing', firstPart, /the model has 3 parts, and parts-00002-of-00003\.gguf cannot be read: .*no such file \(download it into the same folder\)/);
copyFileSync(path.join(folder, firstPart), path.join(partsIn, 'renamed.gguf'));
refusedPart('one with another name', 'renamed.gguf', /one of 3 parts of a model, and its name does not say which \(name the parts as/);

// Damaged files.
const good = readFileSync(path.join(folder, 'qwen3.gguf'));
const cases = {
  empty: [good.subarray(0, 4), /the GGUF file is cut.*downloaded completely/],
  header: [good.subarray(0, 3000), /cut|completely/],
  weights: [good.subarray(0, good.length - 5000), /ends at byte \d+, the file has \d+.*downloaded completely/],
  version: [Buffer.concat([good.subarray(0, 4), Buffer.from([9, 0, 0, 0]), good.subarray(8)]), /version 9; 2 and 3 are supported.*llama\.cpp/],
  architecture: [Buffer.from(good.toString('latin1').replaceAll('qwen3', 'qwenX'), 'latin1'), /architecture "qwenX".*llama, qwen2, qwen3, gemma3 and phi3/],
  name: [Buffer.from(good.toString('latin1').replaceAll('ffn_up', 'ffn_uq'), 'latin1'), /lacks the tensor "blk\.0\.ffn_up\.weight"|\[1024, 256\]/],
};
for (const [name, [bytes, words]] of Object.entries(cases)) {
  const file = path.join(work, `${name}.gguf`);
  writeFileSync(file, bytes);
  const {status, stderr} = spawnSync(gossamer, ['compile', file, '--target', 'wasm', '-o', path.join(work, 'refused')], {encoding: 'utf8'});
  tally.record(`damaged: ${name}`, status === 1 && words.test(stderr) ? undefined : `exit code ${status}: ${stderr.trim()}`);
}

await testTexts({tally, folder, build, work, gossamer, names: ['llama', 'llama-spm', 'qwen2', 'gemma3', 'phi3']});
rmSync(work, {recursive: true});
tally.end();
