/** Layers as PyTorch has them: the same arguments, names of parameters and initial values. */
import {noGrad, tidy} from '../core.ts';
import {type Given, optionsOf} from '../options.ts';
import {CONV, CONV_TRANSPOSE, type ConvOptions, type PerAxis, type ResizeOptions, type ResizePlaces} from '../products.ts';
import {type Shape, wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import * as F from './functional.ts';
import * as init from './init.ts';
import {BufferTensor, Layer, Module, Parameter} from './module.ts';

export interface BiasOption {
  readonly bias?: boolean | undefined;
}

const zeros = (...shape: number[]): Parameter => new Parameter(Tensor.zeros(shape));
const ones = (...shape: number[]): Parameter => new Parameter(Tensor.ones(shape));

/** Even within 1 / sqrt(fan). */
const even = (shape: Shape, fan: number): Parameter =>
  new Parameter(Tensor.uniform(shape, -1 / Math.sqrt(fan), 1 / Math.sqrt(fan)));

/** x weight^T + bias; weight of [outputs, inputs]. */
export class Linear extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter | null;

  constructor(inputs: number, outputs: number, ...given: Given<BiasOption, [bias?: boolean]>) {
    super();
    const {bias} = optionsOf('Linear', {bias: true}, given);
    this.weight = even([outputs, inputs], inputs);
    this.bias = bias ? even([outputs], inputs) : null;
  }

  forward(x: Tensor): Tensor {
    return x.linear(this.weight, this.bias);
  }
}

type ConvGiven = Given<ConvOptions & BiasOption, [stride?: PerAxis, padding?: PerAxis, dilation?: PerAxis, groups?: number, bias?: boolean]>;

class ConvBase extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly options: ConvOptions;
  readonly #rank: number;

  constructor(rank: number, inputs: number, outputs: number, window: PerAxis, given: readonly unknown[]) {
    super();
    const {bias, ...options} = optionsOf(`Conv${rank}d`, {...CONV, bias: true}, given);
    const {groups} = options;
    if (inputs % groups || outputs % groups) throw wrong(`Conv: ${groups} groups divide neither ${inputs} nor ${outputs} channels`);
    const plane = typeof window === 'number' ? new Array<number>(rank).fill(window) : window;
    const fan = (inputs / groups) * plane.reduce((all, extent) => all * extent, 1);
    this.weight = even([outputs, inputs / groups, ...plane], fan);
    this.bias = bias ? even([outputs], fan) : null;
    this.options = options;
    this.#rank = rank;
  }

  forward(x: Tensor): Tensor {
    return (this.#rank === 1 ? F.conv1d : this.#rank === 2 ? F.conv2d : F.conv3d)(x, this.weight, this.bias, this.options);
  }
}

export class Conv1d extends ConvBase {
  constructor(inputs: number, outputs: number, window: PerAxis, ...given: ConvGiven) {
    super(1, inputs, outputs, window, given);
  }
}

export class Conv2d extends ConvBase {
  constructor(inputs: number, outputs: number, window: PerAxis, ...given: ConvGiven) {
    super(2, inputs, outputs, window, given);
  }
}

export class ConvTranspose2d extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly options: F.ConvTransposeOptions;

  constructor(
    inputs: number, outputs: number, window: PerAxis,
    ...given: Given<F.ConvTransposeOptions & BiasOption, [stride?: PerAxis, padding?: PerAxis, outputPadding?: PerAxis, groups?: number, bias?: boolean, dilation?: PerAxis]>
  ) {
    super();
    // Here, dilation comes after the bias.
    const {dilation, ...first} = CONV_TRANSPOSE;
    const {bias, ...options} = optionsOf('ConvTranspose2d', {...first, bias: true, dilation}, given);
    const {groups} = options;
    const plane = typeof window === 'number' ? [window, window] : window;
    const fan = (outputs / groups) * plane.reduce((all, extent) => all * extent, 1);
    this.weight = even([inputs, outputs / groups, ...plane], fan);
    this.bias = bias ? even([outputs], fan) : null;
    this.options = options;
  }

  forward(x: Tensor): Tensor {
    return F.convTranspose2d(x, this.weight, this.bias, this.options);
  }
}

