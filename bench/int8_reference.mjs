// How far the answers for the quantized MobileNetV2 of ../shared/testdata lie apart: Gossamer's, and ONNX Runtime's
// with and without its optimizations. Without them it runs the model as written: dequantized sums in f32.
//
//   node bench/int8_reference.mjs [--build FOLDER]     after tools/setup/setup.sh --bench
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';

const ort = createRequire(import.meta.url)('onnxruntime-node');
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const {values: options} = parseArgs({options: {build: {type: 'string', default: join(root, 'build')}}});
const folder = join(root, '../shared/testdata/models/mobilenetv2_int8_ort');
const model = join(folder, 'model.onnx');
const file = join(folder, 'gold_ort/input_0.pb');
const shape = [1, 3, 244, 244];

function ours() {
  const args = ['run', model, '--target', 'cpu', '--json', '--input', `image=${file}`];
  const {outputs} = JSON.parse(execFileSync(join(options.build, 'gossamer'), args, {maxBuffer: 2 ** 28}).toString());
  return outputs[0].data;
}

async function peer(graphOptimizationLevel) {
  const session = await ort.InferenceSession.create(model, {graphOptimizationLevel, logSeverityLevel: 3});
  const count = shape.reduce((product, extent) => product * extent, 1);
  const image = Float32Array.from({length: count}, (_, at) => pixels.readFloatLE(pixels.length - 4 * (count - at)));
  const results = await session.run({[session.inputNames[0]]: new ort.Tensor('float32', image, shape)});
  return [...results[session.outputNames[0]].data];
}

const pixels = readFileSync(file); // a TensorProto, whose raw_data come last
const answers = [['gossamer', ours()], ['ONNX Runtime as written', await peer('disabled')], ['ONNX Runtime', await peer('all')]];
const levels = [...new Set(answers[2][1])].sort((a, b) => a - b);
const step = Math.min(...levels.slice(1).map((level, at) => level - levels[at]));
for (const [name, scores] of answers) {
  const best = scores.map((score, at) => [score, at]).sort(([a], [b]) => b - a).slice(0, 6).map(([, at]) => at);
  console.log(`${name}: best classes ${best.join(' ')}`);
}
for (const [[one, a], [other, b]] of [[answers[0], answers[1]], [answers[0], answers[2]], [answers[1], answers[2]]]) {
  const steps = a.map((score, at) => Math.round(Math.abs(score - b[at]) / step));
  console.log(`${one} and ${other}: ${steps.filter((n) => n > 0).length} of ${steps.length} scores differ, by at most ${Math.max(...steps)} steps`);
}
