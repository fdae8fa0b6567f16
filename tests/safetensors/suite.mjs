// Folders of safetensors files, quantised while they are compiled: blocks to the bit, logits of every architecture and form of weights, and
// folders that are damaged.
//
//   node tests/safetensors/suite.mjs
import {execFileSync, spawnSync} from 'node:child_process';
import {cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {prepare} from '../gguf/made_files.mjs';
import {npy, parse_npy} from '../libraries/arrays.mjs';
import {testPages} from './pages.mjs';

const {build, gossamer, tally, targets, folder, work} = prepare('safetensors', ['make.py', '../gguf/reference.py', '../gguf/words.py'].map((name) => path.join(import.meta.dirname, name)));

const LAYERS = {gemma3_text: 6};
const [GROUPS, HEAD] = [2, 32];
const compile = (from, target, dtype, to) => execFileSync(gossamer, ['compile', from, '--target', target, ...(dtype ? ['--dtype', dtype] : []), '--emit', 'package', '-o', to], {stdio: 'pipe'});

function recorded(name, check) {
  try {
    tally.record(name, check());
  } catch (problem) {
    tally.record(name, problem.message);
  }
}

/** Of a prompt of 24 tokens. */
function logits(name, target, dtype, given) {
  const wanted = parse_npy(readFileSync(path.join(folder, `${name}.${dtype}.npy`))).elements;
  const compiled = path.join(work, `${name}.${target}.${dtype}`);
  compile(path.join(folder, name), target, given, compiled);
  const feeds = {input_ids: path.join(folder, `${name}.ids.npy`), attention_mask: path.join(work, 'mask.npy')};
  writeFileSync(feeds.attention_mask, npy('<i8', [1, 24], new BigInt64Array(24).fill(1n)));
  const empty = path.join(work, 'empty.npy');
  writeFileSync(empty, npy('<f4', [1, GROUPS, 0, HEAD], new Float32Array()));
  for (let layer = 0; layer < (LAYERS[name] ?? 2); ++layer) for (const part of ['key', 'value']) feeds[`past_key_values.${layer}.${part}`] = empty;
  const inputs = Object.entries(feeds).flatMap(([input, file]) => ['--input', `${input}=${file}`]);
  const {status, stderr} = spawnSync(gossamer, ['run', compiled, '--target', target, ...inputs, '--save', path.join(work, 'out')], {encoding: 'utf8'});
  if (status !== 0) return stderr.trim();
  const has = parse_npy(readFileSync(path.join(work, 'out/logits.npy'))).elements;
  const error = has.reduce((most, each, at) => Math.max(most, Math.abs(each - wanted[at])), 0);
  return has.length === wanted.length && error < 3e-5 ? undefined : `${has.length} logits, which differ by ${error}`;
}

const names = ['llama', 'mistral', 'qwen2', 'qwen3', 'gemma3_text', 'phi3'];
for (const name of names) for (const dtype of ['q4', 'q8', 'fp16', 'fp32']) recorded(`${name} on cpu in ${dtype}: logits`, () => logits(name, 'cpu', dtype, dtype === 'q4' ? undefined : dtype));
for (const target of targets.slice(1)) for (const name of names) recorded(`${name} on ${target} in q4: logits`, () => logits(name, target, 'q4', 'q4'));

/** Tensors of a safetensors file by their names. */
function tensorsOf(file) {
  const bytes = readFileSync(file);
  const data = 8 + Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.subarray(8, data));
  return new Map(Object.entries(header).flatMap(([name, {data_offsets: at}]) => (at ? [[name, bytes.subarray(data + at[0], data + at[1])]] : [])));
}

for (const dtype of ['q4', 'q8'])
  recorded(`blocks in ${dtype}, to the bit`, () => {
    const has = [...tensorsOf(path.join(work, `llama.cpu.${dtype}/weights.safetensors`)).values()].map((bytes) => bytes.toString('latin1'));
    const wanted = readdirSync(path.join(folder, 'llama.blocks')).filter((file) => file.startsWith(`${dtype}.`));
    // The compiler divides small ones itself (fold_constants), so they are not in the package as blocks.
    const blocks = (file) => readFileSync(path.join(folder, 'llama.blocks', file), 'latin1');
    const missing = wanted.filter((file) => blocks(file).length > 8000 && !has.includes(blocks(file)));
    return wanted.length === 16 && missing.length === 0 ? undefined : `of ${wanted.length} matrices these are others: ${missing.join(', ')}`;
  });

