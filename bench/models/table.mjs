// The models and kernels that are measured. A row:
//   name, title, part: 'models' | 'matmul' | 'kernels' | 'training' | 'decoding' | 'growth' | 'zoo'
//   graph(): Graph      what runs; of chained rows graph(links): the time is the difference between two chains, by link
//   flops               of one run, or of one link; undefined where arithmetic is not what counts
//   training()          of steps of training, in place of graph(): what a step needs (training.mjs)
//   decoding            of tokens one by one, each behind the last, graph().state kept by the party: {past: tokens before the first,
//                       most: begins anew there}
//   net()               a network as layers, for parties that do not read ONNX
//   tolerance           of outputs' relative error between parties (default 1e-3)
//   large               more than a phone's page can hold
//   devices             where it is measured (default: everywhere)
//   here()              whether its files are on this machine (default: it needs none)
//   family, count       of growth: the same operator at several sizes; special: its data is no usual one
import {exportedGraph, isExported} from './exported.mjs';
import {growth} from './growth.mjs';
import {attentionHeads, convolution, fourBits, layerNormRows, matmulChain, rowTimesMatrix, softmaxRows} from './kernels.mjs';
import {mobilenetv2, networkGraph, resnet18, resnet50, squeezenet} from './networks.mjs';
import {quantizedGraph} from './quantized.mjs';
import {steps} from './training.mjs';
import {bert, gpt2} from './transformers.mjs';

const network = (title, net, flops) => ({name: net.name, title, part: 'models', net, graph: () => networkGraph(net()), flops});

/** A chain of kernels, graph(links); flops and bytes are of one link. */
const kernel = (name, title, part, flops, graph) => ({name, title, part, flops, graph, chained: true});
const matmul = (size) => kernel(`matmul${size}`, `matmul ${size}³`, 'matmul', 2 * size ** 3, (links) => matmulChain(size, links));
const conv = (channels, extent) => kernel(`conv${channels}`, `conv 3x3, ${channels} x ${extent}²`, 'kernels', 18 * channels ** 2 * extent ** 2, (links) => convolution(channels, extent, links));

/** A model of the zoo (tests/zoo), with the dimensions open that its export leaves open. */
const exported = (name, title, more = {}) => ({
  name: `zoo_${name}`, title: `${title}, open`, part: 'zoo', devices: ['cpu', 'wasm', 'webgpu'], here: () => isExported(name), graph: () => exportedGraph(name), ...more,
});
/** Of one rounding that falls otherwise, later layers make more. */
const quantized = {tolerance: 0.15};

export const models = [
  network('ResNet-18', resnet18, 3.63e9),
  network('ResNet-50', resnet50, 8.18e9),
  network('MobileNetV2', mobilenetv2, 0.6e9),
  {
    name: 'mobilenetv2_int8',
    title: 'MobileNetV2, int8',
    part: 'models',
    graph: () => quantizedGraph(mobilenetv2(), 'mobilenetv2_int8', ({kind}) => ({input: 1, add: 10.5})[kind] ?? 6.7),
    flops: 0.6e9,
    tolerance: 0.1, // of one rounding that falls otherwise, later layers make more
  },
  network('SqueezeNet 1.1', squeezenet, 0.7e9),
  {name: 'bert', title: 'BERT-base, 128 tokens', part: 'models', graph: () => bert(), flops: 22.35e9, large: true},
  {name: 'bert_free', title: 'BERT-base, free length', part: 'models', graph: () => bert({free: true}), flops: 22.35e9, large: true},
  {name: 'gpt2_step', title: 'GPT-2, one step after 64', part: 'models', graph: () => gpt2({length: 1, past: 64}), flops: 46e6},
  {name: 'gpt2_prefill', title: 'GPT-2, prefill of 64', part: 'models', graph: () => gpt2({length: 64, past: 0}), flops: 3e9},
  ...[512, 1024, 2048, 4096].map(matmul),
  kernel('row768', '1 x 768 x 3,072 and back', 'kernels', 4 * 768 * 3072, (links) => rowTimesMatrix(768, 3072, links)),
  ...[[64, 56], [128, 28], [256, 14], [512, 7]].map(([channels, extent]) => conv(channels, extent)),
  kernel('depthwise', 'depthwise 3x3, 256 x 28²', 'kernels', 18 * 256 * 28 ** 2, (links) => convolution(256, 28, links, 256)),
  kernel('softmax', 'softmax, 1,024 rows of 1,024', 'kernels', undefined, (links) => softmaxRows(1024, 1024, links)),
  kernel('layernorm', 'layer norm, 1,024 rows of 768', 'kernels', undefined, (links) => layerNormRows(1024, 768, links)),
  kernel('attention', 'attention, 8 x 512 x 64', 'kernels', 4 * 8 * 512 ** 2 * 64, (links) => attentionHeads(8, 512, 64, links)),
  kernel('nbits', 'MatMulNBits, 1 x 2,048 x 2,048', 'kernels', 2 * 2048 ** 2, (links) => fourBits(2048, links)),
  ...steps,
  {name: 'gpt2_decode', title: 'GPT-2, a token after 64 to 240, caches kept', part: 'decoding', graph: () => gpt2({length: 1, past: 64, free: true}), decoding: {past: 64, most: 240}, flops: 46e6},
  ...growth,
  exported('attention', 'Attention, 6 x 256 x 64'),
  exported('efficientnet_b0', 'EfficientNet-B0'),
  exported('mobilenetv3_small', 'MobileNetV3'),
  exported('convnext_atto', 'ConvNeXt'),
  exported('swin_tiny', 'Swin'),
  exported('vit_small', 'ViT'),
  exported('dinov2', 'DINOv2'),
  exported('segformer', 'Segformer'),
  exported('detr', 'DETR'),
  exported('yolo', 'YOLOv8n'),
  exported('vae_decoder', 'VAE decoder'),
  exported('minilm', 'MiniLM, 2 x 16'),
  exported('deberta_v3', 'DeBERTa-v3, 2 x 16'),
  exported('clip_vision', 'CLIP, image'),
  exported('whisper_encoder', 'Whisper encoder'),
  exported('encodec_decoder', 'EnCodec decoder'),
  exported('vit_small_int8', 'ViT, int8', quantized),
  exported('yolo_int8', 'YOLOv8n, int8', quantized),
  exported('minilm_int8', 'MiniLM, int8, 2 x 16', quantized),
  exported('whisper_decoder_int8', 'Whisper decoder, int8', quantized),
];

/** Chains' lengths. Where a launch costs little and arithmetic much, short ones do. */
export function chainOf({chained, flops = 5e7}, device, software) {
  if (!chained) return undefined;
  const hardware = (device === 'webgpu' || device === 'webgl') && !software;
  return hardware || flops < (software ? 2e7 : 3e8) ? [3, 35] : [1, 5];
}

/** Why a row is not measured there, if it is not. */
export function leftOut({chained, flops, special}, device, software) {
  if (software && special && device !== 'wasm') return 'left to hardware: this adapter is slow';
  const most = device === 'webgpu' && !software ? Infinity : software || device === 'webgl' ? 4e9 : 4e10;
  return chained && flops > most ? 'too large to be measured there' : undefined;
}

export const modelOf = (name) => models.find((model) => model.name === name);
