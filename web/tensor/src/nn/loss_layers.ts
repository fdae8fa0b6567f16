/** Losses as modules: the options are given once. */
import type {Known} from '../composed/prelude.ts';
import type {Tensor} from '../tensor.ts';
import * as F from './functional.ts';
import {Module} from './module.ts';

type Pair = [x: Tensor, target: Tensor];
type Triple = [a: Tensor, b: Tensor, c: Tensor];

export interface Loss<Inputs extends unknown[] = Pair> extends Module {
  forward(...inputs: Inputs): Tensor;
}

export function loss<Options extends unknown[], Inputs extends unknown[] = Pair>(compute: (...given: [...Inputs, ...Options]) => Tensor, tensors = 2): new (...given: Options) => Loss<Inputs> {
  return class extends Module {
    readonly given: Options;
    constructor(...given: Options) {
      super();
      (compute as Partial<Known>).check?.(given, tensors);
      this.given = given;
    }
    forward(...inputs: Inputs): Tensor {
      return compute(...inputs, ...this.given);
    }
  };
}

export const of = <Options extends unknown[]>(compute: (x: Tensor, target: Tensor, ...given: Options) => Tensor): new (...given: Options) => Loss => loss<Options>(compute);
export const ofThree = <Options extends unknown[]>(compute: (a: Tensor, b: Tensor, c: Tensor, ...given: Options) => Tensor): new (...given: Options) => Loss<Triple> =>
  loss<Options, Triple>(compute, 3);

export const MSELoss = of(F.mseLoss);
export const L1Loss = of(F.l1Loss);
export const HuberLoss = of(F.huberLoss);
export const SmoothL1Loss = of(F.smoothL1Loss);
export const BCELoss = of(F.binaryCrossEntropy);
export const BCEWithLogitsLoss = of(F.binaryCrossEntropyWithLogits);
export const NLLLoss = of(F.nllLoss);
export const CrossEntropyLoss = of(F.crossEntropy);
export const KLDivLoss = of(F.klDiv);
export const PoissonNLLLoss = of(F.poissonNllLoss);
export const GaussianNLLLoss = ofThree(F.gaussianNllLoss);
export const TripletMarginLoss = ofThree(F.tripletMarginLoss);
export const MarginRankingLoss = ofThree(F.marginRankingLoss);
export const CosineEmbeddingLoss = ofThree(F.cosineEmbeddingLoss);
