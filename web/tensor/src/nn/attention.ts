/** Attention and transformers (PyTorch's MultiheadAttention and TransformerEncoderLayer). */
import {shapeText} from '../../../runtime/src/values/types.ts';
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import * as F from './functional.ts';
import * as init from './init.ts';
import {Linear} from './layers.ts';
import {LayerNorm} from './norms.ts';
import {Module, Parameter} from './module.ts';

export interface AttentionLayerOptions {
  readonly dropout?: number | undefined;
  readonly bias?: boolean | undefined;
  /** [batch, length, size] instead of [length, batch, size]. */
  readonly batchFirst?: boolean | undefined;
}

export interface MaskOptions {
  /** Added to the scores, or, of bool, true where not to look (as PyTorch has it here): [targets, sources] or [batch * heads, ...]. */
  readonly attnMask?: Tensor | undefined;
  /** True for sources that don't count: [batch, sources]. */
  readonly keyPaddingMask?: Tensor | undefined;
  readonly causal?: boolean | undefined;
}

const NO_MASKS = {attnMask: undefined as Tensor | undefined, keyPaddingMask: undefined as Tensor | undefined, causal: false};

export class MultiheadAttention extends Module {
  readonly inProjWeight: Parameter;
  readonly inProjBias: Parameter | null;
  readonly outProj: Linear;
  readonly size: number;
  readonly heads: number;
  readonly dropout: number;
  readonly batchFirst: boolean;

  constructor(size: number, heads: number, ...given: Given<AttentionLayerOptions, [dropout?: number, bias?: boolean]>) {
    super();
    const {dropout, bias, batchFirst} = optionsOf('MultiheadAttention', {dropout: 0, bias: true, batchFirst: false}, given);
    if (size % heads) throw wrong(`MultiheadAttention: ${heads} heads do not divide a size of ${size}`);
    this.inProjWeight = new Parameter(Tensor.zeros([3 * size, size]));
    init.xavierUniform(this.inProjWeight);
    this.inProjBias = bias ? new Parameter(Tensor.zeros([3 * size])) : null;
    this.outProj = new Linear(size, size, {bias});
    if (this.outProj.bias) init.zeros(this.outProj.bias);
    this.size = size;
    this.heads = heads;
    this.dropout = dropout;
    this.batchFirst = batchFirst;
  }

  /** The attended values, and the weights of the heads' mean where asked: [batch, targets, sources]. */
  forward(query: Tensor, key: Tensor, value: Tensor, ...given: Given<MaskOptions & {readonly needWeights?: boolean; readonly isCausal?: boolean}>): [Tensor, Tensor | null] {
    const options = optionsOf('MultiheadAttention.forward', {...NO_MASKS, needWeights: false}, given, {isCausal: 'causal'});
    if (query.ndim === 2) {
      const [made, weights] = this.forward(...([query, key, value].map((each) => each.unsqueeze(this.batchFirst ? 0 : 1)) as [Tensor, Tensor, Tensor]), options);
      return [made.squeeze(this.batchFirst ? 0 : 1), weights && weights.squeeze(0)];
    }
    const inputs = [query, key, value].map((each) => {
      if (each.ndim !== 3 || each.shape[2] !== this.size) {
        throw wrong(`MultiheadAttention: it takes three axes, the last of ${this.size}, not ${shapeText(each.shape)}`);
      }
      return this.batchFirst ? each : each.transpose(0, 1);
    });
    const [batch = 1, targets = 1] = (inputs[0] as Tensor).shape;
    const [q, k, v] = this.#project(inputs) as [Tensor, Tensor, Tensor];
    const weights = F.attentionWeights(q, k, {mask: this.#mask(batch, q, k, options), causal: options.causal});
    const heads = F.dropout(weights, this.dropout, this.training).matmul(v);
    const joined = this.outProj.forward(heads.transpose(1, 2).reshape(batch, targets, this.size));
    return [this.batchFirst ? joined : joined.transpose(0, 1), options.needWeights ? weights.mean(1) : null];
  }

  /** Of each input its heads: [batch, heads, length, size of a head]. */
  #project(inputs: readonly Tensor[]): Tensor[] {
    const [query, ...others] = inputs as [Tensor, ...Tensor[]];
    const split = (x: Tensor): Tensor => x.reshape(x.shape[0] ?? 1, x.shape[1] ?? 1, this.heads, -1).transpose(1, 2);
    if (others.every((each) => each === query)) {
      return query.linear(this.inProjWeight, this.inProjBias).split(this.size, -1).map(split);
    }
    const weights = this.inProjWeight.split(this.size, 0);
    const biases = this.inProjBias?.split(this.size, 0);
    return inputs.map((each, at) => split(each.linear(weights[at] as Tensor, biases?.[at])));
  }

  #mask(batch: number, q: Tensor, k: Tensor, {attnMask, keyPaddingMask}: MaskOptions): Tensor | null {
    const closed = (mask: Tensor): Tensor => (mask.dtype === 'bool' ? Tensor.where(mask, -Infinity, 0).cast(q.dtype) : mask);
    const own = attnMask && closed(attnMask.ndim === 3 ? attnMask.reshape(batch, this.heads, q.shape[2] ?? 1, k.shape[2] ?? 1) : attnMask);
    const padding = keyPaddingMask && closed(keyPaddingMask).reshape(batch, 1, 1, -1);
    return own && padding ? own.add(padding) : (own ?? padding ?? null);
  }
}

