/** Rarer layers, as @gossamer/tensor/torch has them. */
import {type Given, optionsOf} from '../options.ts';
import type {PerAxis} from '../products.ts';
import {Tensor} from '../tensor.ts';
import * as layers from './layers.ts';
import * as norms from './norms.ts';
import {traced} from '../tracing.ts';
import * as F from './all_functional.ts';
import * as init from './init.ts';
import {type BiasOption, dropped, even} from './layers.ts';
import {loss, of, ofThree} from './loss_layers.ts';
import {Layer, Module, Parameter} from './module.ts';
import {joining, layer, type Two} from './plain_layers.ts';

export const Hardshrink = layer(F.hardshrink);
export const Softshrink = layer(F.softshrink);
export const Tanhshrink = layer(F.tanhshrink);
export const Threshold = layer(F.threshold);
export const Softmin = layer(F.softmin);
export const LPPool1d = layer(F.lpPool1d);
export const LPPool2d = layer(F.lpPool2d);
export const LPPool3d = layer(F.lpPool3d);
export const PixelUnshuffle = layer(F.pixelUnshuffle);
export const ChannelShuffle = layer(F.channelShuffle);
export const LocalResponseNorm = layer(F.localResponseNorm);
export const Fold = layer(F.fold);
export const UpsamplingNearest2d = layer((x, size?: PerAxis | null, scale?: PerAxis) => F.interpolate(x, size ?? undefined, scale, 'nearest'));
export const UpsamplingBilinear2d = layer((x, size?: PerAxis | null, scale?: PerAxis) => F.interpolate(x, size ?? undefined, scale, 'bilinear', true));
type Unpool = [kernelSize: PerAxis, stride?: PerAxis | null, padding?: PerAxis];
export const MaxUnpool1d = joining<Two, Unpool>(2, F.maxUnpool1d);
export const MaxUnpool2d = joining<Two, Unpool>(2, F.maxUnpool2d);
export const MaxUnpool3d = joining<Two, Unpool>(2, F.maxUnpool3d);

/** While training, slopes below 0 are drawn. */
export class RReLU extends Layer {
  readonly given: readonly [lower?: number, upper?: number];
  constructor(...given: [lower?: number, upper?: number]) {
    super();
    this.given = given;
  }
  forward(x: Tensor): Tensor {
    return F.rrelu(x, ...this.given, this.training);
  }
}

export const AlphaDropout = dropped(F.alphaDropout);
export const FeatureAlphaDropout = dropped(F.featureAlphaDropout);

/** x1 weight x2 + bias for each output. */
export class Bilinear extends Module {
  readonly weight: Parameter;
  readonly bias: Parameter | null;

  constructor(first: number, second: number, outputs: number, ...given: Given<BiasOption, [bias?: boolean]>) {
    super();
    const {bias} = optionsOf('Bilinear', {bias: true}, given);
    this.weight = even([outputs, first, second], first);
    this.bias = bias ? even([outputs], first) : null;
  }

  forward(a: Tensor, b: Tensor): Tensor {
    return F.bilinear(a, b, this.weight, this.bias);
  }
}

/** Rows of a table, joined in bags. */
export class EmbeddingBag extends Module {
  readonly weight: Parameter;
  /** How the rows of a bag are joined. */
  readonly joins: 'sum' | 'mean' | 'max';
  readonly paddingIndex: number | undefined;

  constructor(count: number, size: number, ...given: Given<{readonly mode?: 'sum' | 'mean' | 'max'; readonly paddingIndex?: number; readonly paddingIdx?: number}>) {
    super();
    const known = {mode: 'mean' as 'sum' | 'mean' | 'max', paddingIndex: undefined as number | undefined};
    const {mode, paddingIndex} = optionsOf('EmbeddingBag', known, given, {paddingIdx: 'paddingIndex'});
    this.weight = new Parameter(Tensor.randn([count, size]));
    this.joins = mode;
    this.paddingIndex = paddingIndex;
    if (paddingIndex !== undefined) traced(false, () => init.zeroRow(this.weight, paddingIndex));
  }

  forward(places: Tensor, offsets?: readonly number[], perSampleWeights?: Tensor): Tensor {
    return F.embeddingBag(places, this.weight, offsets ?? null, this.joins, perSampleWeights ?? null, this.paddingIndex ?? null);
  }
}

export const HingeEmbeddingLoss = of(F.hingeEmbeddingLoss);
export const SoftMarginLoss = of(F.softMarginLoss);
export const MultiMarginLoss = of(F.multiMarginLoss);
export const MultiLabelMarginLoss = of(F.multilabelMarginLoss);
export const MultiLabelSoftMarginLoss = of(F.multilabelSoftMarginLoss);
export const TripletMarginWithDistanceLoss = ofThree(F.tripletMarginWithDistanceLoss);
type Lengths = Tensor | readonly number[];
export const CTCLoss = loss<[blank?: number, reduction?: F.Reduction, zeroInfinity?: boolean], [logProbs: Tensor, targets: Tensor, inputLengths: Lengths, targetLengths: Lengths]>(F.ctcLoss, 4);

type Sized<Rest extends unknown[]> = new (size: number, ...rest: Rest) => Layer;

/** A class of layers that see how many features or channels there are at the first input. */
const lazy = <Rest extends unknown[]>(Made: Sized<Rest>, axis: number): new (...rest: Rest) => Layer => class extends Layer {
  readonly #given: Rest;
  #made: Layer | undefined;
  constructor(...rest: Rest) {
    super();
    this.#given = rest;
  }
  protected override ownTensors(): [string, Tensor][] {
    return this.#made ? (Object.getPrototypeOf(Layer.prototype) as {ownTensors(): [string, Tensor][]}).ownTensors.call(this.#made) : [];
  }
  forward(x: Tensor): Tensor {
    this.#made ??= new Made(x.shape.at(axis) ?? 1, ...this.#given);
    this.#made.training = this.training;
    return this.#made.forward(x);
  }
};
export const LazyLinear = lazy(layers.Linear, -1);
export const LazyConv1d = lazy(layers.Conv1d, -2);
export const LazyConv2d = lazy(layers.Conv2d, -3);
export const LazyConv3d = lazy(layers.Conv3d, -4);
export const LazyConvTranspose1d = lazy(layers.ConvTranspose1d, -2);
export const LazyConvTranspose2d = lazy(layers.ConvTranspose2d, -3);
export const LazyConvTranspose3d = lazy(layers.ConvTranspose3d, -4);
export const LazyBatchNorm1d = lazy(norms.BatchNorm, 1);
export const LazyBatchNorm2d = lazy(norms.BatchNorm, 1);
export const LazyBatchNorm3d = lazy(norms.BatchNorm, 1);
export const LazyInstanceNorm1d = lazy(norms.InstanceNorm1d, -2);
export const LazyInstanceNorm2d = lazy(norms.InstanceNorm2d, -3);
export const LazyInstanceNorm3d = lazy(norms.InstanceNorm3d, -4);
/** There is one process. */
export const SyncBatchNorm = norms.BatchNorm;
export const CrossMapLRN2d = LocalResponseNorm;
export const FractionalMaxPool2d = layer(F.fractionalMaxPool2d);
export const FractionalMaxPool3d = layer(F.fractionalMaxPool3d);
export {NLLLoss as NLLLoss2d} from './loss_layers.ts';
