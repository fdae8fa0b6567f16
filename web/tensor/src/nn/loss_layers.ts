/** Losses as modules: the options are given once. */
import type {Tensor} from '../tensor.ts';
import * as losses from './losses.ts';
import {Module} from './module.ts';

export interface Loss extends Module {
  forward(x: Tensor, target: Tensor): Tensor;
}

function loss<Options extends unknown[]>(compute: (x: Tensor, target: Tensor, ...given: Options) => Tensor): new (...given: Options) => Loss {
  return class extends Module {
    readonly given: Options;
    constructor(...given: Options) {
      super();
      this.given = given;
    }
    forward(x: Tensor, target: Tensor): Tensor {
      return compute(x, target, ...this.given);
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