/** A copy of a folder with a change, and what the error must say. */
function refused(name, from, change, words, ...options) {
  const to = path.join(work, 'refused');
  rmSync(to, {recursive: true, force: true});
  cpSync(path.join(folder, from), to, {recursive: true});
  change(to);
  const {status, stderr} = spawnSync(gossamer, ['compile', to, '--target', 'wasm', ...options, '-o', path.join(work, 'none')], {encoding: 'utf8'});
  tally.record(`damaged: ${name}`, status === 1 && words.test(stderr) ? undefined : `exit code ${status}: ${stderr.trim()}`);
}
const file = (to, name = 'model.safetensors') => path.join(to, name);
const second = 'model-00002-of-00003.safetensors';
const cut = (name, length) => (to) => writeFileSync(file(to, name), readFileSync(file(to, name)).subarray(0, length));
const config = (values) => (to) => writeFileSync(file(to, 'config.json'), JSON.stringify({...JSON.parse(readFileSync(file(to, 'config.json'))), ...values}));
const header = (from, into) => (to) => {
  const bytes = readFileSync(file(to));
  const length = Number(bytes.readBigUInt64LE());
  writeFileSync(file(to), Buffer.concat([bytes.subarray(0, 8), Buffer.from(bytes.toString('latin1', 8, 8 + length).replaceAll(from, into).padEnd(length), 'latin1'), bytes.subarray(8 + length)]));
};
refused('a file is cut in its weights', 'mistral', cut('model.safetensors', -5000), /model\.safetensors: tensor "\S+": ends at byte \d+, the file has \d+ \(the file is cut: download it again\)/);
refused('in its header', 'mistral', cut('model.safetensors', 500), /has 500 bytes, its header alone \d+ \(the file is cut/);
refused('and before it', 'mistral', cut('model.safetensors', 4), /has 4 bytes, which is too short.*cut/);
refused('one of several is missing', 'qwen3', (to) => rmSync(file(to, second)), /lacks model-00002-of-00003\.safetensors, one of the 3 files that model\.safetensors\.index\.json lists \(download it, too\)/);
refused('one of several is a pointer of Git', 'qwen3', (to) => writeFileSync(file(to, second), 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1000\n'), /model-00002-of-00003\.safetensors: is a Git LFS pointer.*git lfs pull/);
refused('a list that leaves the folder', 'qwen3', (to) => writeFileSync(file(to, 'model.safetensors.index.json'), '{"weight_map": {"a": "../x.safetensors"}}'), /"\.\.\/x\.safetensors" outside of the folder/);
refused('a tensor is missing', 'mistral', header('layers.1.mlp.up_proj', 'layers.1.mlp.uq_proj'), /lacks the tensor "model\.layers\.1\.mlp\.up_proj\.weight" of its architecture, llama/);
refused('a tensor of another shape', 'mistral', config({intermediate_size: 512}), /tensor "model\.layers\.0\.mlp\.gate_proj\.weight": has the shape \[256, 128\], the values of the file ask for \[512, 128\]/);
refused('bytes that the shape does not take', 'mistral', header('[384, 128]', '[384, 129]'), /has \d+ bytes, which its shape does not take/);
refused('another type', 'mistral', header('"F16"', '"I16"'), /is in I16; F32, F16 and BF16 are read \(take the checkpoint/);
refused('an unknown architecture', 'mistral', config({model_type: 'gpt_oss'}), /kind "gpt_oss".*\(use a model of llama, mistral, qwen2, qwen3, gemma3, gemma3_text and phi3, or its ONNX form\)/);
refused('no architecture', 'mistral', config({model_type: null}), /which kind of model it is \(model_type\)/);
refused('weights that are quantised already', 'mistral', config({quantization_config: {quant_method: 'awq'}}), /quantised already, by awq \(take the checkpoint/);
refused('a rotation that is not known', 'mistral', config({rope_scaling: {rope_type: 'dynamic', factor: 2}}), /in the way "dynamic"; default, linear, llama3, yarn and longrope/);
refused('a value that is missing', 'mistral', config({hidden_size: null}), /config\.json: lacks the value "hidden_size"/);
refused('a value that is wrong', 'mistral', config({num_hidden_layers: 'two'}), /"num_hidden_layers" is not an integer/);
refused('no JSON', 'mistral', (to) => writeFileSync(file(to, 'config.json'), '{'), /config\.json: is not a JSON object/);
refused('a number that is not finite', 'llama', (to) => {
  const bytes = readFileSync(file(to));
  const at = JSON.parse(bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())))['lm_head.weight'].data_offsets[0];
  bytes.fill(0xff, 8 + Number(bytes.readBigUInt64LE()) + at + 8, 8 + Number(bytes.readBigUInt64LE()) + at + 12);
  writeFileSync(file(to), bytes);
}, /tensor "lm_head\.weight" of model\.safetensors has a number that is not finite/);
refused('no weights', 'mistral', (to) => rmSync(file(to)), /a folder without a model that is known \(give an ONNX or GGUF file, or a folder with config\.json and model\.safetensors/);
refused('an adapter', 'mistral', (to) => (rmSync(file(to)), writeFileSync(file(to, 'adapter_config.json'), '{}')), /is an adapter.*merge/);

recorded('a file of the folder in place of the folder', () => {
  const {status, stderr} = spawnSync(gossamer, ['compile', path.join(folder, 'llama/model.safetensors'), '--target', 'wasm', '-o', path.join(work, 'none')], {encoding: 'utf8'});
  return status === 1 && /has weights alone \(give the folder with config\.json, \S+llama\)/.test(stderr) ? undefined : stderr;
});

await testPages({tally, folder, build, work, names});
rmSync(work, {recursive: true});
tally.end();
