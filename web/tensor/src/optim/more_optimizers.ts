/** More optimizers with PyTorch's arithmetic: variants of Adam, and others that keep a running measure of gradients. */
import {integers, type Recorded} from '../recording.ts';
import type {Given} from '../options.ts';
import {wrong} from '../shape.ts';
import type {Formula} from './formula.ts';
import {Adam, type AdamOptions, type Group, Optimizer, type OptimizerOptions, type Params} from './optimizers.ts';

type Terms = Readonly<Record<string, Recorded>>;
type Numbers = Readonly<Record<string, number>>;

interface Betas extends OptimizerOptions {
  readonly betas?: readonly [number, number] | undefined;
  readonly eps?: number | undefined;
}

export interface NAdamOptions extends Betas {
  readonly momentumDecay?: number | undefined;
  readonly decoupledWeightDecay?: boolean | undefined;
}

const momentumAt = (beta: number, step: number, decay: number): number => beta * (1 - 0.5 * 0.96 ** (step * decay));

/** Adam with Nesterov's momentum (Dozat). */
export class NAdam extends Optimizer<NAdamOptions> {
  constructor(params: Params<NAdamOptions>, ...given: Given<NAdamOptions, [lr?: number, betas?: readonly [number, number], eps?: number, weightDecay?: number, momentumDecay?: number, decoupledWeightDecay?: boolean]>) {
    super(params, {lr: 2e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, momentumDecay: 4e-3, decoupledWeightDecay: false}, given);
  }

  protected override isCoupled({decoupledWeightDecay}: Group<NAdamOptions>): boolean {
    return !decoupledWeightDecay;
  }

  protected states(): string[] {
    return ['expAvg', 'expAvgSq'];
  }

  protected numbers({lr, betas: [beta1, beta2], weightDecay, momentumDecay, decoupledWeightDecay}: Group<NAdamOptions>, steps: number): Numbers {
    const [mu, next] = [momentumAt(beta1, steps, momentumDecay), momentumAt(beta1, steps + 1, momentumDecay)];
    let product = 1;
    for (let step = 1; step <= steps; ++step) product *= momentumAt(beta1, step, momentumDecay);
    const decay = decoupledWeightDecay && weightDecay !== 0 ? {decay: 1 - lr * weightDecay} : {};
    return {root: 1 / Math.sqrt(1 - beta2 ** steps), own: (lr * (1 - mu)) / (1 - product), mean: (lr * next) / (1 - product * next), ...decay};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {betas: [beta1, beta2], eps}: Group<NAdamOptions>, {root, own, mean, decay}: Terms): Terms {
    const expAvg = f.mix(before['expAvg'] as Recorded, beta1, g, 1 - beta1);
    const expAvgSq = f.mix(before['expAvgSq'] as Recorded, beta2, f.mul(g, g), 1 - beta2);
    const spread = f.add(f.mul(f.sqrt(expAvgSq), root as Recorded), eps);
    const step = f.div(f.mix(g, own as Recorded, expAvg, mean as Recorded), spread);
    return {value: f.sub(decay ? f.mul(value, decay) : value, step), expAvg, expAvgSq};
  }
}

export interface RAdamOptions extends Betas {
  readonly decoupledWeightDecay?: boolean | undefined;
}

/** Adam whose rate is rectified while its variance is not known (Liu and others). */
export class RAdam extends Optimizer<RAdamOptions> {
  constructor(params: Params<RAdamOptions>, ...given: Given<RAdamOptions, [lr?: number, betas?: readonly [number, number], eps?: number, weightDecay?: number, decoupledWeightDecay?: boolean]>) {
    super(params, {lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, decoupledWeightDecay: false}, given);
  }

  protected override isCoupled({decoupledWeightDecay}: Group<RAdamOptions>): boolean {
    return !decoupledWeightDecay;
  }

  protected states(): string[] {
    return ['expAvg', 'expAvgSq'];
  }

