/** Arithmetic that is recorded once and then replayed as a whole: what a step does to all parameters is one call of the recorder. */
import {decode} from '../../../runtime/src/values/encoding.ts';
import {uploaded} from '../core.ts';
import type {DType} from '../dtype.ts';
import {constant, type Device, getRecorder, letGo, recordNode, type Recorded, type Value} from '../recording.ts';

export class Formula {
  readonly #dtype: DType;
  readonly made: Recorded[] = [];

  constructor(dtype: DType) {
    this.#dtype = dtype;
  }

  node(op: string, ...inputs: readonly (Recorded | number)[]): Recorded {
    const [made] = recordNode(op, inputs.map((each) => (typeof each === 'number' ? constant(this.#dtype, [], [each]) : each)));
    this.made.push(made as Recorded);
    return made as Recorded;
  }

  add(a: Recorded, b: Recorded | number): Recorded { return this.node('Add', a, b); }
  sub(a: Recorded, b: Recorded): Recorded { return this.node('Sub', a, b); }
  mul(a: Recorded, b: Recorded | number): Recorded { return this.node('Mul', a, b); }
  div(a: Recorded, b: Recorded): Recorded { return this.node('Div', a, b); }
  sqrt(a: Recorded): Recorded { return this.node('Sqrt', a); }
  /** a * factor + b * other. */
  mix(a: Recorded, factor: number | Recorded, b: Recorded, other: number | Recorded): Recorded {
    return this.add(this.mul(a, factor), this.mul(b, other));
  }
}

/** A formula of tensors of these shapes, all of one type, written as a model that the recorder applies. */
export class Replay {
  readonly #model: ReturnType<ReturnType<typeof getRecorder>['import']>;
  readonly #leaves: Value[];
  /** By input of the model, that of the formula. */
  readonly #order: number[];

  constructor(dtype: DType, shapes: readonly (readonly number[])[], device: Device, compute: (f: Formula, inputs: readonly Recorded[]) => readonly Recorded[]) {
    const recorder = getRecorder();
    const inputs = shapes.map((shape) => recorder.leaf(dtype, shape));
    const f = new Formula(dtype);
    const {program, feeds} = recorder.plan(compute(f, inputs).map(({id}) => id));
    this.#model = recorder.import(recorder.model(program, true));
    this.#order = feeds.map((id) => inputs.findIndex((input) => input.id === id));
    this.#leaves = this.#model.leaves.map((leaf) => uploaded(leaf.dtype as DType, leaf.shape, decode(leaf.bytes, leaf.dtype), device));
    [...f.made, ...inputs].forEach(letGo);
  }

  apply(inputs: readonly Recorded[]): Recorded[] {
    return getRecorder().apply(this.#model, this.#order.map((at) => inputs[at] as Recorded), this.#leaves.map(({recorded}) => recorded));
  }

  dispose(): void {
    this.#leaves.forEach((leaf) => leaf.release());
  }
}

