/** Optimizers with PyTorch's arithmetic. A step is recorded; it runs with whatever is read next, or when the next step begins. */
import {arrayOf} from '../../../runtime/src/values/tensor.ts';
import {uploaded} from '../core.ts';
import {flushOlder, stepped} from '../execution.ts';
import {type Recorded, Value} from '../recording.ts';
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import {type Formula, Replay} from './formula.ts';

export interface OptimizerOptions {
  /** Learning rate. */
  readonly lr?: number | undefined;
  /** Weight decay: this times the parameter is added to its gradient (AdamW: taken off the parameter). */
  readonly weightDecay?: number | undefined;
}

export type ParameterGroup<Options> = Options & {readonly params: Iterable<Tensor>};

/** Parameters that share options; `lr` and the others may be changed between steps. */
export type Group<Options> = {-readonly [Key in keyof Options]-?: Exclude<Options[Key], undefined>} & {
  readonly params: Tensor[];
  initialLr?: number;
  /** A schedule changes the momentum, or the first beta, which are fed. */
  cyclesMomentum?: boolean;
};

/** What an optimizer keeps of a parameter, as tensors in its shape. */
type State = Readonly<Record<string, Tensor>>;

/** The same in a formula. */
type Terms = Readonly<Record<string, Recorded>>;

interface Known {
  readonly state: State;
  steps: number;
}

/** Parameters that a step treats alike. */
interface Members {
  readonly parameters: Tensor[];
  readonly known: Known[];
  /** Numbers them in their group. */
  key: string;
}

/** What of a group is fed, or no option. */
const FED = {lr: undefined, initialLr: undefined, params: undefined};
const CYCLED = {...FED, momentum: undefined, betas: undefined};

export abstract class Optimizer<Options extends OptimizerOptions = OptimizerOptions> {
  readonly groups: Group<Options>[];
  readonly #states = new Map<Tensor, Known>();
  readonly #replays = new Map<string, Replay>();

  /** `defaults`: all options, in PyTorch's order. Those of a group come after those of the call. */
  constructor(params: Iterable<Tensor> | Iterable<ParameterGroup<Options>>, defaults: Options, options: readonly unknown[]) {
    const given = [...params] as (Tensor | ParameterGroup<Options>)[];
    const groups = given[0] instanceof Tensor || given.length === 0 ? [{params: given as Tensor[]}] : (given as ParameterGroup<Options>[]);
    const {name} = new.target;
    const usual = optionsOf(name, defaults, options);
    this.groups = groups.map(({params: mine, ...own}) => ({...optionsOf(name, usual, [own]), params: [...mine]}) as Group<Options>);
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

  /** The shape of what it keeps of a parameter under a name. */
  protected shapeOf(_name: string, shape: readonly number[]): readonly number[] {
    return shape;
  }

  /** Numbers that are other ones in each step, the `steps`-th (from 1): they are fed, so that the program stays the same. */
  protected abstract numbers(group: Group<Options>, steps: number): Readonly<Record<string, number>>;

  /** Whether weight decay goes by the gradient, of which update() gets the sum. */
  protected readonly coupled: boolean = true;
  protected isCoupled(_group: Group<Options>): boolean {
    return this.coupled;
  }

  /** The update of one parameter, from its gradient: what is kept of it, by name, and `value`. */
  protected abstract update(f: Formula, value: Recorded, grad: Recorded, state: Terms, group: Group<Options>, numbers: Terms): Terms;

  /** Gives each parameter that has a gradient its next value. */
  step(): void {
    flushOlder();
    for (const group of this.groups) {
      const alike: Members[] = [];
      group.params.forEach((parameter, at) => {
        if (!parameter.grad) return;
        const known = this.#stateOf(parameter, group);
        known.steps += 1;
        let members = alike.find(({parameters: [first], known: [its]}) =>
          first?.dtype === parameter.dtype && first.device === parameter.device && its?.steps === known.steps);
        if (!members) alike.push((members = {parameters: [], known: [], key: ''}));
        members.parameters.push(parameter);
        members.known.push(known);
        members.key += `${at},`;
      });
      for (const members of alike) this.#update(group, members);
    }
    stepped();
  }

  #update(group: Group<Options>, {parameters, known, key}: Members): void {
    const [{dtype, device}] = parameters as [Tensor];
    const names = this.states(group);
    const numbers = this.numbers(group, known[0]?.steps ?? 1);
    const inputs: Recorded[] = [];
    parameters.forEach((parameter, at) => {
      inputs.push(parameter.value.recorded, (parameter.grad as Tensor).value.recorded);
      for (const name of names) inputs.push((known[at] as Known).state[name]?.value.recorded as Recorded);
    });
    const fed = Object.values(numbers).map((number) => {
      const data = arrayOf(dtype, 1);
      data[0] = number;
      const value = uploaded(dtype, [], data, device);
      inputs.push(value.recorded);
      return value;
    });
    const made = this.#replay(group, numbers, names, parameters, key).apply(inputs);
    let next = 0;
    parameters.forEach((parameter, at) => {
      for (const tensor of [...names.map((name) => known[at]?.state[name]), parameter]) tensor?.assign(new Value(made[next++] as Recorded, device, false));
    });
    for (const value of fed) value.release();
  }

