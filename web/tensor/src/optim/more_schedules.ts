/** Rarer schedules, as @gossamer/tensor/torch has them. */
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {type AnyOptimizer, cosine, CyclingLR, LRScheduler, ratesOf} from './schedules.ts';

/** Times a function of the epoch, in each. */
export class MultiplicativeLR extends LRScheduler {
  constructor(optimizer: AnyOptimizer, factor: ((epoch: number) => number) | readonly ((epoch: number) => number)[]) {
    const each = (epoch: number, at: number): number => (typeof factor === 'function' ? factor(epoch) : (factor[at]?.(epoch) ?? 1));
    super(optimizer, (epoch, _, at) => Array.from({length: epoch}, (_, step) => each(step + 1, at)).reduce((all, one) => all * one, 1));
  }
}

/** The same again and again; each time takes tMult times as long as the one before. */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  constructor(optimizer: AnyOptimizer, t0: number, ...given: Given<{readonly tMult?: number; readonly etaMin?: number}, [tMult?: number, etaMin?: number]>) {
    const {tMult, etaMin} = optionsOf('CosineAnnealingWarmRestarts', {tMult: 1, etaMin: 0}, given);
    super(optimizer, (epoch, base) => {
      let [at, length] = [epoch, t0];
      for (; at >= length; length *= tMult) at -= length;
      return cosine(base, etaMin, at / length) / base;
    }, true);
  }
}

export interface CyclicOptions {
  readonly stepSizeUp?: number | undefined;
  readonly stepSizeDown?: number | undefined;
  readonly mode?: 'triangular' | 'triangular2' | 'exp_range' | undefined;
  readonly gamma?: number | undefined;
  readonly scaleFn?: ((cycle: number) => number) | undefined;
  readonly scaleMode?: 'cycle' | 'iterations' | undefined;
  readonly cycleMomentum?: boolean | undefined;
  readonly baseMomentum?: number | undefined;
  readonly maxMomentum?: number | undefined;
}

/** Up and down between two rates, evenly; momenta the other way (Smith). */
export class CyclicLR extends CyclingLR {
  constructor(optimizer: AnyOptimizer, baseLr: number, maxLr: number, ...given: Given<CyclicOptions>) {
    const known = {
      stepSizeUp: 2000, stepSizeDown: undefined as number | undefined, mode: 'triangular', gamma: 1, scaleFn: undefined as ((cycle: number) => number) | undefined,
      scaleMode: 'cycle', cycleMomentum: true, baseMomentum: 0.8, maxMomentum: 0.9,
    };
    const {stepSizeUp, stepSizeDown, mode, gamma, scaleFn, scaleMode, cycleMomentum, baseMomentum, maxMomentum} = optionsOf('CyclicLR', known, given);
    const length = stepSizeUp + (stepSizeDown ?? stepSizeUp);
    const scale = (cycle: number, epoch: number): number =>
      scaleFn ? scaleFn(scaleMode === 'cycle' ? cycle : epoch) : mode === 'triangular' ? 1 : mode === 'triangular2' ? 2 ** (1 - cycle) : gamma ** epoch;
    const height = (epoch: number): number => {
      const cycle = Math.floor(1 + epoch / length);
      const x = 1 + epoch / length - cycle;
      const share = stepSizeUp / length;
      return scale(cycle, epoch) * (x <= share ? x / share : (x - 1) / (share - 1));
    };
    for (const group of ratesOf(optimizer).groups) group.initialLr = group.lr = baseLr;
    super('CyclicLR', optimizer, (epoch) => (baseLr + (maxLr - baseLr) * height(epoch)) / baseLr, cycleMomentum, (epoch) => maxMomentum - (maxMomentum - baseMomentum) * height(epoch));
  }
}

/** One schedule after the other, from each milestone on the next. */
export class SequentialLR {
  readonly #schedules: readonly LRScheduler[];
  readonly #milestones: readonly number[];
  epoch = 0;

  constructor(_: AnyOptimizer, schedules: readonly LRScheduler[], milestones: readonly number[]) {
    if (schedules.length !== milestones.length + 1) throw wrong(`SequentialLR: ${schedules.length} schedules with ${milestones.length} milestones; one less is expected`);
    this.#schedules = schedules;
    this.#milestones = milestones;
    schedules.forEach((each) => (each.epoch = 0));
    schedules[0]?.seek(0);
  }

  step(): void {
    this.epoch += 1;
    const at = this.#milestones.filter((each) => each <= this.epoch).length;
    if (this.#milestones[at - 1] === this.epoch) this.#schedules[at]?.seek(0);
    else this.#schedules[at]?.step();
  }

  getLastLr(): number[] {
    return this.#schedules[0]?.getLastLr() ?? [];
  }
}

/** Several schedules of one optimizer, whose factors multiply. */
export class ChainedScheduler {
  readonly #schedules: readonly LRScheduler[];

  constructor(schedules: readonly LRScheduler[]) {
    if (schedules.length === 0) throw wrong('ChainedScheduler: there are no schedules');
    this.#schedules = schedules;
  }

  step(): void {
    this.#schedules.forEach((each) => each.step());
  }

  getLastLr(): number[] {
    return this.#schedules[0]?.getLastLr() ?? [];
  }
}
