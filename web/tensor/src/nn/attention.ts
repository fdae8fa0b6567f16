/** Attention and transformers (PyTorch's MultiheadAttention and TransformerEncoderLayer). */
import {shapeText} from '../../../runtime/src/types.ts';
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import * as F from './functional.ts';
import * as init from './init.ts';
import {LayerNorm, Linear} from './layers.ts';
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

export interface EncoderLayerOptions {
  readonly dimFeedforward?: number | undefined;
  readonly dropout?: number | undefined;
  readonly activation?: 'relu' | 'gelu' | undefined;
  readonly layerNormEps?: number | undefined;
  readonly batchFirst?: boolean | undefined;
  /** Normalises before each part instead of after it. */
  readonly normFirst?: boolean | undefined;
}

export class TransformerEncoderLayer extends Module {
  readonly selfAttn: MultiheadAttention;
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly norm1: LayerNorm;
  readonly norm2: LayerNorm;
  readonly dropout: number;
  readonly activation: 'relu' | 'gelu';
  readonly normFirst: boolean;

  constructor(
    size: number, heads: number,
    ...given: Given<EncoderLayerOptions, [dimFeedforward?: number, dropout?: number, activation?: 'relu' | 'gelu', layerNormEps?: number, batchFirst?: boolean, normFirst?: boolean]>
  ) {
    super();
    const known = {dimFeedforward: 2048, dropout: 0.1, activation: 'relu' as 'relu' | 'gelu', layerNormEps: 1e-5, batchFirst: false, normFirst: false};
    const {dimFeedforward, dropout, activation, layerNormEps, batchFirst, normFirst} = optionsOf('TransformerEncoderLayer', known, given);
    this.selfAttn = new MultiheadAttention(size, heads, {dropout, batchFirst});
    this.linear1 = new Linear(size, dimFeedforward);
    this.linear2 = new Linear(dimFeedforward, size);
    this.norm1 = new LayerNorm(size, {eps: layerNormEps});
    this.norm2 = new LayerNorm(size, {eps: layerNormEps});
    this.dropout = dropout;
    this.activation = activation;
    this.normFirst = normFirst;
  }

  forward(x: Tensor, masks: MaskOptions = {}): Tensor {
    const drop = (each: Tensor): Tensor => F.dropout(each, this.dropout, this.training);
    const attend = (each: Tensor): Tensor => drop(this.selfAttn.forward(each, each, each, masks)[0]);
    const feed = (each: Tensor): Tensor => {
      const hidden = this.linear1.forward(each);
      return drop(this.linear2.forward(drop(this.activation === 'relu' ? hidden.relu() : hidden.gelu())));
    };
    if (this.normFirst) {
      const attended = x.add(attend(this.norm1.forward(x)));
      return attended.add(feed(this.norm2.forward(attended)));
    }
    const attended = this.norm1.forward(x.add(attend(x)));
    return this.norm2.forward(attended.add(feed(attended)));
  }
}
