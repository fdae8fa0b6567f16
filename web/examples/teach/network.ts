/** A frozen image network, and the head that is learnt on what it sees. No DOM. */
import {nn, noGrad, OnnxModel, optim, Tensor} from '../../tensor/src/index.ts';
import {withOutput} from '../compile/model_file.ts';
import type {Device} from '../page/page.ts';

/** ImageNet's, of bytes. */
const MEAN = [123.675, 116.28, 103.53];
const DEVIATION = [58.395, 57.12, 57.375];

const frozen = (values: readonly number[]): nn.Parameter =>
  new nn.Parameter(new Tensor(Float32Array.from(values), {shape: [1, 3, 1, 1]}), {requiresGrad: false});

/** What a classifier of images knows of a picture before its last layer. */
export class Features extends nn.Module {
  readonly mean = frozen(MEAN);
  readonly deviation = frozen(DEVIATION);
  readonly network: OnnxModel;
  /** Of the pictures that it takes: [height, width]. */
  readonly size: readonly [number, number];

  /** Throws for a model that takes no image, or whose last layer is no product. */
  constructor(onnx: Uint8Array, device: Device) {
    super();
    const whole = new OnnxModel(onnx);
    const [input] = whole.inputs;
    const [, channels, height, width] = input?.shape ?? [];
    if (whole.inputs.length !== 1 || channels !== 3 || typeof height !== 'number' || typeof width !== 'number') {
      throw new Error('The model takes no image: one input of [batch, 3, height, width] is wanted.');
    }
    const last = whole.getNodes().findLast(({opType}) => opType === 'Gemm' || opType === 'MatMul');
    const before = last?.inputs[0];
    whole.dispose();
    if (before === undefined) throw new Error('The model has no last layer that could be replaced: no Gemm or MatMul.');
    const pieces = withOutput(onnx, before);
    const joined = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
    pieces.reduce((at, piece) => (joined.set(piece, at), at + piece.length), 0);
    this.network = new OnnxModel(joined, {device});
    this.size = [height, width];
    if (device !== 'cpu') this.to(device);
    this.eval();
  }

  /** [1, features] of a picture of u8 [height, width, 4]. */
  forward(pixels: Tensor): Tensor {
    const colours = pixels.slice([0], [3], [2]).cast('f32').permute([2, 0, 1]).unsqueeze(0);
    return this.network.forward(colours.sub(this.mean).div(this.deviation)).at(-1) as Tensor;
  }
}

/** Features and head as one: what is exported. */
export class Classifier extends nn.Module {
  readonly features: Features;
  readonly head: nn.Linear;

  constructor(features: Features, head: nn.Linear) {
    super();
    this.features = features;
    this.head = head;
  }

  /** Probabilities of the classes. */
  forward(pixels: Tensor): Tensor {
    return this.head.forward(this.features.forward(pixels)).softmax(-1);
  }
}

/** Features of pictures, by class. */
export type Examples = readonly (readonly Float32Array[])[];

export interface Learnt {
  readonly head: nn.Linear;
  /** The share of pictures kept aside that it names right. */
  readonly accuracy: number;
  readonly loss: number;
  readonly step: number;
}

interface Batch {
  readonly x: Tensor;
  readonly labels: Int32Array;
}

function batchOf(examples: Examples, kept: (at: number) => boolean, device: Device): Batch {
  const chosen = examples.flatMap((all, label) => all.filter((_, at) => kept(at)).map((values) => ({values, label})));
  const width = chosen[0]?.values.length ?? 0;
  const data = new Float32Array(chosen.length * width);
  chosen.forEach(({values}, at) => data.set(values, at * width));
  return {
    x: new Tensor(data, {shape: [chosen.length, width], device}),
    labels: Int32Array.from(chosen, ({label}) => label),
  };
}

export const STEPS = 60;

/** Trains a head on three of four pictures; gives how it stands as it does. */
export async function* learn(examples: Examples, device: Device): AsyncGenerator<Learnt, void> {
  const {x, labels} = batchOf(examples, (at) => at % 4 !== 3, device);
  const aside = batchOf(examples, (at) => at % 4 === 3, device);
  const head = new nn.Linear(x.shape[1] ?? 0, examples.length);
  if (device !== 'cpu') head.to(device);
  const optimizer = new optim.AdamW(head.parameters(), {lr: 3e-3, weightDecay: 1e-2});
  using truth = new Tensor(labels, {shape: [labels.length], device});
  for (let step = 1; step <= STEPS; ++step) {
    using loss = nn.functional.crossEntropy(head.forward(x), truth);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    using named = noGrad(() => head.forward(aside.x).argmax(1));
    const [value, answers] = await Promise.all([loss.item(), named.data<Int32Array>()]);
    const right = aside.labels.filter((label, at) => Number(answers[at]) === label).length;
    yield {head, accuracy: right / aside.labels.length, loss: value, step};
  }
  x.dispose();
  aside.x.dispose();
}
