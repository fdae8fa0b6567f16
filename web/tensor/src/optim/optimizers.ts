/** Optimizers with PyTorch's arithmetic. A step is recorded; it runs with whatever is read next, or when the next step begins. */
import {flushOlder, stepped} from '../execution.ts';
import type {Recorded} from '../recording.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import {Formula} from './formula.ts';

export interface OptimizerOptions {
  /** Learning rate. */
  readonly lr?: number | undefined;
  /** Weight decay: this times the parameter is added to its gradient (AdamW: taken off the parameter). */
  readonly weightDecay?: number | undefined;
}

export type ParameterGroup<Options> = Options & {readonly params: Iterable<Tensor>};

/** Parameters that share options; `lr` and the others may be changed between steps. */
export type Group<Options> = {-readonly [Key in keyof Options]-?: Exclude<Options[Key], undefined>} & {readonly params: Tensor[]; initialLr?: number};

/** What an optimizer keeps of a parameter, as tensors in its shape. */
type State = Readonly<Record<string, Tensor>>;

export abstract class Optimizer<Options extends OptimizerOptions = OptimizerOptions> {
  readonly groups: Group<Options>[];
  readonly #states = new Map<Tensor, {state: State; steps: number}>();

  constructor(params: Iterable<Tensor> | Iterable<ParameterGroup<Options>>, defaults: Options, options: Options) {
    const given = [...params] as (Tensor | ParameterGroup<Options>)[];
    const groups = given[0] instanceof Tensor || given.length === 0 ? [{params: given as Tensor[]}] : (given as ParameterGroup<Options>[]);
    const named = (all: object): object => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    this.groups = groups.map((group) => ({...defaults, ...named(options), ...named(group), params: [...group.params]}) as Group<Options>);
    const all = this.groups.flatMap((group) => group.params);
    if (all.length === 0) throw wrong('optimizer: there are no parameters');
    if (new Set(all).size !== all.length) throw wrong('optimizer: a parameter is given twice');
    for (const parameter of all) {
      if (!parameter.isLeaf) throw wrong('optimizer: a parameter was computed; it must be a leaf');
    }
    for (const {lr} of this.groups) if (!(Number(lr) >= 0)) throw wrong(`optimizer: a learning rate of ${String(lr)}`);
  }

  /** The names of what it keeps of a parameter. */
  protected abstract states(group: Group<Options>): readonly string[];

  /** Records the update of one parameter; `steps` counts from 1. */
  protected abstract update(f: Formula, parameter: Tensor, grad: Recorded, state: State, group: Group<Options>, steps: number, fed: Fed): void;

  /** Gives each parameter that has a gradient its next value. */
  step(): void {
    flushOlder();
    for (const group of this.groups) {
      // A formula for each type and device: numbers that are fed are made once for all parameters.
      const formulas = new Map<string, {f: Formula; fed: Fed}>();
      for (const parameter of group.params) {
        const grad = parameter.grad;
        if (!grad) continue;
        const kind = `${parameter.dtype} ${parameter.device}`;
        let its = formulas.get(kind);
        if (!its) {
          const f = new Formula(parameter);
          formulas.set(kind, (its = {f, fed: new Fed(f)}));
        }
        const known = this.#stateOf(parameter, group);
        known.steps += 1;
        this.update(its.f, parameter, grad.value.recorded, known.state, group, known.steps, its.fed);
      }
      for (const {f} of formulas.values()) f.end();
    }
    stepped();
  }

