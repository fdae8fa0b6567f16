// A Llama for training: RMS norms, rotary positions, gated products, and one table for tokens in and out.
import {nn, Tensor} from '../../web/tensor/dist/tensor.js';

/** 0.43 million weights with 1,024 tokens. */
export const SHAPE = {layers: 3, hidden: 96, heads: 3, inner: 256, epsilon: 1e-5, theta: 10_000};

const {functional: F, Module, ModuleList, Parameter} = nn;

/** Cosines and sines of the rotary positions: [length, width / 2] each. */
export function rotations(length, width, theta) {
  const angle = (at) => Math.floor(at / (width / 2)) / theta ** ((at % (width / 2)) / (width / 2));
  const of = (turn) => Float32Array.from({length: (length * width) / 2}, (_, at) => turn(angle(at)));
  return {cosines: of(Math.cos), sines: of(Math.sin)};
}

class Gain extends Module {
  constructor(size, epsilon) {
    super();
    this.weight = new Parameter(Tensor.ones([size]));
    this.epsilon = epsilon;
  }

  forward(x) {
    return x.mul(x.square().mean(-1, true).add(this.epsilon).rsqrt()).mul(this.weight);
  }
}

/** [outputs, inputs], normal with this deviation. */
const weight = (outputs, inputs, deviation) => new Parameter(Tensor.normal([outputs, inputs], 0, deviation));

class Block extends Module {
  constructor({hidden, heads, inner, epsilon, layers}) {
    super();
    const deviation = 0.02;
    const last = deviation / Math.sqrt(2 * layers);
    this.heads = heads;
    this.before = new Gain(hidden, epsilon);
    this.q = weight(hidden, hidden, deviation);
    this.k = weight(hidden, hidden, deviation);
    this.v = weight(hidden, hidden, deviation);
    this.o = weight(hidden, hidden, last);
    this.middle = new Gain(hidden, epsilon);
    this.gate = weight(inner, hidden, deviation);
    this.up = weight(inner, hidden, deviation);
    this.down = weight(hidden, inner, last);
  }

  forward(x, cosines, sines) {
    const [batch, length, hidden] = x.shape;
    const split = (each) => each.reshape(batch, length, this.heads, hidden / this.heads).transpose(1, 2);
    const turned = (each) => {
      const [a, b] = each.split(hidden / this.heads / 2, -1);
      return Tensor.cat([a.mul(cosines).sub(b.mul(sines)), b.mul(cosines).add(a.mul(sines))], -1);
    };
    const normed = this.before.forward(x);
    const [q, k, v] = [this.q, this.k, this.v].map((each) => split(normed.linear(each)));
    const attended = F.scaledDotProductAttention(turned(q), turned(k), v, {causal: true});
    const middle = x.add(attended.transpose(1, 2).reshape(batch, length, hidden).linear(this.o));
    const gated = this.middle.forward(middle);
    return middle.add(gated.linear(this.gate).silu().mul(gated.linear(this.up)).linear(this.down));
  }
}

export class Llama extends Module {
  constructor(shape, words, length) {
    super();
    this.shape = shape;
    this.embed = weight(words, shape.hidden, 0.02);
    this.blocks = new ModuleList(Array.from({length: shape.layers}, () => new Block(shape)));
    this.last = new Gain(shape.hidden, shape.epsilon);
    const width = shape.hidden / shape.heads;
    const {cosines, sines} = rotations(length, width, shape.theta);
    this.turn = [cosines, sines].map((each) => new Tensor(each, {shape: [length, width / 2]}));
  }

  /** [batch, length] tokens to logits of these places of the flattened batch. */
  forward(tokens, places) {
    let x = F.embedding(tokens, this.embed);
    for (const block of this.blocks) x = block.forward(x, ...this.turn);
    const {hidden} = this.shape;
    // Only answers count, so only their places need logits.
    return this.last.forward(x.reshape(-1, hidden).indexSelect(0, places)).linear(this.embed);
  }
}
