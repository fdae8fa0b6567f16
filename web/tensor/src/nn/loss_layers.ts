/** Losses as modules: the options are given once. */
import type {Tensor} from '../tensor.ts';
import * as losses from './losses.ts';
import {Module} from './module.ts';

export interface Loss extends Module {
  forward(x: Tensor, target: Tensor): Tensor;
}

function loss<Options>(compute: (x: Tensor, target: Tensor, options?: Options) => Tensor): new (options?: Options) => Loss {
  return class extends Module {
    readonly options: Options | undefined;
    constructor(options?: Options) {
      super();
      this.options = options;
    }
    forward(x: Tensor, target: Tensor): Tensor {
      return compute(x, target, this.options);
    }
  };
}

export const MSELoss = loss(losses.mseLoss);
export const L1Loss = loss(losses.l1Loss);
export const HuberLoss = loss(losses.huberLoss);
export const SmoothL1Loss = loss(losses.smoothL1Loss);
export const BCELoss = loss(losses.binaryCrossEntropy);
export const BCEWithLogitsLoss = loss(losses.binaryCrossEntropyWithLogits);
export const NLLLoss = loss(losses.nllLoss);
export const CrossEntropyLoss = loss(losses.crossEntropy);
export const KLDivLoss = loss(losses.klDiv);
