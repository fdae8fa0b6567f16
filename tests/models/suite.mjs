// The shared models against ONNX Runtime's outputs on every target, and options that change kernels: GPUs in hardware, threads,
// no relaxed SIMD. Without shared models, the same with the small networks of this repository (own.mjs).
//
//   node tests/models/suite.mjs [TARGET...]
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {testdata} from '../shared.mjs';
import {Tally} from '../tally.mjs';
import {writeOwn} from './own.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const models = testdata(root, 'models');
const targets = process.argv.length > 2 ? process.argv.slice(2) : ['cpu', 'wasm', 'webgpu', 'webgl'];

// Compared element by element.
const exact = ['mnist_8_cntk', 'super_resolution_10', 'ultraface_rfb320', 'winml_image_classifier',
  'espcn_qonnx_float', 'yunet_n_dyn', 'mobilenetv2_int8_ort'].map((name) => path.join(models, name));

// A text begins with nothing kept of tokens before: the dimension of the past is 0. The logits of a Llama's first eight tokens, and
// of the first alone.
const begun = mkdtempSync(path.join(tmpdir(), 'gossamer-begun-'));
process.on('exit', () => rmSync(begun, {recursive: true, force: true}));
function writeBegun(llama) {
  const varint = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]);
  const tensor = (type, shape, bytes) =>
    Buffer.concat([Buffer.from([...shape.flatMap((extent) => [8, ...varint(extent)]), 16, type, 74, ...varint(bytes.length)]), bytes]);
  const reference = readFileSync(path.join(llama, 'ref_logits_200.npy'));
  const logits = reference.subarray(10 + reference.readUInt16LE(8)); // f32 [200, 512]
  const {greedy_tokens: tokens} = JSON.parse(readFileSync(path.join(llama, 'greedy.json'), 'utf8'));
  symlinkSync(path.join(llama, 'model.onnx'), path.join(begun, 'model.onnx'));
  for (const [set, length] of [8, 1].entries()) {
    const folder = path.join(begun, `test_data_set_${set}`);
    mkdirSync(folder);
    const write = (name, ...given) => writeFileSync(path.join(folder, name), tensor(...given));
    write('input_0.pb', 7, [1, length], Buffer.from(BigInt64Array.from(tokens.slice(0, length), BigInt).buffer));
    for (const past of [1, 2]) write(`input_${past}.pb`, 1, [5, 1, 4, 0, 8], Buffer.alloc(0));
    write('output_0.pb', 1, [1, length, 512], logits.subarray(0, 4 * 512 * length));
  }
}
const llama = path.join(models, 'stories260k');
if (existsSync(llama)) writeBegun(llama);

const present = existsSync(models);
const own = () => [...Object.values(writeOwn({folder: path.join(begun, 'own'), gossamer})), path.join(root, 'examples/digits')];
const all = present ? [...exact, begun] : own();
const some = present ? [exact[0], exact[1], exact[5]] : all;
const tally = new Tally();

function run(args) {
  const {status, stdout, stderr, error} =
    spawnSync(gossamer, ['test', ...args], {encoding: 'utf8', timeout: 600_000});
  process.stdout.write(stdout ?? '');
  const counts = /^(\d+) passed, (\d+) failed/m.exec(stdout ?? '');
  tally.passed += Number(counts?.[1] ?? 0);
  tally.failed += Number(counts?.[2] ?? 0);
  if (!counts || (status !== 0 && counts[2] === '0'))
    tally.record(args.join(' '), error?.message ?? ((stderr || '').trim() || 'no result'));
}

for (const target of targets) {
  console.log(`== ${target}`);
  run([...all, '--target', target]);
  // The kernels for GPUs in hardware compute the same in software.
  if (target === 'webgpu') run([...some, '--target', target, '--adapters', 'hardware']);
  if (target === 'wasm') {
    run([...some, '--target', target, '--threads', '2']);
    run([...some, '--target', target, '--no-relaxed-simd']);
  }
}
tally.end();