export interface BatchNormOptions {
  readonly eps?: number | undefined;
  readonly momentum?: number | undefined;
  readonly affine?: boolean | undefined;
  readonly trackRunningStats?: boolean | undefined;
}

/** Channels (axis 1) normalised by the batch while training, by running means and variances else. */
export class BatchNorm extends Layer {
  readonly weight: Parameter | null;
  readonly bias: Parameter | null;
  readonly runningMean: BufferTensor | null;
  readonly runningVar: BufferTensor | null;
  readonly eps: number;
  readonly momentum: number;

  constructor(channels: number, ...given: Given<BatchNormOptions, [eps?: number, momentum?: number, affine?: boolean, trackRunningStats?: boolean]>) {
    super();
    const {eps, momentum, affine, trackRunningStats} = optionsOf('BatchNorm', {eps: 1e-5, momentum: 0.1, affine: true, trackRunningStats: true}, given);
    this.weight = affine ? ones(channels) : null;
    this.bias = affine ? zeros(channels) : null;
    this.runningMean = trackRunningStats ? new BufferTensor(Tensor.zeros([channels])) : null;
    this.runningVar = trackRunningStats ? new BufferTensor(Tensor.ones([channels])) : null;
    this.eps = eps;
    this.momentum = momentum;
  }

  forward(x: Tensor): Tensor {
    const {runningMean, runningVar, eps} = this;
    if (!this.training && runningMean && runningVar) return F.batchNorm(x, runningMean, runningVar, this.weight, this.bias, eps);
    const axes = x.shape.map((_, axis) => axis).filter((axis) => axis !== 1);
    const count = x.size / (x.shape[1] ?? 1);
    if (count < 2 && this.training) throw wrong(`BatchNorm: ${count} value a channel has no variance`);
    const mean = x.mean(axes, true);
    const centered = x.sub(mean);
    const variance = centered.square().mean(axes, true);
    if (this.training) {
      noGrad(() => {
        this.#track(runningMean, mean.detach());
        // Fed, so that other batches are the same program.
        this.#track(runningVar, variance.detach().mul(new Tensor(count / (count - 1), {device: x.device})));
      });
    }
    const column = [1, -1, ...new Array<number>(x.ndim - 2).fill(1)];
    let normal = centered.mul(variance.add(eps).rsqrt());
    if (this.weight) normal = normal.mul(this.weight.reshape(column));
    return this.bias ? normal.add(this.bias.reshape(column)) : normal;
  }

  #track(running: BufferTensor | null, measured: Tensor): void {
    running?.assign(running.mul(1 - this.momentum).add(measured.reshape(-1).mul(this.momentum)));
  }
}
export const BatchNorm1d = BatchNorm;
export const BatchNorm2d = BatchNorm;

export interface LayerNormOptions {
  readonly eps?: number | undefined;
  readonly affine?: boolean | undefined;
  /** PyTorch's name of `affine`. */
  readonly elementwiseAffine?: boolean | undefined;
  readonly bias?: boolean | undefined;
}

export class LayerNorm extends Layer {
  readonly weight: Parameter | null;
  readonly bias: Parameter | null;
  readonly shape: Shape;
  readonly eps: number;

  constructor(shape: number | Shape, ...given: Given<LayerNormOptions, [eps?: number, elementwiseAffine?: boolean, bias?: boolean]>) {
    super();
    const {eps, affine, bias} = optionsOf('LayerNorm', {eps: 1e-5, affine: true, bias: true}, given, {elementwiseAffine: 'affine'});
    this.shape = [shape].flat();
    this.weight = affine ? ones(...this.shape) : null;
    this.bias = affine && bias ? zeros(...this.shape) : null;
    this.eps = eps;
  }

