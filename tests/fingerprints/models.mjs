// The models whose packages have fingerprints, and the targets and options that each is compiled for. The models are small;
// together they cover the kinds of kernels that the compiler makes.
import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {growth} from '../../bench/models/growth.mjs';
import {attentionHeads, convolution, layerNormRows, matmulChain, rowTimesMatrix, softmaxRows} from '../../bench/models/kernels.mjs';
import {mobilenetv2, networkGraph, resnet18, squeezenet} from '../../bench/models/networks.mjs';
import {quantizedGraph} from '../../bench/models/quantized.mjs';
import {bert, gpt2} from '../../bench/models/transformers.mjs';
import {MODELS as SIZES} from '../sizes/models.mjs';
import * as graphs from './graphs.mjs';

// "c" means `--target cpu --emit c`. Machine code is for haswell unless a processor is named.
const TARGETS = ['cpu', 'wasm', 'webgpu', 'webgl', 'opencl', 'opengl', 'c'];
const PROCESSORS = ['cpu,x86-64-v2', 'cpu,skylake-avx512'];
const ADAPTERS = ['webgpu,hardware', 'webgpu,software'];
const RECORDS = ['webgpu,nvidia', 'opencl,nvidia', 'wasm,wasmtime'];
const SIDES = ['webgpu,side-cpu', 'webgl,side-cpu'];
const STATE = ['cpu,state', 'wasm,state', 'webgpu,state', 'opencl,state', 'opengl,state'];

/** The first layers of a network, which have few weights. */
const begin = (net, layers) => ({...net, layers: net.layers.slice(0, layers)});
const grown = (name) => growth.find((row) => row.name === name).graph();
const tiny = {layers: 1, width: 64, heads: 4};

// Each model has a name, a function that returns a graph or the bytes of a file, and packages in addition to TARGETS.
const made = [
  ['resnet', () => networkGraph(begin(resnet18(), 15)), [...PROCESSORS, ...ADAPTERS, ...RECORDS, 'opengl,es31', 'cpu,no-winograd', 'webgpu,no-winograd', 'wasm,no-relaxed-simd']],
  ['mobilenet', () => networkGraph(begin(mobilenetv2(), 12)), [...PROCESSORS, ...ADAPTERS, ...RECORDS, 'opengl,es31']],
  ['mobilenet_int8', () => quantizedGraph(begin(mobilenetv2(), 8), 'mobilenet_int8', () => 6), [...PROCESSORS, ...ADAPTERS, ...RECORDS]],
  ['squeezenet', () => networkGraph(begin(squeezenet(), 8)), []],
  ['digits', ({root}) => readFileSync(path.join(root, 'examples/digits/model.onnx')), PROCESSORS],
  ['bert', () => bert({...tiny, length: 32}), [...PROCESSORS, ...ADAPTERS, 'opengl,es31']],
  ['bert_free', () => bert({...tiny, length: 32, free: true}), [...ADAPTERS, 'opengl,es31', ...SIDES]],
  ['gpt2_prefill', () => gpt2({...tiny, length: 16, past: 0, vocabulary: 256}), ADAPTERS],
  ['gpt2_step', () => gpt2({...tiny, length: 1, past: 8, vocabulary: 256}), PROCESSORS],
  ['gpt2_decode', () => gpt2({...tiny, length: 1, past: 8, vocabulary: 256, free: true}), [...STATE, ...ADAPTERS]],
  ['matmul', () => matmulChain(512, 1), [...PROCESSORS, ...ADAPTERS, 'opengl,es31']],
  ['row_matrix', () => rowTimesMatrix(256, 1024, 1), [...PROCESSORS, ...ADAPTERS]],
  ['conv64', () => convolution(64, 56, 1), [...PROCESSORS, ...ADAPTERS]],
  ['conv256', () => convolution(256, 14, 1), ADAPTERS],
  ['depthwise', () => convolution(256, 28, 1, 256), [...PROCESSORS, ...ADAPTERS]],
  ['softmax', () => softmaxRows(1024, 1024, 1), [...PROCESSORS, ...ADAPTERS]],
  ['layernorm', () => layerNormRows(1024, 768, 1), [...PROCESSORS, ...ADAPTERS]],
  ['attention', () => attentionHeads(8, 512, 64, 1), [...PROCESSORS, ...ADAPTERS, 'opengl,es31']],
  ['products', graphs.products, [...PROCESSORS, ...ADAPTERS, 'opengl,es31']],
  ['products_open', graphs.productsOpen, PROCESSORS],
  ['linears', graphs.linears, PROCESSORS],
  ['convolutions', graphs.convolutions, [...PROCESSORS, ...ADAPTERS]],
  ['convolutions_open', graphs.convolutionsOpen, ADAPTERS],
  ['transposed', graphs.transposed, PROCESSORS],
  ['reductions', graphs.reductions, [...PROCESSORS, ...ADAPTERS, 'opengl,es31']],
  ['rows', graphs.rows, [...PROCESSORS, ...ADAPTERS]],
  ['elementwise', graphs.elementwise, PROCESSORS],
  ['moves', graphs.moves, []],
  ['pools', graphs.pools, PROCESSORS],
  ['resizes', graphs.resizes, []],
  ['ordered', graphs.ordered, ADAPTERS],
  ['recurrent', graphs.recurrent, [...PROCESSORS, ...ADAPTERS, ...SIDES]],
  ['four_bits', graphs.fourBits, [...PROCESSORS, ...ADAPTERS]],
  ['train_mlp', graphs.trainMlp, ADAPTERS],
  ['train_cnn', graphs.trainCnn, ADAPTERS],
  ['many_inputs', graphs.manyInputs, ['opengl,es31']],
  ['halves', graphs.halves, ['webgpu,f16', 'webgpu,f16,hardware']],
  ['half_cache', graphs.halfCache, STATE],
  ['mixed_types', graphs.mixedTypes, ['webgpu,f16', ...SIDES]],
  ['branching', graphs.branching, SIDES],
  ['grower', graphs.grower, STATE],
  ['loop_while', () => SIZES.loop_while.bytes, SIDES],
  ['loop_rows', () => SIZES.loop_rows.bytes, []],
  ['topk', () => grown('topk_50_random_10000'), ADAPTERS],
  ['unique', () => grown('unique_10000'), []],
  ['scatternd', () => grown('scatternd_10000'), []],
  ['nms', () => grown('nms_8400'), []],
  ['dft', () => grown('dft_1024'), []],
];