  /** The update of all these parameters: recorded when they, or options other than the rate, are new. */
  #replay(group: Group<Options>, fed: object, names: readonly string[], parameters: readonly Tensor[], members: string): Replay {
    const [{dtype, device}] = parameters as [Tensor];
    let key = `${this.groups.indexOf(group)} ${dtype} ${device} ${members}`;
    for (const name in group) {
      const value: unknown = name in (group.cyclesMomentum ? CYCLED : FED) ? undefined : group[name as keyof Options];
      if (value !== undefined) key += ` ${name} ${typeof value === 'number' ? value : JSON.stringify(value)}`;
    }
    let replay = this.#replays.get(key);
    if (replay) return replay;
    const numbers = Object.keys(fed);
    const count = 2 + names.length;
    const shapes = parameters.flatMap(({shape}) => [shape, shape, ...names.map((name) => this.shapeOf(name, shape))]);
    replay = new Replay(dtype, [...shapes, ...numbers.map(() => [])], device, (f, inputs) => {
      const fed = Object.fromEntries(numbers.map((name, at) => [name, inputs[shapes.length + at] as Recorded]));
      return parameters.flatMap((_, at) => {
        const [value, grad, ...kept] = inputs.slice(at * count, (at + 1) * count) as [Recorded, Recorded, ...Recorded[]];
        const g = this.isCoupled(group) && group.weightDecay !== 0 ? f.add(grad, f.mul(value, group.weightDecay)) : grad;
        const made = this.update(f, value, g, Object.fromEntries(kept.map((each, place) => [names[place] ?? '', each])), group, fed);
        return [...names, 'value'].map((name) => made[name] as Recorded);
      });
    });
    this.#replays.set(key, replay);
    return replay;
  }

  #stateOf(parameter: Tensor, group: Group<Options>): Known {
    let known = this.#states.get(parameter);
    if (!known) {
      const {dtype, device, shape} = parameter;
      const fresh = this.states(group).map((name) => [name, Tensor.zeros(this.shapeOf(name, shape), {dtype, device}).keep()] as const);
      this.#states.set(parameter, (known = {state: Object.fromEntries(fresh), steps: 0}));
    }
    return known;
  }

  /** One more group; options that it does not have are the optimizer's. */
  addParamGroup({params, ...own}: ParameterGroup<Options>): void {
    const [first] = this.groups;
    if (!first) return;
    const usual = Object.fromEntries(Object.entries(first).filter(([name]) => !['params', 'initialLr', 'cyclesMomentum'].includes(name))) as unknown as Options;
    this.groups.push({...optionsOf(this.constructor.name, usual, [own]), params: [...params]} as Group<Options>);
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
    this.#replays.forEach((replay) => replay.dispose());
    this.#replays.clear();
  }
}