  forward(x: Tensor): Tensor {
    return x.layerNorm(this.shape, this.weight, this.bias, this.eps);
  }
}

export class GroupNorm extends Layer {
  readonly weight: Parameter | null;
  readonly bias: Parameter | null;
  readonly groups: number;
  readonly eps: number;

  constructor(groups: number, channels: number, ...given: Given<{readonly eps?: number; readonly affine?: boolean}, [eps?: number, affine?: boolean]>) {
    super();
    const {eps, affine} = optionsOf('GroupNorm', {eps: 1e-5, affine: true}, given);
    this.weight = affine ? ones(channels) : null;
    this.bias = affine ? zeros(channels) : null;
    this.groups = groups;
    this.eps = eps;
  }

  forward(x: Tensor): Tensor {
    return x.groupNorm(this.groups, this.weight, this.bias, this.eps);
  }
}

/** Rows of a table at places. */
export class Embedding extends Layer {
  readonly weight: Parameter;
  readonly paddingIndex: number | undefined;

  constructor(count: number, size: number, ...given: Given<{readonly paddingIndex?: number; readonly paddingIdx?: number}, [paddingIndex?: number]>) {
    super();
    const {paddingIndex} = optionsOf('Embedding', {paddingIndex: undefined as number | undefined}, given, {paddingIdx: 'paddingIndex'});
    const table = Tensor.randn([count, size]);
    this.paddingIndex = paddingIndex;
    this.weight = new Parameter(table);
    if (paddingIndex !== undefined) {
      if (!(paddingIndex >= 0 && paddingIndex < count)) throw wrong(`Embedding: row ${paddingIndex} of ${count}`);
      noGrad(() => init.zeroRow(this.weight, paddingIndex));
    }
  }

  forward(places: Tensor): Tensor {
    return F.embedding(places, this.weight, this.paddingIndex);
  }
}

export class Dropout extends Layer {
  readonly p: number;
  constructor(p = 0.5) {
    super();
    this.p = p;
  }
  forward(x: Tensor): Tensor {
    return F.dropout(x, this.p, this.training);
  }
}

export class Dropout2d extends Dropout {
  override forward(x: Tensor): Tensor {
    return F.dropout(x, this.p, this.training, true);
  }
}

/** One slope below 0, or one a channel. */
export class PReLU extends Layer {
  readonly weight: Parameter;
  constructor(channels = 1, slope = 0.25) {
    super();
    this.weight = new Parameter(Tensor.full([channels], slope));
  }
  forward(x: Tensor): Tensor {
    return F.prelu(x, this.weight);
  }
}

/** A class of layers without parameters, with the arguments of their function. */
export type LayerClass<Options extends unknown[]> = new (...given: Options) => Layer & {readonly given: Options};

function layer<Options extends unknown[]>(compute: (x: Tensor, ...given: Options) => Tensor): LayerClass<Options> {
  const made = class extends Layer {
    readonly given: Options;
    constructor(...given: Options) {
      super();
      this.given = given;
    }
    forward(x: Tensor): Tensor {
      return compute(x, ...this.given);
    }
  };
  KEEPS_NOTHING.add(made);
  return made;
}

/** Layers of which it is known that they keep neither what they take nor what they give. */
const KEEPS_NOTHING = new Set<unknown>([Linear, Conv1d, Conv2d, ConvTranspose2d, BatchNorm, LayerNorm, GroupNorm, Dropout, Dropout2d, PReLU, Embedding]);
const keepsNothing = (layer: Module): boolean => KEEPS_NOTHING.has(layer.constructor) && !Object.hasOwn(layer, 'forward');

