/** Layers that normalise, as PyTorch has them. */
import {type Given, optionsOf} from '../options.ts';
import {type Shape, wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import * as F from './functional.ts';
import {BufferTensor, Layer, Parameter} from './module.ts';

const zeros = (...shape: number[]): Parameter => new Parameter(Tensor.zeros(shape));
const ones = (...shape: number[]): Parameter => new Parameter(Tensor.ones(shape));

export interface BatchNormOptions {
  readonly eps?: number | undefined;
  readonly momentum?: number | undefined;
  readonly affine?: boolean | undefined;
  readonly trackRunningStats?: boolean | undefined;
}
type BatchNormGiven = Given<BatchNormOptions, [eps?: number, momentum?: number, affine?: boolean, trackRunningStats?: boolean]>;

/** Parameters and running statistics of channels. */
abstract class Statistics extends Layer {
  readonly weight: Parameter | null;
  readonly bias: Parameter | null;
  readonly runningMean: BufferTensor | null;
  readonly runningVar: BufferTensor | null;
  readonly eps: number;
  readonly momentum: number;

  constructor(name: string, channels: number, usual: boolean, given: readonly unknown[]) {
    super();
    const {eps, momentum, affine, trackRunningStats} = optionsOf(name, {eps: 1e-5, momentum: 0.1, affine: usual, trackRunningStats: usual}, given);
    this.weight = affine ? ones(channels) : null;
    this.bias = affine ? zeros(channels) : null;
    this.runningMean = trackRunningStats ? new BufferTensor(Tensor.zeros([channels])) : null;
    this.runningVar = trackRunningStats ? new BufferTensor(Tensor.ones([channels])) : null;
    this.eps = eps;
    this.momentum = momentum;
  }

  override extraRepr(): string {
    return `eps=${this.eps}, momentum=${this.momentum}, affine=${this.weight !== null}, trackRunningStats=${this.runningMean !== null}`;
  }
}

/** Channels (axis 1) normalised by the batch while training, by running means and variances else. */
export class BatchNorm extends Statistics {
  constructor(channels: number, ...given: BatchNormGiven) {
    super('BatchNorm', channels, true, given);
  }

  forward(x: Tensor): Tensor {
    const {runningMean, runningVar, weight, bias, momentum, eps} = this;
    // Without running statistics, those of the batch.
    return F.batchNorm(x, runningMean, runningVar, {weight, bias, training: this.training || !runningMean, momentum, eps});
  }
}
export const BatchNorm1d = BatchNorm;
export const BatchNorm2d = BatchNorm;
export const BatchNorm3d = BatchNorm;

/** Channels of each sample normalised by their own mean and variance: [n, channels, ...plane], or without n. */
const instanceNorm = (rank: number): new (channels: number, ...given: BatchNormGiven) => Statistics => class extends Statistics {
  constructor(channels: number, ...given: BatchNormGiven) {
    super(`InstanceNorm${rank}d`, channels, false, given);
  }

  forward(x: Tensor): Tensor {
    if (x.ndim === rank + 1) return this.forward(x.unsqueeze(0)).squeeze(0);
    if (x.ndim !== rank + 2) throw wrong(`InstanceNorm${rank}d: a tensor of ${x.ndim} axes; ${rank + 1} or ${rank + 2} are expected`);
    const {runningMean, runningVar, weight, bias, momentum, eps} = this;
    return F.instanceNorm(x, runningMean, runningVar, {weight, bias, useInputStats: this.training || !runningMean, momentum, eps});
  }
};
export const InstanceNorm1d = instanceNorm(1);
export const InstanceNorm2d = instanceNorm(2);
export const InstanceNorm3d = instanceNorm(3);

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

/** Divided by the root of the mean square over the last axes. */
export class RMSNorm extends Layer {
  readonly weight: Parameter | null;
  readonly shape: Shape;
  readonly eps: number | null;

  constructor(shape: number | Shape, ...given: Given<{readonly eps?: number | null; readonly elementwiseAffine?: boolean}, [eps?: number | null, elementwiseAffine?: boolean]>) {
    super();
    const {eps, elementwiseAffine} = optionsOf('RMSNorm', {eps: undefined as number | undefined, elementwiseAffine: true}, given);
    this.shape = [shape].flat();
    this.eps = eps ?? null;
    this.weight = elementwiseAffine ? ones(...this.shape) : null;
  }

  forward(x: Tensor): Tensor {
    return F.rmsNorm(x, this.shape, {weight: this.weight, eps: this.eps});
  }
}
