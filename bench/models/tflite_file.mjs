// A network of networks.mjs as a .tflite file: channels last, activations fused, as converters write them.
// Schema: https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs
import {filterChannelsLast} from './channels_last.mjs';
import {bytes, flatbuffer, i8, i32, ints, table, text, u8, u32, vector} from './flatbuffer.mjs';

const CODES = {add: 0, concat: 2, conv: 3, depthwise: 4, dense: 9, maxpool: 17, pad: 34, mean: 40};
const OPTIONS = {conv: 1, depthwise: 2, maxpool: 5, dense: 8, concat: 10, add: 11, pad: 22, mean: 27};
const ACTIVATIONS = {'': 0, relu: 1, relu6: 3};
const TYPES = {f32: 0, i32: 2};
const [SAME, VALID] = [0, 1];

class File {
  constructor() {
    Object.assign(this, {tensors: [], buffers: [table([])], operators: [], codes: []});
  }

  tensor(shape, data, type = 'f32') {
    if (data) this.buffers.push(table([bytes(data)]));
    this.tensors.push(table([ints(shape), i8(TYPES[type]), u32(data ? this.buffers.length - 1 : 0), text(`t${this.tensors.length}`)]));
    return this.tensors.length - 1;
  }

  /** Gives the tensor of its result. */
  operator(kind, inputs, shape, options = []) {
    if (!this.codes.includes(kind)) this.codes.push(kind);
    const output = this.tensor(shape);
    this.operators.push(table([u32(this.codes.indexOf(kind)), ints(inputs), ints([output]), u8(OPTIONS[kind]), table(options)]));
    return output;
  }

  write(inputs, outputs) {
    const codes = this.codes.map((kind) => table([i8(CODES[kind]), undefined, i32(1), i32(CODES[kind])]));
    const graph = table([vector(this.tensors), ints(inputs), ints(outputs), vector(this.operators), text('main')]);
    return flatbuffer(table([u32(3), vector(codes), vector([graph]), text('gossamer-bench'), vector(this.buffers)]), 'TFL3');
  }
}

/** The bytes of the file. Its input is [1, height, width, channels]. */
export function tfliteFile(net) {
  const file = new File();
  const made = new Map();
  const shapeOf = ({shape}) => (shape.length === 3 ? [1, shape[1], shape[2], shape[0]] : [1, ...shape]);
  const parameter = ({data, shape}) => file.tensor(shape, data);

  /** SAME pads as the networks do only with stride 1; else the pads are an operator of their own, as converters do. */
  function padded(x, {pad, stride, kernel}, shape) {
    if (pad === 0) return [x, VALID];
    if (stride === 1 && 2 * pad === kernel - 1) return [x, SAME];
    const pads = file.tensor([4, 2], Int32Array.of(0, 0, pad, pad, pad, pad, 0, 0), 'i32');
    return [file.operator('pad', [x, pads], [1, shape[1] + 2 * pad, shape[2] + 2 * pad, shape[3]]), VALID];
  }

  const steps = {
    conv(layer, [x], [from]) {
      const {stride, activation, groups} = layer;
      const [input, padding] = padded(x, layer, shapeOf(from));
      const operands = [input, parameter(filterChannelsLast(layer.weight)), parameter(layer.bias)];
      const window = [i8(padding), i32(stride), i32(stride)];
      const rest = [i8(ACTIVATIONS[activation]), i32(1), i32(1)];
      return groups > 1
        ? file.operator('depthwise', operands, shapeOf(layer), [...window, i32(1), ...rest])
        : file.operator('conv', operands, shapeOf(layer), [...window, ...rest]);
    },
    /** What it pools is never negative, so that padding with 0 is right. */
    maxpool(layer, [x], [from]) {
      const {stride, kernel} = layer;
      const [input, padding] = padded(x, layer, shapeOf(from));
      return file.operator('maxpool', [input], shapeOf(layer), [i8(padding), i32(stride), i32(stride), i32(kernel), i32(kernel), i8(0)]);
    },
    add: (layer, x) => file.operator('add', x, shapeOf(layer), [i8(ACTIVATIONS[layer.activation])]),
    concat: (layer, x) => file.operator('concat', x, shapeOf(layer), [i32(3), i8(0)]),
    mean: (layer, [x]) => file.operator('mean', [x, file.tensor([2], Int32Array.of(1, 2), 'i32')], shapeOf(layer), [u8(0)]),
    dense: (layer, [x]) => file.operator('dense', [x, parameter(layer.weight), parameter(layer.bias)], shapeOf(layer), [i8(0), i8(0), u8(0)]),
  };
  const layers = new Map(net.layers.map((layer) => [layer.name, layer]));
  for (const layer of net.layers) {
    const {name, kind, from} = layer;
    const value = kind === 'input' ? file.tensor(shapeOf(layer)) : steps[kind](layer, from.map((each) => made.get(each)), from.map((each) => layers.get(each)));
    made.set(name, value);
  }
  return file.write([made.get(net.layers[0].name)], [made.get(net.layers.at(-1).name)]);
}
