/** Whole transformers (PyTorch's TransformerEncoder, TransformerDecoder and Transformer), as @gossamer/tensor/torch has them. */
import {type Given, optionsOf} from '../options.ts';
import {Tensor} from '../tensor.ts';
import {ENCODER_LAYER, type EncoderLayerGiven, type EncoderLayerOptions, type EncoderMasks, encoderMasks, MultiheadAttention, TransformerEncoderLayer, TransformerLayer} from './attention.ts';
import {ModuleList} from './containers.ts';
import * as init from './init.ts';
import {Module} from './module.ts';
import {LayerNorm} from './norms.ts';

/** Of a decoder's forward(). */
export interface DecoderMaskOptions {
  readonly tgtMask?: Tensor | undefined;
  readonly memoryMask?: Tensor | undefined;
  readonly tgtKeyPaddingMask?: Tensor | undefined;
  readonly memoryKeyPaddingMask?: Tensor | undefined;
  readonly tgtIsCausal?: boolean | undefined;
  readonly memoryIsCausal?: boolean | undefined;
}
export type DecoderMasks = Given<DecoderMaskOptions, [tgtMask?: Tensor | null, memoryMask?: Tensor | null, tgtKeyPaddingMask?: Tensor | null, memoryKeyPaddingMask?: Tensor | null]>;
const NONE = undefined as Tensor | undefined;
const DECODER_MASKS = {tgtMask: NONE, memoryMask: NONE, tgtKeyPaddingMask: NONE, memoryKeyPaddingMask: NONE, tgtIsCausal: false, memoryIsCausal: false};

export class TransformerDecoderLayer extends TransformerLayer {
  readonly multiheadAttn: MultiheadAttention;
  readonly norm3: LayerNorm;

  constructor(size: number, heads: number, ...given: EncoderLayerGiven) {
    const options = optionsOf('TransformerDecoderLayer', ENCODER_LAYER, given);
    super(size, heads, options);
    const {dropout, batchFirst, bias, layerNormEps} = options;
    this.multiheadAttn = new MultiheadAttention(size, heads, {dropout, batchFirst, bias});
    this.norm3 = new LayerNorm(size, {eps: layerNormEps, bias});
  }

  forward(x: Tensor, memory: Tensor, ...given: DecoderMasks): Tensor {
    const {tgtMask, memoryMask, tgtKeyPaddingMask, memoryKeyPaddingMask, tgtIsCausal, memoryIsCausal} = optionsOf('TransformerDecoderLayer.forward', DECODER_MASKS, given);
    const own = {attnMask: tgtMask, keyPaddingMask: tgtKeyPaddingMask, causal: tgtIsCausal};
    const other = {attnMask: memoryMask, keyPaddingMask: memoryKeyPaddingMask, causal: memoryIsCausal};
    const first = this.part(x, this.norm1, (each) => this.selfAttn.forward(each, each, each, own)[0]);
    const second = this.part(first, this.norm2, (each) => this.multiheadAttn.forward(each, memory, memory, other)[0]);
    return this.part(second, this.norm3, (each) => this.feed(each));
  }
}

/** A layer, of which all are copies, as in PyTorch; or a function that makes each, so that they start from other values. */
export type LayerSource<T> = T | ((at: number) => T);

function layersOf<T extends TransformerLayer>(source: LayerSource<T>, count: number): ModuleList {
  return new ModuleList(Array.from({length: count}, (_, at) => {
    if (typeof source === 'function') return source(at);
    const copy = new (source.constructor as new (...given: TransformerLayer['given']) => T)(...source.given);
    copy.loadStateDict(source.stateDict());
    return copy;
  }));
}

export class TransformerEncoder extends Module {
  readonly layers: ModuleList;
  readonly norm: Module | null;

  constructor(layer: LayerSource<TransformerEncoderLayer>, count: number, norm: Module | null = null) {
    super();
    this.layers = layersOf(layer, count);
    this.norm = norm;
  }

  forward(x: Tensor, ...given: EncoderMasks): Tensor {
    const masks = encoderMasks('TransformerEncoder.forward', given);
    const made = this.layers.list.reduce((value, each) => (each as TransformerEncoderLayer).forward(value, masks), x);
    return this.norm ? (this.norm.forward(made) as Tensor) : made;
  }
}

export class TransformerDecoder extends Module {
  readonly layers: ModuleList;
  readonly norm: Module | null;

  constructor(layer: LayerSource<TransformerDecoderLayer>, count: number, norm: Module | null = null) {
    super();
    this.layers = layersOf(layer, count);
    this.norm = norm;
  }

  forward(x: Tensor, memory: Tensor, ...given: DecoderMasks): Tensor {
    const made = this.layers.list.reduce((value, each) => (each as TransformerDecoderLayer).forward(value, memory, ...given), x);
    return this.norm ? (this.norm.forward(made) as Tensor) : made;
  }
}

export interface TransformerOptions extends EncoderLayerOptions {
  readonly dModel?: number | undefined;
  readonly nhead?: number | undefined;
  readonly numEncoderLayers?: number | undefined;
  readonly numDecoderLayers?: number | undefined;
}

export class Transformer extends Module {
  readonly encoder: TransformerEncoder;
  readonly decoder: TransformerDecoder;

  constructor(...given: Given<TransformerOptions, [dModel?: number, nhead?: number, numEncoderLayers?: number, numDecoderLayers?: number, dimFeedforward?: number, dropout?: number]>) {
    super();
    const known = {dModel: 512, nhead: 8, numEncoderLayers: 6, numDecoderLayers: 6, ...ENCODER_LAYER};
    const {dModel, nhead, numEncoderLayers, numDecoderLayers, ...options} = optionsOf('Transformer', known, given);
    const norm = (): LayerNorm => new LayerNorm(dModel, {eps: options.layerNormEps, bias: options.bias});
    this.encoder = new TransformerEncoder(() => new TransformerEncoderLayer(dModel, nhead, options), numEncoderLayers, norm());
    this.decoder = new TransformerDecoder(() => new TransformerDecoderLayer(dModel, nhead, options), numDecoderLayers, norm());
    for (const parameter of this.parameters()) if (parameter.ndim > 1) init.xavierUniform(parameter);
  }

  forward(
    source: Tensor, target: Tensor,
    ...given: Given<DecoderMaskOptions & {readonly srcMask?: Tensor; readonly srcKeyPaddingMask?: Tensor; readonly srcIsCausal?: boolean}, [srcMask?: Tensor | null, tgtMask?: Tensor | null, memoryMask?: Tensor | null]>
  ): Tensor {
    const known = {srcMask: NONE, ...DECODER_MASKS, srcKeyPaddingMask: NONE, srcIsCausal: false};
    const {srcMask, srcKeyPaddingMask, srcIsCausal, ...masks} = optionsOf('Transformer.forward', known, given);
    const memory = this.encoder.forward(source, {attnMask: srcMask, keyPaddingMask: srcKeyPaddingMask, causal: srcIsCausal});
    return this.decoder.forward(target, memory, masks);
  }

  /** A mask of [size, size] that lets each place see what came before: 0 there, minus infinity elsewhere. */
  static generateSquareSubsequentMask(size: number): Tensor {
    return Tensor.full([size, size], -Infinity).triu(1);
  }
}