// Cases of the operator catalog: OPERATOR/CASE, as `graph_fuzz --catalog` names them, without the number.
const cases = [
  'Attention/mask_and_past', 'com.microsoft.GroupQueryAttention/one_more,_packed,_rotated', 'LinearAttention/prefill',
  'com.microsoft.MatMulNBits/zero_points,_bias', 'com.microsoft.GatherBlockQuantized/packed_rows', 'QLinearConv/tensor',
  'MatMulInteger/zero_points', 'DynamicQuantizeLinear/both_signs', 'com.microsoft.SkipLayerNormalization/bias',
  'DeformConv/padded', 'Einsum/batches', 'STFT/window', 'RoiAlign/mean', 'Det/pivots', 'Unique/rows_of_strings',
  'SplitToSequence/sizes', 'StringNormalizer/case_sensitive', 'TfIdfVectorizer/pairs', 'ai.onnx.ml.TreeEnsembleClassifier/two_classes',
];

/** The name of the model of a case, such as "qlinearconv_tensor". */
const nameOfCase = (one) => one.toLowerCase().replace(/^(com\.microsoft|ai\.onnx\.ml)\./, '').replace(/[^a-z0-9]+/g, '_');

/** Writes the models into `folder` and returns their files by name. `build` is the build folder, which has graph_fuzz. */
export function writeModels({root, build, folder}) {
  rmSync(folder, {recursive: true, force: true});
  mkdirSync(folder, {recursive: true});
  const files = {};
  for (const [name, make] of made) {
    const model = make({root});
    files[name] = path.join(folder, `${name}.onnx`);
    writeFileSync(files[name], model.file ? model.file() : model);
  }
  const catalog = path.join(folder, 'catalog');
  const operators = new Set(cases.map((one) => one.split('/')[0].split('.').at(-1)));
  execFileSync(path.join(build, 'tests/fuzz/graph_fuzz'), [catalog, '--catalog', '--ops', [...operators].join(',')], {stdio: ['ignore', 'ignore', 'inherit']});
  for (const one of cases) {
    const [operator, title] = one.split('/');
    const places = ['narrow', 'wide'].map((kind) => path.join(catalog, kind, operator));
    const found = places.flatMap((place) => list(place).filter((name) => name.replace(/^\d+_/, '') === title).map((name) => path.join(place, name)));
    if (found.length !== 1) throw new Error(`the catalog has ${found.length} cases "${one}", one is expected: correct the name in tests/fingerprints/models.mjs`);
    files[nameOfCase(one)] = path.join(found[0], 'model.onnx');
  }
  return files;
}

function list(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** All packages: [{package, model, target, options}]. */
export const PACKAGES = [...made, ...cases.map((one) => [nameOfCase(one)])].flatMap(([model, , more = []]) =>
  [...TARGETS, ...more].map((form) => {
    const [target, ...options] = form.split(',');
    return {package: `${model}/${form}`, model, target, options};
  }));
