/** Layers as PyTorch has them: the same arguments, names of parameters and initial values. */
import {type Given, optionsOf} from '../options.ts';
import {CONV, CONV_TRANSPOSE, type ConvOptions, type ConvPadding, padsOf, type PerAxis} from '../products.ts';
import {type Shape, wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import {traced} from '../tracing.ts';
import * as F from './functional.ts';
import * as init from './init.ts';
import {Layer, Parameter} from './module.ts';

export interface BiasOption {
  readonly bias?: boolean | undefined;
}

/** Even within 1 / sqrt(fan). */
export const even = (shape: Shape, fan: number): Parameter =>
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

  override extraRepr(): string {
    const [out = 0, into = 0] = this.weight.shape;
    return `inFeatures=${into}, outFeatures=${out}, bias=${this.bias !== null}`;
  }
}

export type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';
export interface ConvLayerOptions extends ConvOptions, BiasOption {
  /** What is around the plane. */
  readonly paddingMode?: PaddingMode | undefined;
}
type ConvGiven =
  Given<ConvLayerOptions, [stride?: PerAxis, padding?: ConvPadding, dilation?: PerAxis, groups?: number, bias?: boolean, paddingMode?: PaddingMode]>;

const CONV_LAYER = {...CONV, bias: true, paddingMode: 'zeros' as PaddingMode};

const planeOf = (window: PerAxis, rank: number): readonly number[] => (typeof window === 'number' ? new Array<number>(rank).fill(window) : window);
const size = (plane: Shape): number => plane.reduce((all, extent) => all * extent, 1);

/** Throws 'input' where groups don't divide the channels. */
function checkGroups(name: string, inputs: number, outputs: number, groups: number): void {
  if (inputs % groups || outputs % groups) throw wrong(`${name}: ${groups} groups do not divide ${inputs} and ${outputs} channels`);
}

const convolutions = [F.conv1d, F.conv2d, F.conv3d] as const;

abstract class ConvBase extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly options: ConvOptions;
  readonly paddingMode: PaddingMode;
  readonly #rank: number;

  constructor(rank: number, inputs: number, outputs: number, window: PerAxis, given: readonly unknown[]) {
    super();
    const {bias, paddingMode, ...options} = optionsOf(`Conv${rank}d`, CONV_LAYER, given);
    const {groups} = options;
    checkGroups(`Conv${rank}d`, inputs, outputs, groups);
    const plane = planeOf(window, rank);
    const fan = (inputs / groups) * size(plane);
    this.weight = even([outputs, inputs / groups, ...plane], fan);
    this.bias = bias ? even([outputs], fan) : null;
    this.options = options;
    this.paddingMode = paddingMode;
    this.#rank = rank;
  }

  forward(x: Tensor): Tensor {
    const convolve = convolutions[this.#rank - 1] as typeof F.conv2d;
    if (this.paddingMode === 'zeros') return convolve(x, this.weight, this.bias, this.options);
    const pads = padsOf(this.options.padding ?? 0, this.weight.shape.slice(2), planeOf(this.options.dilation ?? 1, this.#rank));
    // The last axis first.
    const wide = planeOf(0, this.#rank).flatMap((_, axis) => [pads[this.#rank - 1 - axis] ?? 0, pads[2 * this.#rank - 1 - axis] ?? 0]);
    return convolve(F.pad(x, wide, this.paddingMode), this.weight, this.bias, {...this.options, padding: 0});
  }

  override extraRepr(): string {
    const [out = 0, into = 0, ...plane] = this.weight.shape;
    return `${into * (this.options.groups ?? 1)}, ${out}, kernelSize=(${plane.join(', ')}), stride=${String(this.options.stride)}`;
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

export class Conv3d extends ConvBase {
  constructor(inputs: number, outputs: number, window: PerAxis, ...given: ConvGiven) {
    super(3, inputs, outputs, window, given);
  }
}

type ConvTransposeGiven =
  Given<F.ConvTransposeOptions & BiasOption, [stride?: PerAxis, padding?: PerAxis, outputPadding?: PerAxis, groups?: number, bias?: boolean, dilation?: PerAxis]>;

abstract class ConvTransposeBase extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter | null;
  readonly options: F.ConvTransposeOptions;
  readonly #rank: number;

  constructor(rank: number, inputs: number, outputs: number, window: PerAxis, given: readonly unknown[]) {
    super();
    // Here, dilation comes after the bias.
    const {dilation, ...first} = CONV_TRANSPOSE;
    const {bias, ...options} = optionsOf(`ConvTranspose${rank}d`, {...first, bias: true, dilation}, given);
    const {groups} = options;
    checkGroups(`ConvTranspose${rank}d`, inputs, outputs, groups);
    const plane = planeOf(window, rank);
    const fan = (outputs / groups) * size(plane);
    this.weight = even([inputs, outputs / groups, ...plane], fan);
    this.bias = bias ? even([outputs], fan) : null;
    this.options = options;
    this.#rank = rank;
  }

  forward(x: Tensor): Tensor {
    return F.convTranspose(this.#rank, x, this.weight, this.bias, [this.options]);
  }
}

export class ConvTranspose1d extends ConvTransposeBase {
  constructor(inputs: number, outputs: number, window: PerAxis, ...given: ConvTransposeGiven) {
    super(1, inputs, outputs, window, given);
  }
}

export class ConvTranspose2d extends ConvTransposeBase {
  constructor(inputs: number, outputs: number, window: PerAxis, ...given: ConvTransposeGiven) {
    super(2, inputs, outputs, window, given);
  }
}

export class ConvTranspose3d extends ConvTransposeBase {
  constructor(inputs: number, outputs: number, window: PerAxis, ...given: ConvTransposeGiven) {
    super(3, inputs, outputs, window, given);
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
      traced(false, () => init.zeroRow(this.weight, paddingIndex));
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

/** The same of whole channels. */
export const dropped = (compute: typeof F.dropout1d): new (p?: number) => Dropout => class extends Dropout {
  override forward(x: Tensor): Tensor {
    return compute(x, this.p, this.training);
  }
};
export const Dropout1d = dropped(F.dropout1d);
export const Dropout2d = dropped(F.dropout2d);
export const Dropout3d = dropped(F.dropout3d);

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