/** What optimizers take: parameters, or groups of them with options of their own. */
export type Params<Options> = Iterable<Tensor> | Iterable<ParameterGroup<Options>>;

export interface SGDOptions extends OptimizerOptions {
  readonly momentum?: number | undefined;
  readonly dampening?: number | undefined;
  readonly nesterov?: boolean | undefined;
}

export class SGD extends Optimizer<SGDOptions> {
  constructor(params: Params<SGDOptions>, ...given: Given<SGDOptions, [lr?: number, momentum?: number, dampening?: number, weightDecay?: number, nesterov?: boolean]>) {
    super(params, {lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false}, given);
    for (const {nesterov, momentum, dampening} of this.groups) {
      if (nesterov && (momentum <= 0 || dampening !== 0)) throw wrong('SGD: Nesterov needs momentum and no dampening');
    }
  }

  protected states({momentum}: Group<SGDOptions>): string[] {
    return momentum === 0 ? [] : ['momentumBuffer'];
  }

  protected numbers({lr, dampening, momentum, cyclesMomentum}: Group<SGDOptions>, steps: number): Record<string, number> {
    // The first gradient comes in undamped.
    return {lr, ...(momentum !== 0 && dampening !== 0 ? {fresh: steps === 1 ? 1 : 1 - dampening} : {}), ...(cyclesMomentum ? {kept: momentum} : {})};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, state: Terms, {momentum, nesterov}: Group<SGDOptions>, {lr, fresh, kept}: Terms): Terms {
    let {momentumBuffer} = state;
    const factor = kept ?? momentum;
    if (momentumBuffer) {
      momentumBuffer = f.add(f.mul(momentumBuffer, factor), fresh ? f.mul(g, fresh) : g);
      g = nesterov ? f.add(g, f.mul(momentumBuffer, factor)) : momentumBuffer;
    }
    return {value: f.sub(value, f.mul(g, lr as Recorded)), momentumBuffer: momentumBuffer as Recorded};
  }
}

export interface AdamOptions extends OptimizerOptions {
  readonly betas?: readonly [number, number] | undefined;
  readonly eps?: number | undefined;
  readonly amsgrad?: boolean | undefined;
}

/** PyTorch's order, and its defaults. */
const ADAM = {lr: 1e-3, betas: [0.9, 0.999] as readonly [number, number], eps: 1e-8, weightDecay: 0, amsgrad: false};
type AdamPlaces = [lr?: number, betas?: readonly [number, number], eps?: number, weightDecay?: number, amsgrad?: boolean];
type TensorJSPlaces = [lr: number, beta1: number, beta2?: number, eps?: number];

function betasOf(given: readonly unknown[]): readonly unknown[] {
  const [lr, beta1, beta2 = ADAM.betas[1], ...rest] = given;
  return typeof beta1 === 'number' ? [lr, [beta1, beta2], ...rest] : given;
}

export class Adam extends Optimizer<AdamOptions> {
  /** With TensorJS's arguments too: lr, beta1, beta2, eps. */
  constructor(params: Params<AdamOptions>, ...given: Given<AdamOptions, AdamPlaces> | TensorJSPlaces) {
    super(params, ADAM, betasOf(given));
  }

  protected states({amsgrad}: Group<AdamOptions>): string[] {
    return ['expAvg', 'expAvgSq', ...(amsgrad ? ['maxExpAvgSq'] : [])];
  }