export const Identity = layer((x) => x);
export const ReLU = layer((x) => x.relu());
export const ReLU6 = layer((x) => x.relu6());
export const LeakyReLU = layer((x, slope?: number) => x.leakyRelu(slope));
export const ELU = layer((x, alpha?: number) => x.elu(alpha));
export const CELU = layer((x, alpha?: number) => x.celu(alpha));
export const SELU = layer((x) => x.selu());
export const GELU = layer((x, approximate?: 'none' | 'tanh') => x.gelu(approximate));
export const SiLU = layer((x) => x.silu());
export const Mish = layer((x) => x.mish());
export const Sigmoid = layer((x) => x.sigmoid());
export const Hardsigmoid = layer((x) => x.hardSigmoid());
export const Hardswish = layer((x) => x.hardSwish());
export const Tanh = layer((x) => x.tanh());
export const Softplus = layer((x) => x.softplus());
export const Softsign = layer((x) => x.softsign());
export const Softmax = layer((x, axis?: number) => x.softmax(axis));
export const LogSoftmax = layer((x, axis?: number) => x.logSoftmax(axis));
export const MaxPool1d = layer(F.maxPool1d);
export const MaxPool2d = layer(F.maxPool2d);
export const AvgPool1d = layer(F.avgPool1d);
export const AvgPool2d = layer(F.avgPool2d);
export const AdaptiveAvgPool2d = layer(F.adaptiveAvgPool2d);
export const AdaptiveMaxPool2d = layer(F.adaptiveMaxPool2d);
export const Flatten = layer((x, start?: number, end?: number) => x.flatten(start ?? 1, end));
export const Unflatten = layer((x, axis: number, shape: Shape) => x.reshape([...x.shape.slice(0, axis), ...shape, ...x.shape.slice(axis + 1)]));
export const Upsample = layer((x, ...given: Given<ResizeOptions, ResizePlaces>) => x.interpolate(...given));
/** TensorJS's name. */
export const Relu = ReLU;

/** One after the other. */
export class Sequential extends Module {
  readonly layers: readonly Module[];
  constructor(...layers: Module[] | [readonly Module[]]) {
    super();
    this.layers = layers.flat();
  }
  override namedChildren(): [string, Module][] {
    return this.layers.map((each, at) => [String(at), each]);
  }
  /** What lies between layers that keep nothing goes at once. */
  forward(x: Tensor): Tensor {
    let value = x;
    let own = false;
    for (const each of this.layers) {
      const plain = keepsNothing(each);
      const next = plain ? tidy(() => each.forward(value) as Tensor) : (each.forward(value) as Tensor);
      if (next === value) continue;
      if (own && plain) value.dispose();
      value = next;
      own = plain;
    }
    return value;
  }
}

/** Modules by place, for a module of one's own. */
export class ModuleList extends Module {
  readonly list: Module[];
  constructor(modules: readonly Module[] = []) {
    super();
    this.list = [...modules];
  }
  get length(): number {
    return this.list.length;
  }
  at(place: number): Module | undefined {
    return this.list.at(place);
  }
  append(module: Module): this {
    this.list.push(module);
    return this;
  }
  [Symbol.iterator](): Iterator<Module> {
    return this.list[Symbol.iterator]();
  }
  override namedChildren(): [string, Module][] {
    return this.list.map((each, at) => [String(at), each]);
  }
  forward(): never {
    throw wrong('ModuleList: it only holds modules; call them');
  }
}

/** Modules by name, for a module of one's own. */
export class ModuleDict extends Module {
  readonly dict: Map<string, Module>;
  constructor(modules: Readonly<Record<string, Module>> = {}) {
    super();
    this.dict = new Map(Object.entries(modules));
  }
  get(name: string): Module | undefined {
    return this.dict.get(name);
  }
  set(name: string, module: Module): this {
    this.dict.set(name, module);
    return this;
  }
  keys(): string[] {
    return [...this.dict.keys()];
  }
  override namedChildren(): [string, Module][] {
    return [...this.dict];
  }
  forward(): never {
    throw wrong('ModuleDict: it only holds modules; call them');
  }
}

