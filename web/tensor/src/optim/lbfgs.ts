/** Limited-memory BFGS (Nocedal and Wright, Numerical Optimization, 7.2 and 3.5), with PyTorch's options and rules for stopping. */
import {synchronize} from '../execution.ts';
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';

export interface LBFGSOptions {
  readonly lr?: number | undefined;
  readonly maxIter?: number | undefined;
  readonly maxEval?: number | undefined;
  readonly toleranceGrad?: number | undefined;
  readonly toleranceChange?: number | undefined;
  readonly historySize?: number | undefined;
  readonly lineSearchFn?: 'strong_wolfe' | null | undefined;
}

type Vector = Float64Array<ArrayBuffer>;
const dot = (a: Vector, b: Vector): number => a.reduce((sum, each, at) => sum + each * (b[at] ?? 0), 0);
const largest = (a: Vector): number => a.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
/** a + factor * b */
const moved = (a: Vector, b: Vector, factor: number): Vector => a.map((each, at) => each + factor * (b[at] ?? 0));

/** A step along the direction: where it is, the loss there, its gradient and the slope along the direction. */
interface Point {
  readonly t: number;
  readonly f: number;
  readonly g: Vector;
  readonly slope: number;
}

/** Where the cubic through two points with their slopes is least, within bounds. */
function cubicMinimum(a: Point, b: Point, low = Math.min(a.t, b.t), high = Math.max(a.t, b.t)): number {
  const d1 = a.slope + b.slope - (3 * (a.f - b.f)) / (a.t - b.t);
  const square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const d2 = Math.sqrt(square);
  const [left, right] = a.t <= b.t ? [a, b] : [b, a];
  const place = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return Math.min(Math.max(place, low), high);
}

/** A step with the strong Wolfe conditions. */
async function lineSearch(start: Point, first: number, size: number, tolerance: number, at: (t: number) => Promise<Point>): Promise<{point: Point; evaluations: number}> {
  const [c1, c2, most] = [1e-4, 0.9, 25];
  const tooHigh = ({t, f}: Point): boolean => f > start.f + c1 * t * start.slope;
  const flat = ({slope}: Point): boolean => Math.abs(slope) <= -c2 * start.slope;
  let [before, now] = [start, await at(first)];
  let [count, rounds] = [1, 0];
  let ends: [Point, Point] | undefined;
  for (; rounds < most; ++rounds) {
    if (tooHigh(now) || (rounds > 1 && now.f >= before.f) || (!flat(now) && now.slope >= 0)) {
      ends = [before, now];
      break;
    }
    if (flat(now)) return {point: now, evaluations: count};
    const next = cubicMinimum(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10);
    [before, now] = [now, await at(next)];
    count += 1;
  }
  ends ??= [start, now];
  let stuck = false;
  let [low, high] = ends[0].f <= ends[1].f ? [0, 1] : [1, 0];
  for (; rounds < most; ++rounds) {
    const [left, right] = [Math.min(ends[0].t, ends[1].t), Math.max(ends[0].t, ends[1].t)];
    if ((right - left) * size < tolerance) break;
    let t = cubicMinimum(...ends);
    const margin = 0.1 * (right - left);
    if (Math.min(right - t, t - left) < margin) {
      if (stuck || t >= right || t <= left) {
        t = Math.abs(t - right) < Math.abs(t - left) ? right - margin : left + margin;
        stuck = false;
      } else stuck = true;
    } else stuck = false;
    const point = await at(t);
    count += 1;
    if (tooHigh(point) || point.f >= (ends[low] as Point).f) {
      ends[high] = point;
      [low, high] = ends[0].f <= ends[1].f ? [0, 1] : [1, 0];
      continue;
    }
    const done = flat(point);
    if (!done && point.slope * ((ends[high] as Point).t - (ends[low] as Point).t) >= 0) ends[high] = ends[low] as Point;
    ends[low] = point;
    if (done) break;
  }
  return {point: ends[low] as Point, evaluations: count};
}

export class LBFGS {
  readonly #params: readonly Tensor[];
  readonly groups: readonly [{lr: number; readonly params: readonly Tensor[]}];
  readonly #options: {maxIter: number; maxEval: number | undefined; toleranceGrad: number; toleranceChange: number; historySize: number; lineSearchFn: string | undefined};
  #history: {readonly y: Vector; readonly s: Vector; readonly ro: number}[] = [];
  #scale = 1;
  #direction: Vector = new Float64Array();
  #length = 0;
  #before: Vector | undefined;