  protected numbers({lr, betas: [beta1, beta2], weightDecay, cyclesMomentum}: Group<AdamOptions>, steps: number): Record<string, number> {
    const decay = this.coupled || weightDecay === 0 ? {} : {decay: 1 - lr * weightDecay};
    return {root: 1 / Math.sqrt(1 - beta2 ** steps), size: lr / (1 - beta1 ** steps), ...decay, ...(cyclesMomentum ? {kept: beta1, fresh: 1 - beta1} : {})};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, state: Terms, {betas: [beta1, beta2], eps}: Group<AdamOptions>, numbers: Terms): Terms {
    const {root, size, decay, kept, fresh} = numbers as {root: Recorded; size: Recorded; decay?: Recorded; kept?: Recorded; fresh?: Recorded};
    const before = state as {expAvg: Recorded; expAvgSq: Recorded; maxExpAvgSq?: Recorded};
    const expAvg = f.mix(before.expAvg, kept ?? beta1, g, fresh ?? 1 - beta1);
    const expAvgSq = f.add(f.mul(before.expAvgSq, beta2), f.mul(f.mul(g, g), 1 - beta2));
    const largest = before.maxExpAvgSq ? f.node('Max', before.maxExpAvgSq, expAvgSq) : expAvgSq;
    const step = f.mul(f.div(expAvg, f.add(f.mul(f.sqrt(largest), root), eps)), size);
    return {value: f.sub(decay ? f.mul(value, decay) : value, step), expAvg, expAvgSq, maxExpAvgSq: largest};
  }
}

/** Decay apart from the gradient (Loshchilov and Hutter). */
export class AdamW extends Adam {
  protected override readonly coupled = false;
  constructor(params: Params<AdamOptions>, ...given: Given<AdamOptions, AdamPlaces>) {
    super(params, optionsOf('AdamW', {...ADAM, weightDecay: 0.01}, given));
  }
}

export interface RMSpropOptions extends OptimizerOptions {
  readonly alpha?: number | undefined;
  readonly eps?: number | undefined;
  readonly momentum?: number | undefined;
  readonly centered?: boolean | undefined;
}

export class RMSprop extends Optimizer<RMSpropOptions> {
  constructor(params: Params<RMSpropOptions>, ...given: Given<RMSpropOptions, [lr?: number, alpha?: number, eps?: number, weightDecay?: number, momentum?: number, centered?: boolean]>) {
    super(params, {lr: 1e-2, alpha: 0.99, eps: 1e-8, weightDecay: 0, momentum: 0, centered: false}, given);
  }

  protected states({centered, momentum}: Group<RMSpropOptions>): string[] {
    return ['squareAvg', ...(centered ? ['gradAvg'] : []), ...(momentum > 0 ? ['momentumBuffer'] : [])];
  }

  protected numbers({lr}: Group<RMSpropOptions>): Record<string, number> {
    return {lr};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {alpha, eps, momentum}: Group<RMSpropOptions>, {lr}: Terms): Terms {
    const squareAvg = f.mix(before['squareAvg'] as Recorded, alpha, f.mul(g, g), 1 - alpha);
    const state: Record<string, Recorded> = {squareAvg};
    let spread = squareAvg;
    if (before['gradAvg']) {
      const mean = (state['gradAvg'] = f.mix(before['gradAvg'], alpha, g, 1 - alpha));
      spread = f.sub(squareAvg, f.mul(mean, mean));
    }
    let step = f.div(g, f.add(f.sqrt(spread), eps));
    if (before['momentumBuffer']) step = state['momentumBuffer'] = f.add(f.mul(before['momentumBuffer'], momentum), step);
    return {value: f.sub(value, f.mul(step, lr as Recorded)), ...state};
  }
}

export interface AdagradOptions extends OptimizerOptions {
  readonly lrDecay?: number | undefined;
  readonly eps?: number | undefined;
}

export class Adagrad extends Optimizer<AdagradOptions> {
  constructor(params: Params<AdagradOptions>, ...given: Given<AdagradOptions, [lr?: number, lrDecay?: number, weightDecay?: number]>) {
    super(params, {lr: 1e-2, lrDecay: 0, weightDecay: 0, eps: 1e-10}, given);
  }

  protected states(): string[] {
    return ['sum'];
  }

  protected numbers({lr, lrDecay}: Group<AdagradOptions>, steps: number): Record<string, number> {
    return {lr: lr / (1 + (steps - 1) * lrDecay)};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {eps}: Group<AdagradOptions>, {lr}: Terms): Terms {
    const sum = f.add(before['sum'] as Recorded, f.mul(g, g));
    return {value: f.sub(value, f.mul(f.div(g, f.add(f.sqrt(sum), eps)), lr as Recorded)), sum};
  }
}
