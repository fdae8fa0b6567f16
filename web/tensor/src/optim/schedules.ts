/** Learning rates over time (PyTorch's torch.optim.lr_scheduler). step() after an epoch, or after whatever counts. */
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import type {Optimizer, OptimizerOptions} from './optimizers.ts';

// Any optimizer: a schedule reads and sets rates and momenta alone.
interface Rate {
  lr: number;
  initialLr?: number;
  cyclesMomentum?: boolean;
  momentum?: number;
  betas?: readonly [number, number];
}
interface Rates {
  readonly groups: readonly Rate[];
}
export const ratesOf = (optimizer: Optimizer<never> | Optimizer<OptimizerOptions>): Rates => optimizer;
export type AnyOptimizer = Parameters<typeof ratesOf>[0];

/** What a group's first rate is multiplied with after `epoch` steps. */
export type Factor = (epoch: number, base: number, group: number) => number;

/** A schedule by factors of the first rates. Several of one optimizer multiply each other, unless they are `absolute`. */
export class LRScheduler {
  readonly #rates: Rates;
  readonly #factor: Factor;
  readonly #absolute: boolean;
  epoch = 0;

  constructor(optimizer: AnyOptimizer, factor: Factor, absolute = false) {
    this.#rates = ratesOf(optimizer);
    this.#factor = factor;
    this.#absolute = absolute;
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

  /** As after `epoch` steps of this schedule alone. */
  seek(epoch: number): void {
    this.epoch = epoch;
    this.#rates.groups.forEach((group, at) => (group.lr = (group.initialLr ?? group.lr) * this.#factor(epoch, group.initialLr ?? group.lr, at)));
  }

  stateDict(): {epoch: number} {
    return {epoch: this.epoch};
  }

  /** The rates of groups are the optimizer's. */
  loadStateDict({epoch}: {readonly epoch: number}): void {
    this.epoch = epoch;
  }

  #set(): void {
    this.#rates.groups.forEach((group, at) => {
      const base = group.initialLr ?? group.lr;
      const [now, before] = [this.#factor(this.epoch, base, at), this.epoch > 0 ? this.#factor(this.epoch - 1, base, at) : 1];
      group.lr = this.#absolute || before === 0 ? base * now : now === before ? group.lr : (group.lr / before) * now;
    });
  }
}

/** By a function of the epoch, or one for each group. */
export class LambdaLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, factor: ((epoch: number, base: number) => number) | readonly ((epoch: number) => number)[]) {
    super(optimizer, (epoch, base, at) => (typeof factor === 'function' ? factor(epoch, base) : (factor[at]?.(epoch) ?? 1)), true);
  }
}

export interface GammaOption {
  readonly gamma?: number | undefined;
}

/** Times gamma every stepSize. */
export class StepLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, stepSize: number, ...given: Given<GammaOption, [gamma?: number]>) {
    const {gamma} = optionsOf('StepLR', {gamma: 0.1}, given);
    super(optimizer, (epoch) => gamma ** Math.floor(epoch / stepSize));
  }
}

/** Times gamma at each milestone. */
export class MultiStepLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, milestones: readonly number[], ...given: Given<GammaOption, [gamma?: number]>) {
    const {gamma} = optionsOf('MultiStepLR', {gamma: 0.1}, given);
    super(optimizer, (epoch) => gamma ** milestones.filter((each) => each <= epoch).length);
  }
}

/** Times `factor` for the first totalIters steps. */
export class ConstantLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, ...given: Given<{readonly factor?: number; readonly totalIters?: number}, [factor?: number, totalIters?: number]>) {
    const {factor, totalIters} = optionsOf('ConstantLR', {factor: 1 / 3, totalIters: 5}, given);
    super(optimizer, (epoch) => (epoch < totalIters ? factor : 1));
  }
}

export class ExponentialLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, gamma: number) {
    super(optimizer, (epoch) => gamma ** epoch);
  }
}

