/** Arithmetic of updates on what is recorded, without a tensor for each step between; those are let go of at the end. */
import {constant, letGo, recordNode, type Recorded, Value} from '../recording.ts';
import {uploaded} from '../core.ts';
import type {DType} from '../dtype.ts';
import type {Tensor} from '../tensor.ts';
import {arrayOf} from '../../../runtime/src/tensor.ts';

export class Formula {
  readonly #device: Tensor['device'];
  readonly #dtype: DType;
  readonly #between: Recorded[] = [];
  readonly #fed: Value[] = [];

  constructor(like: Tensor) {
    this.#device = like.device;
    this.#dtype = like.dtype;
  }

  /** A number that is another one in each step: it is fed, so that the program stays the same. */
  fed(value: number): Recorded {
    const data = arrayOf(this.#dtype, 1);
    data[0] = value;
    const made = uploaded(this.#dtype, [], data, this.#device);
    this.#fed.push(made);
    return made.recorded;
  }

  node(op: string, ...inputs: readonly (Recorded | number)[]): Recorded {
    const [made] = recordNode(op, inputs.map((each) => (typeof each === 'number' ? constant(this.#dtype, [], [each]) : each)));
    this.#between.push(made as Recorded);
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

  /** What is computed becomes the tensor's next value. */
  assign(tensor: Tensor, next: Recorded): void {
    const at = this.#between.indexOf(next);
    if (at >= 0) this.#between.splice(at, 1);
    tensor.assign(new Value(next, this.#device, false));
  }

  /** Lets go of all between; to be called when no more is recorded. */
  end(): void {
    this.#between.forEach(letGo);
    this.#fed.forEach((value) => value.release());
  }
}
