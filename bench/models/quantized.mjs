// A network with eight-bit weights and activations, as onnxruntime's tools write it: each value goes through
// QuantizeLinear and DequantizeLinear, and engines that can compute in integers find them.
import {Graph} from './graph.mjs';
import {imageOf} from './networks.mjs';

/** The scale of what a layer makes: of relu6 it is known, of others their range was observed once. */
const scaleOf = (layer, range) => (layer.activation === 'relu6' ? 6 / 255 : (2 * range) / 255);

/** range(layer): the largest magnitude of values that no activation bounds. */
export function quantizedGraph(net, name, range) {
  const graph = new Graph(name, 13);
  const values = new Map(); // of each layer: {value: dequantized, scale}
  const zeros = {unsigned: graph.constant(Uint8Array.of(0), []), middle: graph.constant(Uint8Array.of(128), []), signed: graph.constant(Int8Array.of(0), [])};

  function quantized(x, scale, zero) {
    const step = graph.scalar(scale);
    const codes = graph.node('QuantizeLinear', [x, step, zero], x.shape, {}, {type: 'u8'});
    return graph.node('DequantizeLinear', [codes, step, zero], x.shape, {}, {type: 'f32'});
  }

  /** Weights as signed codes with one scale, the bias as codes with the product of both scales. */
  function parameters({weight, bias}, inputScale) {
    const scale = weight.data.reduce((most, each) => Math.max(most, Math.abs(each)), 0) / 127;
    const codes = graph.constant(Int8Array.from(weight.data, (each) => Math.round(each / scale)), weight.shape);
    const biasCodes = graph.constant(Int32Array.from(bias.data, (each) => Math.round(each / (scale * inputScale))), bias.shape);
    return [
      graph.node('DequantizeLinear', [codes, graph.scalar(scale), zeros.signed], weight.shape, {}, {type: 'f32'}),
      graph.node('DequantizeLinear', [biasCodes, graph.scalar(scale * inputScale)], bias.shape, {}, {type: 'f32'}),
    ];
  }

  const steps = {
    conv(layer, shape, [x]) {
      const {kernel, stride, pad, groups, activation} = layer;
      const window = {kernel_shape: [kernel, kernel], strides: [stride, stride], pads: [pad, pad, pad, pad], group: groups};
      const raw = graph.node('Conv', [x.value, ...parameters(layer, x.scale)], shape, window);
      return activation === 'relu6' ? graph.node('Clip', [raw, graph.scalar(0), graph.scalar(6)], shape) : raw;
    },
    add: (_layer, shape, x) => graph.node('Add', x.map(({value}) => value), shape),
    mean: (_layer, shape, [x]) => graph.node('Flatten', [graph.node('GlobalAveragePool', [x.value], [...shape, 1, 1])], shape),
    dense: (layer, shape, [x]) => graph.node('Gemm', [x.value, ...parameters(layer, x.scale)], shape, {transB: 1}),
  };
  for (const layer of net.layers) {
    const shape = [1, ...layer.shape];
    const made = layer.kind === 'input' ? graph.input(layer.name, shape, imageOf(net)) : steps[layer.kind](layer, shape, layer.from.map((from) => values.get(from)));
    const scale = scaleOf(layer, range(layer));
    const zero = layer.activation === 'relu6' ? zeros.unsigned : zeros.middle;
    values.set(layer.name, {value: quantized(made, scale, zero), scale});
  }
  graph.output(values.get(net.layers.at(-1).name).value);
  return graph;
}
