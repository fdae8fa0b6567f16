/** Learning rates over time (PyTorch's torch.optim.lr_scheduler). step() after an epoch, or after whatever counts. */
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import type {Optimizer, OptimizerOptions} from './optimizers.ts';

// Any optimizer: a schedule reads and sets `lr` alone.
interface Rates {
  readonly groups: readonly {lr: number; initialLr?: number}[];
}
const ratesOf = (optimizer: Optimizer<never> | Optimizer<OptimizerOptions>): Rates => optimizer;
export type AnyOptimizer = Parameters<typeof ratesOf>[0];

/** A schedule by what each group's first rate is multiplied with after `epoch` steps. */
export class LambdaLR {
  readonly #rates: Rates;
  readonly #factor: (epoch: number, base: number) => number;
  epoch = 0;

  constructor(optimizer: AnyOptimizer, factor: (epoch: number, base: number) => number) {
    this.#rates = ratesOf(optimizer);
    this.#factor = factor;
    for (const group of this.#rates.groups) group.initialLr ??= group.lr;
    this.#set();
  }

  step(): void {
    this.epoch += 1;
    this.#set();
  }

  getLastLr(): number[] {
    return this.#rates.groups.map(({lr}) => lr);
  }

  #set(): void {
    for (const group of this.#rates.groups) {
      const base = group.initialLr ?? group.lr;
      group.lr = base * this.#factor(this.epoch, base);
    }
  }
}

export interface GammaOption {
  readonly gamma?: number | undefined;
}

/** Times gamma every stepSize. */
export class StepLR extends LambdaLR {
  constructor(optimizer: AnyOptimizer, stepSize: number, ...given: Given<GammaOption, [gamma?: number]>) {
    const {gamma} = optionsOf('StepLR', {gamma: 0.1}, given);
    super(optimizer, (epoch) => gamma ** Math.floor(epoch / stepSize));
  }
}

/** Times gamma at each milestone. */
export class MultiStepLR extends LambdaLR {
  constructor(optimizer: AnyOptimizer, milestones: readonly number[], ...given: Given<GammaOption, [gamma?: number]>) {
    const {gamma} = optionsOf('MultiStepLR', {gamma: 0.1}, given);
    super(optimizer, (epoch) => gamma ** milestones.filter((each) => each <= epoch).length);
  }
}

export class ExponentialLR extends LambdaLR {
  constructor(optimizer: AnyOptimizer, gamma: number) {
    super(optimizer, (epoch) => gamma ** epoch);
  }
}

export interface LinearOptions {
  readonly startFactor?: number | undefined;
  readonly endFactor?: number | undefined;
  readonly totalSteps?: number | undefined;
  /** PyTorch's name of `totalSteps`. */
  readonly totalIters?: number | undefined;
}

/** From startFactor to endFactor in totalSteps, evenly. */
export class LinearLR extends LambdaLR {
  constructor(optimizer: AnyOptimizer, ...given: Given<LinearOptions, [startFactor?: number, endFactor?: number, totalIters?: number]>) {
    const known = {startFactor: 1 / 3, endFactor: 1, totalSteps: 5};
    const {startFactor, endFactor, totalSteps} = optionsOf('LinearLR', known, given, {totalIters: 'totalSteps'});
    super(optimizer, (epoch) => startFactor + ((endFactor - startFactor) * Math.min(epoch, totalSteps)) / totalSteps);
  }
}

/** Down to etaMin along half a cosine of tMax steps. */
export class CosineAnnealingLR extends LambdaLR {
  constructor(optimizer: AnyOptimizer, tMax: number, ...given: Given<{readonly etaMin?: number}, [etaMin?: number]>) {
    const {etaMin} = optionsOf('CosineAnnealingLR', {etaMin: 0}, given);
    super(optimizer, (epoch, base) => (etaMin + ((base - etaMin) * (1 + Math.cos((Math.PI * epoch) / tMax))) / 2) / base);
  }
}

export interface OneCycleOptions {
  readonly pctStart?: number | undefined;
  readonly divFactor?: number | undefined;
  readonly finalDivFactor?: number | undefined;
}

/** Up to the optimizer's rate times `factor` in a share of the steps, then down along cosines (Smith and Topin). */
export class OneCycleLR extends LambdaLR {
  constructor(optimizer: AnyOptimizer, maxLr: number, totalSteps: number, ...given: Given<OneCycleOptions>) {
    const {pctStart, divFactor, finalDivFactor} = optionsOf('OneCycleLR', {pctStart: 0.3, divFactor: 25, finalDivFactor: 1e4}, given);
    const peak = pctStart * totalSteps - 1;
    const between = (from: number, to: number, share: number): number => to + ((from - to) * (1 + Math.cos(Math.PI * share))) / 2;
    const low = maxLr / divFactor;
    super(optimizer, (epoch, base) =>
      (epoch <= peak ? between(low, maxLr, epoch / peak) : between(maxLr, low / finalDivFactor, (epoch - peak) / (totalSteps - 1 - peak))) / base);
  }
}

export interface PlateauOptions {
  readonly factor?: number | undefined;
  readonly patience?: number | undefined;
  readonly threshold?: number | undefined;
  readonly minLr?: number | undefined;
}

/** Times `factor` where what is watched has not fallen for more than `patience` steps. */
export class ReduceLROnPlateau {
  readonly #rates: Rates;
  readonly #options: {readonly factor: number; readonly patience: number; readonly threshold: number; readonly minLr: number};
  #best = Infinity;
  #bad = 0;

  constructor(optimizer: AnyOptimizer, ...given: Given<PlateauOptions>) {
    const {factor, patience, threshold, minLr} = optionsOf('ReduceLROnPlateau', {factor: 0.1, patience: 10, threshold: 1e-4, minLr: 0}, given);
    if (!(factor < 1)) throw wrong(`ReduceLROnPlateau: a factor of ${factor} does not reduce`);
    this.#rates = ratesOf(optimizer);
    this.#options = {factor, patience, threshold, minLr};
  }

  step(watched: number): void {
    const {factor, patience, threshold, minLr} = this.#options;
    if (watched < this.#best * (1 - threshold)) [this.#best, this.#bad] = [watched, 0];
    else this.#bad += 1;
    if (this.#bad <= patience) return;
    this.#bad = 0;
    for (const group of this.#rates.groups) group.lr = Math.max(group.lr * factor, minLr);
  }
}