  constructor(params: Iterable<Tensor>, ...given: Given<LBFGSOptions, [lr?: number, maxIter?: number, maxEval?: number, toleranceGrad?: number, toleranceChange?: number, historySize?: number, lineSearchFn?: 'strong_wolfe' | null]>) {
    const known = {lr: 1, maxIter: 20, maxEval: undefined as number | undefined, toleranceGrad: 1e-7, toleranceChange: 1e-9, historySize: 100, lineSearchFn: undefined as string | undefined};
    const {lr, ...options} = optionsOf('LBFGS', known, given);
    this.#params = [...params];
    if (this.#params.length === 0) throw wrong('LBFGS: there are no parameters');
    if (options.lineSearchFn !== undefined && options.lineSearchFn !== 'strong_wolfe') throw wrong(`LBFGS: lineSearchFn is ${options.lineSearchFn}; strong_wolfe is allowed`);
    this.groups = [{lr, params: this.#params}];
    this.#options = options;
  }

  zeroGrad(): void {
    for (const each of this.#params) each.grad = null;
  }

  async #flat(of: (parameter: Tensor) => Tensor | null): Promise<Vector> {
    const parts = await Promise.all(this.#params.map(async (each) => of(each)?.data<Float32Array>() ?? new Float32Array(each.size)));
    return Float64Array.from(parts.flatMap((part) => Array.from(part, Number)));
  }

  #assign(values: Vector): void {
    let at = 0;
    for (const each of this.#params) each.assign(new Tensor(values.slice(at, (at += each.size)), {shape: each.shape, dtype: each.dtype, device: each.device}));
  }

  /** Steps until one of the rules for stopping holds. `closure` zeroes the gradients, computes the loss, calls backward() and gives the loss. */
  async step(closure: () => Tensor | Promise<Tensor>): Promise<number> {
    const {maxIter, toleranceGrad, toleranceChange, historySize, lineSearchFn} = this.#options;
    const [{lr}] = this.groups;
    const evaluate = async (): Promise<{f: number; g: Vector}> => {
      const loss = await closure();
      const [f, g] = await Promise.all([loss.item(), this.#flat(({grad}) => grad)]);
      return {f, g};
    };
    let {f, g} = await evaluate();
    const first = f;
    if (largest(g) <= toleranceGrad) return first;
    const most = this.#options.maxEval ?? Math.floor((maxIter * 5) / 4);
    let evaluations = 1;
    for (let iteration = 1; iteration <= maxIter; ++iteration) {
      const begins = this.#before === undefined;
      if (this.#before) this.#learn(g, this.#before, historySize);
      this.#direction = this.#turned(g);
      this.#before = g;
      const before = f;
      this.#length = begins ? Math.min(1, 1 / g.reduce((sum, each) => sum + Math.abs(each), 0)) * lr : lr;
      const slope = dot(g, this.#direction);
      if (slope > -toleranceChange) break;
      const start = await this.#flat((each) => each);
      const [direction] = [this.#direction];
      const at = async (t: number): Promise<Point> => {
        this.#assign(moved(start, direction, t));
        const made = await evaluate();
        return {t, ...made, slope: dot(made.g, direction)};
      };
      if (lineSearchFn) {
        const {point, evaluations: more} = await lineSearch({t: 0, f, g, slope}, this.#length, largest(direction), toleranceChange, at);
        [f, g, this.#length] = [point.f, point.g, point.t];
        this.#assign(moved(start, direction, point.t));
        evaluations += more;
      } else if (iteration < maxIter) {
        ({f, g} = await at(this.#length));
        evaluations += 1;
      } else this.#assign(moved(start, direction, this.#length));
      if (evaluations >= most || largest(g) <= toleranceGrad) break;
      if (largest(direction) * this.#length <= toleranceChange || Math.abs(f - before) < toleranceChange) break;
    }
    await synchronize();
    return first;
  }

  /** What the last step tells of the curvature. */
  #learn(g: Vector, before: Vector, most: number): void {
    const y = moved(g, before, -1);
    const s = this.#direction.map((each) => each * this.#length);
    const product = dot(y, s);
    if (product <= 1e-10) return;
    if (this.#history.length === most) this.#history.shift();
    this.#history.push({y, s, ro: 1 / product});
    this.#scale = product / dot(y, y);
  }

  /** Minus the gradient times the inverse of the Hessian, as far as it is known. */
  #turned(g: Vector): Vector {
    let q = g.map((each) => -each);
    const shares = this.#history.toReversed().map(({y, s, ro}) => {
      const share = dot(s, q) * ro;
      q = moved(q, y, -share);
      return share;
    }).reverse();
    let r = q.map((each) => each * this.#scale);
    this.#history.forEach(({y, s, ro}, at) => (r = moved(r, s, (shares[at] ?? 0) - dot(y, r) * ro)));
    return r;
  }
}