/** Down to 0 in totalIters steps, along a power. */
export class PolynomialLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, ...given: Given<{readonly totalIters?: number; readonly power?: number}, [totalIters?: number, power?: number]>) {
    const {totalIters, power} = optionsOf('PolynomialLR', {totalIters: 5, power: 1}, given);
    super(optimizer, (epoch) => (1 - Math.min(epoch, totalIters) / totalIters) ** power);
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
export class LinearLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, ...given: Given<LinearOptions, [startFactor?: number, endFactor?: number, totalIters?: number]>) {
    const known = {startFactor: 1 / 3, endFactor: 1, totalSteps: 5};
    const {startFactor, endFactor, totalSteps} = optionsOf('LinearLR', known, given, {totalIters: 'totalSteps'});
    super(optimizer, (epoch) => startFactor + ((endFactor - startFactor) * Math.min(epoch, totalSteps)) / totalSteps);
  }
}

/** Half a cosine from one number to another. */
export const cosine = (from: number, to: number, share: number): number => to + ((from - to) * (1 + Math.cos(Math.PI * share))) / 2;
const straight = (from: number, to: number, share: number): number => from + (to - from) * share;

/** Down to etaMin along half a cosine of tMax steps. */
export class CosineAnnealingLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, tMax: number, ...given: Given<{readonly etaMin?: number}, [etaMin?: number]>) {
    const {etaMin} = optionsOf('CosineAnnealingLR', {etaMin: 0}, given);
    super(optimizer, (epoch, base) => cosine(base, etaMin, epoch / tMax) / base);
  }
}

/** Sets the momentum, or the first beta, of groups, in programs that are fed with it. */
function setMomentum(group: Rate, momentum: number): void {
  group.cyclesMomentum = true;
  if (group.betas) group.betas = [momentum, group.betas[1]];
  else group.momentum = momentum;
}

const hasMomentum = ({momentum, betas}: Rate): boolean => momentum !== undefined || betas !== undefined;

/** A schedule of rates and, where it is wanted, of momenta. */
export abstract class CyclingLR extends LRScheduler {
  readonly #groups: readonly Rate[] | undefined;
  readonly #momentum: (epoch: number) => number;

  constructor(name: string, optimizer: AnyOptimizer, factor: Factor, cycles: boolean, momentum: (epoch: number) => number) {
    super(optimizer, factor, true);
    const {groups} = ratesOf(optimizer);
    if (cycles && !groups.every(hasMomentum)) throw wrong(`${name}: the optimizer has neither momentum nor betas; pass cycleMomentum: false`);
    this.#groups = cycles ? groups : undefined;
    this.#momentum = momentum;
    this.#setMomenta();
  }

  override step(): void {
    super.step();
    this.#setMomenta();
  }

  #setMomenta(): void {
    this.#groups?.forEach((group) => setMomentum(group, this.#momentum(this.epoch)));
  }
}

export interface OneCycleOptions {
  readonly pctStart?: number | undefined;
  readonly annealStrategy?: 'cos' | 'linear' | undefined;
  readonly cycleMomentum?: boolean | undefined;
  readonly baseMomentum?: number | undefined;
  readonly maxMomentum?: number | undefined;
  readonly divFactor?: number | undefined;
  readonly finalDivFactor?: number | undefined;
  readonly threePhase?: boolean | undefined;
}

