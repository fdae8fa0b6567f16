/** Rarer layers, as @gossamer/tensor/torch has them. */
import {type Given, optionsOf} from '../options.ts';
import type {PerAxis} from '../products.ts';
import {Tensor} from '../tensor.ts';
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
