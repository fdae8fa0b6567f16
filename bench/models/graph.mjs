// Builds ONNX graphs node by node. Values are {name, shape, type}; shapes are those of the run that is measured,
// also where a dimension is free. All data is drawn from seeds, so that models need not be stored anywhere.
import {onnxFile, typeOf} from './onnx_file.mjs';

export const product = (shape) => shape.reduce((a, b) => a * b, 1);

// Weights repeat a block, so that they compress well and are drawn quickly; its length is prime, so that rows differ.
const BLOCK = 4093;

/** Uniform in ±limit, by xorshift32 from a seed. */
export function random(seed, count, limit = 1) {
  const values = new Float32Array(count);
  let state = Math.imul(seed, 2654435761) >>> 0 || 1;
  for (let at = 0; at < count; ++at) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[at] = ((state >>> 0) / 2 ** 31 - 1) * limit;
  }
  return values;
}

/** The same, repeating its first BLOCK values. */
export function draw(seed, count, limit) {
  const block = random(seed, Math.min(count, BLOCK), limit);
  const values = new Float32Array(count);
  for (let at = 0; at < count; at += BLOCK) values.set(block.subarray(0, Math.min(BLOCK, count - at)), at);
  return values;
}

export class Graph {
  constructor(name, opset = 17) {
    Object.assign(this, {name, opset, nodes: [], weights: [], inputs: [], outputs: [], prefix: ''});
  }

  /** data: what the run feeds; dims: the declared shape where some of it is free. */
  input(name, shape, data, dims = shape) {
    const port = {name, shape, dims, type: typeOf(data), data};
    this.inputs.push(port);
    return port;
  }

  constant(data, shape = [data.length]) {
    const weight = {name: `w${this.weights.length}`, shape, data, type: typeOf(data)};
    this.weights.push(weight);
    return weight;
  }

  scalar(value) {
    return this.constant(Float32Array.of(value), []);
  }

  /** Uniform weights of a variance of gain / fan-in. */
  weight(shape, fanIn, gain = 1) {
    return this.constant(draw(this.weights.length + 1, product(shape), Math.sqrt((3 * gain) / fanIn)), shape);
  }

  /** One output of this shape; inputs may be undefined (left out). */
  node(op, inputs, shape, attributes = {}, {type = inputs[0].type, domain} = {}) {
    return this.nodeOf(op, inputs, [{shape, type}], attributes, domain)[0];
  }

  /** Several outputs: [{shape, type}]. They are called by `prefix`, where one is set, else by the node's number. */
  nodeOf(op, inputs, outputs, attributes = {}, domain = undefined) {
    const values = outputs.map((output, at) => ({name: `${this.prefix || this.nodes.length}_${op}${at ? `_${at}` : ''}`, ...output}));
    this.nodes.push({op, inputs: inputs.map((each) => each?.name ?? ''), outputs: values.map(({name}) => name), attributes, domain});
    return values;
  }

  /** dims: the declared shape where some of it is free or depends on data. */
  output(value, dims = value.shape) {
    this.outputs.push({name: value.name, type: value.type, dims});
  }

  file() {
    return onnxFile(this);
  }
}