/** Up to maxLr in a share of the steps, then down; momenta the other way (Smith and Topin). */
export class OneCycleLR extends CyclingLR {
  constructor(optimizer: AnyOptimizer, maxLr: number, totalSteps: number, ...given: Given<OneCycleOptions>) {
    const known = {
      pctStart: 0.3, annealStrategy: 'cos', cycleMomentum: true, baseMomentum: 0.85, maxMomentum: 0.95, divFactor: 25, finalDivFactor: 1e4, threePhase: false,
    };
    const {pctStart, annealStrategy, cycleMomentum, baseMomentum, maxMomentum, divFactor, finalDivFactor, threePhase} = optionsOf('OneCycleLR', known, given);
    const low = maxLr / divFactor;
    const last = low / finalDivFactor;
    const peak = pctStart * totalSteps - 1;
    const phases: readonly (readonly [end: number, lr: readonly [number, number], momentum: readonly [number, number]])[] = threePhase
      ? [[peak, [low, maxLr], [maxMomentum, baseMomentum]], [2 * pctStart * totalSteps - 2, [maxLr, low], [baseMomentum, maxMomentum]], [totalSteps - 1, [low, last], [maxMomentum, maxMomentum]]]
      : [[peak, [low, maxLr], [maxMomentum, baseMomentum]], [totalSteps - 1, [maxLr, last], [baseMomentum, maxMomentum]]];
    const between = annealStrategy === 'linear' ? straight : cosine;
    const at = (epoch: number, of: 1 | 2): number => {
      if (epoch > totalSteps) throw wrong(`OneCycleLR: step ${epoch} of ${totalSteps}`);
      const place = phases.findIndex(([end], phase) => epoch <= end || phase === phases.length - 1);
      const [end, ...ends] = phases[place] as (typeof phases)[number];
      const begin = phases[place - 1]?.[0] ?? 0;
      return between(...(ends[of - 1] as readonly [number, number]), (epoch - begin) / (end - begin));
    };
    super('OneCycleLR', optimizer, (epoch, base) => at(epoch, 1) / base, cycleMomentum, (epoch) => at(epoch, 2));
  }
}

export interface PlateauOptions {
  readonly mode?: 'min' | 'max' | undefined;
  readonly factor?: number | undefined;
  readonly patience?: number | undefined;
  readonly threshold?: number | undefined;
  readonly thresholdMode?: 'rel' | 'abs' | undefined;
  readonly cooldown?: number | undefined;
  readonly minLr?: number | undefined;
  readonly eps?: number | undefined;
}

/** Times `factor` where what is watched has not become better for more than `patience` steps. */
export class ReduceLROnPlateau {
  readonly #rates: Rates;
  readonly #options: Required<{[Name in keyof PlateauOptions]: Exclude<PlateauOptions[Name], undefined>}>;
  #best: number;
  #bad = 0;
  #resting = 0;

  constructor(optimizer: AnyOptimizer, ...given: Given<PlateauOptions, [mode?: 'min' | 'max', factor?: number, patience?: number, threshold?: number]>) {
    const known = {
      mode: 'min' as 'min' | 'max', factor: 0.1, patience: 10, threshold: 1e-4, thresholdMode: 'rel' as 'rel' | 'abs', cooldown: 0, minLr: 0, eps: 1e-8,
    };
    this.#options = optionsOf('ReduceLROnPlateau', known, given);
    if (!(this.#options.factor < 1)) throw wrong(`ReduceLROnPlateau: a factor of ${this.#options.factor} does not reduce`);
    this.#rates = ratesOf(optimizer);
    this.#best = this.#options.mode === 'min' ? Infinity : -Infinity;
  }

  #better(watched: number): boolean {
    const {mode, threshold, thresholdMode} = this.#options;
    const sign = mode === 'min' ? -1 : 1;
    const bound = thresholdMode === 'rel' ? this.#best * (1 + sign * threshold) : this.#best + sign * threshold;
    return mode === 'min' ? watched < bound : watched > bound;
  }

  step(watched: number): void {
    const {factor, patience, cooldown, minLr, eps} = this.#options;
    if (this.#better(watched)) [this.#best, this.#bad] = [watched, 0];
    else this.#bad += 1;
    if (this.#resting > 0) [this.#resting, this.#bad] = [this.#resting - 1, 0];
    if (this.#bad <= patience) return;
    [this.#resting, this.#bad] = [cooldown, 0];
    for (const group of this.#rates.groups) {
      const lr = Math.max(group.lr * factor, minLr);
      if (group.lr - lr > eps) group.lr = lr;
    }
  }

  getLastLr(): number[] {
    return this.#rates.groups.map(({lr}) => lr);
  }
}