  #stateOf(parameter: Tensor, group: Group<Options>): {state: State; steps: number} {
    let known = this.#states.get(parameter);
    if (!known) {
      const fresh = this.states(group).map((name) => [name, Tensor.zerosLike(parameter).keep()] as const);
      this.#states.set(parameter, (known = {state: Object.fromEntries(fresh), steps: 0}));
    }
    return known;
  }

  zeroGrad(): void {
    for (const {params} of this.groups) for (const parameter of params) parameter.grad = null;
  }

  /** TensorJS's name. */
  zeroGrads(): void {
    this.zeroGrad();
  }

  /** What it keeps, by the place of the parameter: '0.expAvg', ...; and how many steps each has seen. */
  stateDict(): {tensors: Record<string, Tensor>; steps: number[]} {
    const all = this.groups.flatMap(({params}) => params);
    const tensors = all.flatMap((parameter, at) =>
      Object.entries(this.#states.get(parameter)?.state ?? {}).map(([name, tensor]) => [`${at}.${name}`, tensor.detach()] as const));
    return {tensors: Object.fromEntries(tensors), steps: all.map((parameter) => this.#states.get(parameter)?.steps ?? 0)};
  }

  /** Throws 'input' where names or shapes are not this optimizer's. */
  loadStateDict({tensors, steps}: {readonly tensors: Readonly<Record<string, Tensor>>; readonly steps: readonly number[]}): void {
    const all = this.groups.flatMap((group) => group.params.map((parameter) => ({group, parameter})));
    if (steps.length !== all.length) throw wrong(`loadStateDict: the state is of ${steps.length} parameters, there are ${all.length}`);
    const known = all.flatMap(({group}, at) => (steps[at] ? this.states(group).map((name) => `${at}.${name}`) : []));
    const missing = known.find((name) => !Object.hasOwn(tensors, name));
    if (missing !== undefined) throw wrong(`loadStateDict: the state lacks ${missing}`);
    all.forEach(({group, parameter}, at) => {
      if (!steps[at]) return;
      const own = this.#stateOf(parameter, group);
      own.steps = steps[at] ?? 0;
      for (const name of this.states(group)) own.state[name]?.assign((tensors[`${at}.${name}`] as Tensor).detach().to(parameter.device));
    });
  }

  /** Lets go of what it keeps; the parameters stay. */
  dispose(): void {
    for (const {state} of this.#states.values()) Object.values(state).forEach((tensor) => tensor.dispose());
    this.#states.clear();
  }
}

/** Numbers of a step that are fed, each once under its name: equal numbers of two names stay two, so that the program is the same. */
export class Fed {
  readonly #f: Formula;
  readonly #made = new Map<string, Recorded>();
  constructor(f: Formula) {
    this.#f = f;
  }
  of(name: string, value: number): Recorded {
    const key = `${name} ${value}`;
    const made = this.#made.get(key) ?? this.#f.fed(value);
    this.#made.set(key, made);
    return made;
  }
}

export interface SGDOptions extends OptimizerOptions {
  readonly momentum?: number | undefined;
  readonly dampening?: number | undefined;
  readonly nesterov?: boolean | undefined;
}

export class SGD extends Optimizer<SGDOptions> {
  constructor(params: Iterable<Tensor> | Iterable<ParameterGroup<SGDOptions>>, options: SGDOptions | number = {}) {
    const given = typeof options === 'number' ? {lr: options} : options;
    super(params, {lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false}, given);
    for (const {nesterov, momentum, dampening} of this.groups) {
      if (nesterov && (momentum <= 0 || dampening !== 0)) throw wrong('SGD: Nesterov needs momentum and no dampening');
    }
  }

  protected states({momentum}: Group<SGDOptions>): string[] {
    return momentum === 0 ? [] : ['momentumBuffer'];
  }

  protected update(f: Formula, p: Tensor, grad: Recorded, {momentumBuffer}: State, group: Group<SGDOptions>, steps: number, fed: Fed): void {
    const {lr, momentum, dampening, nesterov, weightDecay} = group;
    const value = p.value.recorded;
    let g = decayed(f, grad, value, weightDecay);
    if (momentumBuffer) {
      // The first gradient comes in undamped.
      const fresh = dampening === 0 ? g : f.mul(g, fed.of('fresh', steps === 1 ? 1 : 1 - dampening));
      const moving = f.add(f.mul(momentumBuffer.value.recorded, momentum), fresh);
      g = nesterov ? f.add(g, f.mul(moving, momentum)) : moving;
      f.assign(momentumBuffer, moving);
    }
    f.assign(p, f.sub(value, f.mul(g, fed.of('lr', lr))));
  }
}

/** The gradient with the parameter's own part. */
const decayed = (f: Formula, grad: Recorded, value: Recorded, weightDecay: number): Recorded =>
  weightDecay === 0 ? grad : f.add(grad, f.mul(value, weightDecay));

export interface AdamOptions extends OptimizerOptions {
  readonly betas?: readonly [number, number] | undefined;
  readonly eps?: number | undefined;
  readonly amsgrad?: boolean | undefined;
}

export class Adam extends Optimizer<AdamOptions> {
  /** Whether decay goes by the gradient. */
  protected readonly coupled: boolean = true;

  /** With TensorJS's arguments too: lr, beta1, beta2, eps. */
  constructor(
    params: Iterable<Tensor> | Iterable<ParameterGroup<AdamOptions>>, options: AdamOptions | number = {},
    beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0,
  ) {
    const given = typeof options === 'number' ? {lr: options, betas: [beta1, beta2] as const, eps} : options;
    super(params, {lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay, amsgrad: false}, given);
  }

  protected states({amsgrad}: Group<AdamOptions>): string[] {
    return ['expAvg', 'expAvgSq', ...(amsgrad ? ['maxExpAvgSq'] : [])];
  }

  protected update(f: Formula, p: Tensor, grad: Recorded, state: State, group: Group<AdamOptions>, steps: number, fed: Fed): void {
    const {lr, betas: [beta1, beta2], eps, weightDecay} = group;
    const {expAvg, expAvgSq, maxExpAvgSq} = state as {expAvg: Tensor; expAvgSq: Tensor; maxExpAvgSq?: Tensor};
    let value = p.value.recorded;
    const g = this.coupled ? decayed(f, grad, value, weightDecay) : grad;
    if (!this.coupled && weightDecay !== 0) value = f.mul(value, fed.of('decay', 1 - lr * weightDecay));
    const mean = f.mix(expAvg.value.recorded, beta1, g, 1 - beta1);
    const square = f.add(f.mul(expAvgSq.value.recorded, beta2), f.mul(f.mul(g, g), 1 - beta2));
    let largest = square;
    if (maxExpAvgSq) f.assign(maxExpAvgSq, (largest = f.node('Max', maxExpAvgSq.value.recorded, square)));
    const root = f.mul(f.sqrt(largest), fed.of('root', 1 / Math.sqrt(1 - beta2 ** steps)));
    const step = f.mul(f.div(mean, f.add(root, eps)), fed.of('size', lr / (1 - beta1 ** steps)));
    f.assign(expAvg, mean);
    f.assign(expAvgSq, square);
    f.assign(p, f.sub(value, step));
  }
}

/** Decay apart from the gradient (Loshchilov and Hutter). */
export class AdamW extends Adam {
  protected override readonly coupled = false;
  constructor(params: Iterable<Tensor> | Iterable<ParameterGroup<AdamOptions>>, options: AdamOptions = {}) {
    super(params, {weightDecay: 0.01, ...options});
  }
}

export interface RMSpropOptions extends OptimizerOptions {
  readonly alpha?: number | undefined;
  readonly eps?: number | undefined;
  readonly momentum?: number | undefined;
  readonly centered?: boolean | undefined;
}

export class RMSprop extends Optimizer<RMSpropOptions> {
  constructor(params: Iterable<Tensor> | Iterable<ParameterGroup<RMSpropOptions>>, options: RMSpropOptions = {}) {
    super(params, {lr: 1e-2, alpha: 0.99, eps: 1e-8, weightDecay: 0, momentum: 0, centered: false}, options);
  }

  protected states({centered, momentum}: Group<RMSpropOptions>): string[] {
    return ['squareAvg', ...(centered ? ['gradAvg'] : []), ...(momentum > 0 ? ['momentumBuffer'] : [])];
  }

  protected update(f: Formula, p: Tensor, grad: Recorded, state: State, group: Group<RMSpropOptions>, _steps: number, fed: Fed): void {
    const {lr, alpha, eps, momentum, weightDecay} = group;
    const {squareAvg, gradAvg, momentumBuffer} = state as {squareAvg: Tensor; gradAvg?: Tensor; momentumBuffer?: Tensor};
    const value = p.value.recorded;
    const g = decayed(f, grad, value, weightDecay);
    const square = f.mix(squareAvg.value.recorded, alpha, f.mul(g, g), 1 - alpha);
    let spread = square;
    if (gradAvg) {
      const mean = f.mix(gradAvg.value.recorded, alpha, g, 1 - alpha);
      spread = f.sub(square, f.mul(mean, mean));
      f.assign(gradAvg, mean);
    }
    let step = f.div(g, f.add(f.sqrt(spread), eps));
    f.assign(squareAvg, square);
    if (momentumBuffer) {
      step = f.add(f.mul(momentumBuffer.value.recorded, momentum), step);
      f.assign(momentumBuffer, step);
    }
    f.assign(p, f.sub(value, f.mul(step, fed.of('lr', lr))));
  }
}

export interface AdagradOptions extends OptimizerOptions {
  readonly lrDecay?: number | undefined;
  readonly eps?: number | undefined;
}

export class Adagrad extends Optimizer<AdagradOptions> {
  constructor(params: Iterable<Tensor> | Iterable<ParameterGroup<AdagradOptions>>, options: AdagradOptions = {}) {
    super(params, {lr: 1e-2, lrDecay: 0, weightDecay: 0, eps: 1e-10}, options);
  }

  protected states(): string[] {
    return ['sum'];
  }

  protected update(f: Formula, p: Tensor, grad: Recorded, state: State, group: Group<AdagradOptions>, steps: number, fed: Fed): void {
    const {lr, lrDecay, eps, weightDecay} = group;
    const {sum} = state as {sum: Tensor};
    const value = p.value.recorded;
    const g = decayed(f, grad, value, weightDecay);
    const total = f.add(sum.value.recorded, f.mul(g, g));
    const step = f.div(g, f.add(f.sqrt(total), eps));
    f.assign(sum, total);
    f.assign(p, f.sub(value, f.mul(step, fed.of('lr', lr / (1 + (steps - 1) * lrDecay)))));
  }
}