  protected numbers({lr, betas: [beta1, beta2], weightDecay, decoupledWeightDecay}: Group<RAdamOptions>, steps: number): Numbers {
    const most = 2 / (1 - beta2) - 1;
    const rho = most - (2 * steps * beta2 ** steps) / (1 - beta2 ** steps);
    const size = lr / (1 - beta1 ** steps);
    const known = rho > 5;
    const rect = known ? Math.sqrt(((rho - 4) * (rho - 2) * most) / ((most - 4) * (most - 2) * rho)) : 0;
    const decay = decoupledWeightDecay && weightDecay !== 0 ? {decay: 1 - lr * weightDecay} : {};
    // One of the two is 0, so that all steps are one program.
    return {plain: known ? 0 : size, adaptive: size * rect * Math.sqrt(1 - beta2 ** steps), ...decay};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {betas: [beta1, beta2], eps}: Group<RAdamOptions>, {plain, adaptive, decay}: Terms): Terms {
    const expAvg = f.mix(before['expAvg'] as Recorded, beta1, g, 1 - beta1);
    const expAvgSq = f.mix(before['expAvgSq'] as Recorded, beta2, f.mul(g, g), 1 - beta2);
    const scaled = f.div(f.mul(expAvg, adaptive as Recorded), f.add(f.sqrt(expAvgSq), eps));
    const step = f.add(f.mul(expAvg, plain as Recorded), scaled);
    return {value: f.sub(decay ? f.mul(value, decay) : value, step), expAvg, expAvgSq};
  }
}

/** Adam with the largest gradient so far (Kingma and Ba). */
export class Adamax extends Optimizer<Betas> {
  constructor(params: Params<Betas>, ...given: Given<Betas, [lr?: number, betas?: readonly [number, number], eps?: number, weightDecay?: number]>) {
    super(params, {lr: 2e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0}, given);
  }

  protected states(): string[] {
    return ['expAvg', 'expInf'];
  }

  protected numbers({lr, betas: [beta1]}: Group<Betas>, steps: number): Numbers {
    return {size: lr / (1 - beta1 ** steps)};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {betas: [beta1, beta2], eps}: Group<Betas>, {size}: Terms): Terms {
    const expAvg = f.mix(before['expAvg'] as Recorded, beta1, g, 1 - beta1);
    const expInf = f.node('Max', f.mul(before['expInf'] as Recorded, beta2), f.add(f.node('Abs', g), eps));
    return {value: f.sub(value, f.div(f.mul(expAvg, size as Recorded), expInf)), expAvg, expInf};
  }
}

export interface AdadeltaOptions extends OptimizerOptions {
  readonly rho?: number | undefined;
  readonly eps?: number | undefined;
}

/** Zeiler: ADADELTA. */
export class Adadelta extends Optimizer<AdadeltaOptions> {
  constructor(params: Params<AdadeltaOptions>, ...given: Given<AdadeltaOptions, [lr?: number, rho?: number, eps?: number, weightDecay?: number]>) {
    super(params, {lr: 1, rho: 0.9, eps: 1e-6, weightDecay: 0}, given);
  }

  protected states(): string[] {
    return ['squareAvg', 'accDelta'];
  }

  protected numbers({lr}: Group<AdadeltaOptions>): Numbers {
    return {lr};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {rho, eps}: Group<AdadeltaOptions>, {lr}: Terms): Terms {
    const squareAvg = f.mix(before['squareAvg'] as Recorded, rho, f.mul(g, g), 1 - rho);
    const delta = f.mul(f.div(f.sqrt(f.add(before['accDelta'] as Recorded, eps)), f.sqrt(f.add(squareAvg, eps))), g);
    const accDelta = f.mix(before['accDelta'] as Recorded, rho, f.mul(delta, delta), 1 - rho);
    return {value: f.sub(value, f.mul(delta, lr as Recorded)), squareAvg, accDelta};
  }
}

export interface ASGDOptions extends OptimizerOptions {
  readonly lambd?: number | undefined;
  readonly alpha?: number | undefined;
  readonly t0?: number | undefined;
}

/** Averaged gradient descent (Polyak and Juditsky): the mean is the state `ax`. */
export class ASGD extends Optimizer<ASGDOptions> {
  constructor(params: Params<ASGDOptions>, ...given: Given<ASGDOptions, [lr?: number, lambd?: number, alpha?: number, t0?: number, weightDecay?: number]>) {
    super(params, {lr: 1e-2, lambd: 1e-4, alpha: 0.75, t0: 1e6, weightDecay: 0}, given);
  }

  protected states(): string[] {
    return ['ax'];
  }

  protected numbers({lr, lambd, alpha, t0}: Group<ASGDOptions>, steps: number): Numbers {
    const eta = steps === 1 ? lr : lr / (1 + lambd * lr * (steps - 1)) ** alpha;
    return {eta, kept: 1 - lambd * eta, mu: 1 / Math.max(1, steps - 1 - t0)};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, _: Group<ASGDOptions>, {eta, kept, mu}: Terms): Terms {
    const next = f.sub(f.mul(value, kept as Recorded), f.mul(g, eta as Recorded));
    const ax = before['ax'] as Recorded;
    return {value: next, ax: f.add(ax, f.mul(f.sub(next, ax), mu as Recorded))};
  }
}

