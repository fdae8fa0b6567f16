// Real models on every target against the outputs of ONNX Runtime that lie beside them: the digit model of this
// repository, and models of ../shared/testdata where that folder exists.
//
//   node tests/models/suite.mjs [TARGET...]
import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const models = path.join(root, '../shared/testdata/models');
const targets = process.argv.length > 2 ? process.argv.slice(2) : ['cpu', 'wasm', 'webgpu', 'webgl'];

// Compared element by element.
const exact = ['mnist_8_cntk', 'super_resolution_10', 'ultraface_rfb320', 'winml_image_classifier',
  'espcn_qonnx_float', 'yunet_n_dyn', 'mobilenetv2_int8_ort'].map((name) => path.join(models, name));

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
  run([path.join(root, 'examples/digits'), '--target', target]);
  if (!existsSync(models)) {
    tally.skip(`${target}: the models of ../shared/testdata`, 'that folder is absent');
    continue;
  }
  run([...exact, '--target', target]);
  // What GPUs in hardware get computes the same on software.
  if (target === 'webgpu') run([exact[0], exact[1], exact[3], '--target', target, '--adapters', 'hardware']);
  if (target === 'wasm') {
    run([exact[0], exact[5], '--target', target, '--threads', '2']);
    run([exact[0], exact[5], '--target', target, '--no-relaxed-simd']);
  }
}
tally.end();
