// The models and kernels that are measured. A row:
//   name, title, part: 'models' | 'matmul' | 'kernels' | 'growth'
//   graph(): Graph          what runs; `chained` rows: graph(links)
//   flops                   of one run, or of one link of a chain
//   net()                   a network as layers, for parties that do not read ONNX
//   chain: [short, long]    the time is the difference between chains of these lengths, divided by that of the lengths
//   tolerance               of outputs' relative error between parties
import {Graph, random} from './graph.mjs';
import {mobilenetv2, networkGraph, resnet18, resnet50, squeezenet} from './networks.mjs';
import {bert, gpt2} from './transformers.mjs';

const network = (title, net, flops) => ({name: net.name, title, part: 'models', net, graph: () => networkGraph(net()), flops});

/** links products with the same matrix, each of the last one's result; a random matrix of this variance keeps their size. */
export function matmulChain(size, links) {
  const graph = new Graph(`matmul${size}x${links}`, 13);
  const shape = [size, size];
  const limit = Math.sqrt(3 / size);
  let x = graph.input('a', shape, random(1, size * size, limit));
  const b = graph.input('b', shape, random(2, size * size, limit));
  for (let link = 0; link < links; ++link) x = graph.node('MatMul', [x, b], shape);
  graph.output(x);
  return graph;
}

export const CHAIN = [3, 35];

const matmul = (size) => ({
  name: `matmul${size}`,
  title: `matmul ${size}³`,
  part: 'matmul',
  graph: (links) => matmulChain(size, links),
  chain: CHAIN,
  size,
  flops: 2 * size ** 3,
});

export const models = [
  network('ResNet-18', resnet18, 3.63e9),
  network('ResNet-50', resnet50, 8.18e9),
  network('MobileNetV2', mobilenetv2, 0.6e9),
  network('SqueezeNet 1.1', squeezenet, 0.7e9),
  {name: 'bert', title: 'BERT-base, 128 tokens', part: 'models', graph: () => bert(), flops: 22.35e9, large: true},
  {name: 'bert_free', title: 'BERT-base, free length', part: 'models', graph: () => bert({free: true}), flops: 22.35e9, large: true},
  {name: 'gpt2_step', title: 'GPT-2, one step after 64', part: 'models', graph: () => gpt2({length: 1, past: 64}), flops: 46e6},
  {name: 'gpt2_prefill', title: 'GPT-2, prefill of 64', part: 'models', graph: () => gpt2({length: 64, past: 0}), flops: 3e9},
  ...[512, 1024, 2048, 4096].map(matmul),
];

export const modelOf = (name) => models.find((model) => model.name === name);