export type TransformerActivation = 'relu' | 'gelu' | ((x: Tensor) => Tensor);

export interface EncoderLayerOptions {
  readonly dimFeedforward?: number | undefined;
  readonly dropout?: number | undefined;
  readonly activation?: TransformerActivation | undefined;
  readonly layerNormEps?: number | undefined;
  readonly batchFirst?: boolean | undefined;
  /** Normalises before each part instead of after it. */
  readonly normFirst?: boolean | undefined;
  readonly bias?: boolean | undefined;
}

export type EncoderLayerGiven = Given<EncoderLayerOptions, [
  dimFeedforward?: number, dropout?: number, activation?: TransformerActivation, layerNormEps?: number, batchFirst?: boolean, normFirst?: boolean, bias?: boolean,
]>;

export const ENCODER_LAYER = {
  dimFeedforward: 2048, dropout: 0.1, activation: undefined as TransformerActivation | undefined, layerNormEps: 1e-5, batchFirst: false, normFirst: false, bias: true,
};

/** What layers of encoders and decoders share: attention, a feed-forward network, and where they normalise. */
export abstract class TransformerLayer extends Module {
  readonly selfAttn: MultiheadAttention;
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly dropout: number;
  readonly activation: TransformerActivation;
  readonly normFirst: boolean;
  /** What it is made of. */
  readonly given: readonly [size: number, heads: number, options: typeof ENCODER_LAYER];

  constructor(size: number, heads: number, options: typeof ENCODER_LAYER) {
    super();
    this.given = [size, heads, options];
    const {dimFeedforward, dropout, activation, layerNormEps, batchFirst, normFirst, bias} = options;
    this.selfAttn = new MultiheadAttention(size, heads, {dropout, batchFirst, bias});
    this.linear1 = new Linear(size, dimFeedforward, {bias});
    this.linear2 = new Linear(dimFeedforward, size, {bias});
    this.norm1 = new LayerNorm(size, {eps: layerNormEps, bias});
    this.norm2 = new LayerNorm(size, {eps: layerNormEps, bias});
    this.dropout = dropout;
    this.activation = activation ?? 'relu';
    this.normFirst = normFirst;
  }

  protected drop(x: Tensor): Tensor {
    return F.dropout(x, this.dropout, this.training);
  }

  /** x and a part of it, normalised before or after. */
  protected part(x: Tensor, norm: LayerNorm, compute: (x: Tensor) => Tensor): Tensor {
    return this.normFirst ? x.add(this.drop(compute(norm.forward(x)))) : norm.forward(x.add(this.drop(compute(x))));
  }

  protected feed(x: Tensor): Tensor {
    const {activation} = this;
    const hidden = this.linear1.forward(x);
    const active = typeof activation === 'function' ? activation(hidden) : activation === 'relu' ? hidden.relu() : hidden.gelu();
    return this.linear2.forward(this.drop(active));
  }
}

export class TransformerEncoderLayer extends TransformerLayer {
  constructor(size: number, heads: number, ...given: EncoderLayerGiven) {
    super(size, heads, optionsOf('TransformerEncoderLayer', ENCODER_LAYER, given));
  }

  forward(x: Tensor, ...given: EncoderMasks): Tensor {
    const masks = encoderMasks('TransformerEncoderLayer.forward', given);
    const attended = this.part(x, this.norm1, (each) => this.selfAttn.forward(each, each, each, masks)[0]);
    return this.part(attended, this.norm2, (each) => this.feed(each));
  }
}

/** Of an encoder's forward(), also by PyTorch's names. */
export type EncoderMasks = Given<MaskOptions & {readonly mask?: Tensor; readonly srcMask?: Tensor; readonly srcKeyPaddingMask?: Tensor; readonly isCausal?: boolean}, [mask?: Tensor | null, srcKeyPaddingMask?: Tensor | null, isCausal?: boolean]>;
export const encoderMasks = (name: string, given: readonly unknown[]): MaskOptions =>
  optionsOf(name, NO_MASKS, given, {mask: 'attnMask', srcMask: 'attnMask', srcKeyPaddingMask: 'keyPaddingMask', isCausal: 'causal'});