export interface RpropOptions extends OptimizerOptions {
  readonly etas?: readonly [number, number] | undefined;
  readonly stepSizes?: readonly [number, number] | undefined;
}

/** Riedmiller and Braun: each element has its own step, which grows while its gradient keeps its sign. */
export class Rprop extends Optimizer<RpropOptions> {
  constructor(params: Params<RpropOptions>, ...given: Given<RpropOptions, [lr?: number, etas?: readonly [number, number], stepSizes?: readonly [number, number]]>) {
    super(params, {lr: 1e-2, etas: [0.5, 1.2], stepSizes: [1e-6, 50], weightDecay: 0}, given);
  }

  protected states(): string[] {
    return ['prev', 'stepSize'];
  }

  /** At the first step sizes are the rate: the state is 0, to which it is added. */
  protected numbers({lr}: Group<RpropOptions>, steps: number): Numbers {
    return {first: steps === 1 ? lr : 0};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {etas: [less, more], stepSizes: [least, most]}: Group<RpropOptions>, {first}: Terms): Terms {
    const sign = f.node('Sign', f.mul(g, before['prev'] as Recorded));
    const [up, down] = [f.node('Relu', sign), f.node('Relu', f.node('Neg', sign))];
    const factor = f.add(f.add(f.mul(up, more - 1), f.mul(down, less - 1)), 1);
    const size = f.mul(f.add(before['stepSize'] as Recorded, first as Recorded), factor);
    const stepSize = f.node('Min', f.node('Max', size, least), most);
    // Where the sign has changed, this step is left out.
    const kept = f.mul(g, f.add(f.mul(down, -1), 1));
    return {value: f.sub(value, f.mul(f.node('Sign', kept), stepSize)), prev: kept, stepSize};
  }
}

/** Adam that leaves elements alone whose gradient is 0, as those of rows of an embedding that no place named. */
export class SparseAdam extends Adam {
  constructor(params: Params<AdamOptions>, ...given: Given<Betas, [lr?: number, betas?: readonly [number, number], eps?: number]>) {
    super(params, ...(given as Given<AdamOptions, [lr?: number, betas?: readonly [number, number], eps?: number]>));
  }

  protected override update(f: Formula, value: Recorded, g: Recorded, before: Terms, group: Group<AdamOptions>, numbers: Terms): Terms {
    const {value: next, ...state} = super.update(f, value, g, before, group, numbers);
    // 1 where the gradient is not 0.
    const moves = f.node('Abs', f.node('Sign', g));
    const kept = (now: Recorded, then: Recorded): Recorded => f.add(then, f.mul(f.sub(now, then), moves));
    return {value: kept(next as Recorded, value), ...Object.fromEntries(Object.entries(state).map(([name, each]) => [name, before[name] ? kept(each, before[name]) : each]))};
  }
}

export interface AdafactorOptions extends OptimizerOptions {
  readonly beta2Decay?: number | undefined;
  readonly eps?: readonly [number | null, number] | undefined;
  readonly d?: number | undefined;
}

/** Shazeer and Stern: of matrices, means of rows and columns stand for all squares. */
export class Adafactor extends Optimizer<AdafactorOptions> {
  protected override readonly coupled = false;

  constructor(params: Params<AdafactorOptions>, ...given: Given<AdafactorOptions, [lr?: number, beta2Decay?: number, eps?: readonly [number | null, number], d?: number, weightDecay?: number]>) {
    super(params, {lr: 1e-2, beta2Decay: -0.8, eps: [null, 1e-3], d: 1, weightDecay: 0}, given);
  }

  protected states(): string[] {
    return ['rowVar', 'colVar', 'variance'];
  }

  protected override shapeOf(name: string, shape: readonly number[]): readonly number[] {
    const matrix = shape.length > 1;
    if (name === 'variance') return matrix ? [] : shape;
    return matrix ? shape.map((extent, axis) => (axis === shape.length - (name === 'rowVar' ? 1 : 2) ? 1 : extent)) : [];
  }

  protected numbers({lr, beta2Decay, weightDecay}: Group<AdafactorOptions>, steps: number): Numbers {
    return {fresh: steps ** beta2Decay, rho: Math.min(lr, 1 / Math.sqrt(steps)), kept: 1 - lr * weightDecay};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, {eps: [small, least], d, weightDecay}: Group<AdafactorOptions>, fed: Terms): Terms {
    const {rowVar, colVar, variance} = before as {rowVar: Recorded; colVar: Recorded; variance: Recorded};
    const {fresh, rho, kept} = fed as {fresh: Recorded; rho: Recorded; kept: Recorded};
    const tiny = small ?? 2 ** -23;
    const square = f.mul(g, g);
    const rank = value.shape.length;
    const mean = (x: Recorded, ...axes: number[]): Recorded => f.node('ReduceMean', x, ...(axes[0] === undefined ? [] : [integers(axes)]));
    const toward = (then: Recorded, now: Recorded): Recorded => f.add(then, f.mul(f.sub(now, then), fresh));
    let state = {rowVar, colVar, variance};
    let estimate: Recorded;
    if (rank > 1) {
      state = {...state, rowVar: toward(rowVar, mean(square, rank - 1)), colVar: toward(colVar, mean(square, rank - 2))};
      estimate = f.div(f.node('MatMul', state.rowVar, state.colVar), f.node('Max', mean(state.rowVar, rank - 2), tiny));
    } else {
      state = {...state, variance: toward(variance, square)};
      estimate = state.variance;
    }
    const by = f.div(g, f.sqrt(f.node('Max', estimate, tiny * tiny)));
    const root = (x: Recorded): Recorded => f.sqrt(mean(f.mul(x, x), ...Array.from({length: rank}, (_, axis) => axis)));
    const size = f.div(f.mul(f.node('Max', root(value), least), rho), f.node('Max', f.mul(root(by), 1 / d), 1));
    return {value: f.sub(weightDecay === 0 ? value : f.mul(value, kept), f.mul(by, size)), ...state};
  }
}

export interface MuonOptions extends OptimizerOptions {
  readonly momentum?: number | undefined;
  readonly nesterov?: boolean | undefined;
  readonly nsCoefficients?: readonly [number, number, number] | undefined;
  readonly eps?: number | undefined;
  readonly nsSteps?: number | undefined;
  readonly adjustLrFn?: 'original' | 'match_rms_adamw' | undefined;
}

/** Jordan: momentum whose singular values are brought near 1 (Newton and Schulz); of matrices. PyTorch does this in 16 bits. */
export class Muon extends Optimizer<MuonOptions> {
  protected override readonly coupled = false;

  constructor(params: Params<MuonOptions>, ...given: Given<MuonOptions, [lr?: number, weightDecay?: number, momentum?: number, nesterov?: boolean]>) {
    const known: MuonOptions = {
      lr: 1e-3, weightDecay: 0.1, momentum: 0.95, nesterov: true, nsCoefficients: [3.4445, -4.775, 2.0315], eps: 1e-7, nsSteps: 5, adjustLrFn: 'original',
    };
    super(params, known, given);
    for (const {ndim} of this.groups.flatMap((group) => group.params)) if (ndim !== 2) throw wrong(`Muon: a parameter of ${ndim} axes; it is for matrices`);
  }

  protected states(): string[] {
    return ['momentumBuffer'];
  }

  protected numbers({lr, weightDecay}: Group<MuonOptions>): Numbers {
    return {lr, kept: 1 - lr * weightDecay};
  }

  protected update(f: Formula, value: Recorded, g: Recorded, before: Terms, group: Group<MuonOptions>, {lr, kept}: Terms): Terms {
    const {momentum, nesterov, nsCoefficients: [a, b, c], eps, nsSteps, adjustLrFn} = group;
    const momentumBuffer = f.mix(before['momentumBuffer'] as Recorded, momentum, g, 1 - momentum);
    const [rows = 1, columns = 1] = value.shape;
    const turned = (x: Recorded): Recorded => (rows > columns ? f.node('Transpose', x) : x);
    let x = turned(nesterov ? f.mix(g, 1 - momentum, momentumBuffer, momentum) : momentumBuffer);
    x = f.div(x, f.node('Max', f.sqrt(f.node('ReduceSum', f.mul(x, x))), eps));
    for (let step = 0; step < nsSteps; ++step) {
      const gram = f.node('MatMul', x, f.node('Transpose', x));
      x = f.add(f.mul(x, a), f.node('MatMul', f.mix(gram, b, f.node('MatMul', gram, gram), c), x));
    }
    const factor = adjustLrFn === 'match_rms_adamw' ? 0.2 * Math.sqrt(Math.max(rows, columns)) : Math.sqrt(Math.max(1, rows / columns));
    return {value: f.sub(f.mul(value, kept as Recorded), f.mul(turned(x), f.mul(lr as Recorded, factor))), momentumBuffer};
  }
}
