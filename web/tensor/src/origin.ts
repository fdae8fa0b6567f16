/** How gradients find the tensors that take them. */
import {shapeText} from '../../runtime/src/values/types.ts';
import type {Value} from './recording.ts';
import {wrong} from './shape.ts';

/** Where a tensor comes from, as far as gradients care. T: the class of tensors. */
export class Origin<T> {
  readonly parents: readonly Origin<T>[];
  /** The value at this place, where a gradient may be wanted of it. */
  readonly value: Value;
  /** The tensor that takes the gradient. */
  owner: T | undefined;
  /** What computes it again: gradients end here, and go on in what that gives. */
  readonly again: Again<T> | undefined;
  #seen = 0;
  static round = 0;

  constructor(parents: readonly Origin<T>[], value: Value, owner?: T, again?: Again<T>) {
    this.parents = parents;
    this.value = value;
    this.owner = owner;
    this.again = again;
    value.past = true;
  }

  /** All places above this one, itself included, that have an owner; each once. */
  owned(): Origin<T>[] {
    const round = ++Origin.round;
    const found: Origin<T>[] = [];
    const open: Origin<T>[] = [this];
    for (let next = open.pop(); next; next = open.pop()) {
      if (next.#seen === round) continue;
      next.#seen = round;
      if (next.value.cut) throw wrong(`backward: a tensor of shape ${shapeText(next.value.shape)} was read since backward() went through it: go once, for the sum, or read it before`);
      next.value.passed = next.parents.length > 0 ? round : 0;
      if (next.owner) found.push(next);
      open.push(...next.parents);
    }
    // In the order in which they were made, as it is part of the program's structure.
    return found.sort((a, b) => a.value.serial - b.value.serial);
  }
}

/** Part of a computation that is not kept for gradients (checkpoint.ts). */
export interface Again<T> {
  readonly inputs: readonly T[];
  /** Places of what it gave. */
  readonly outputs: readonly Origin<T>[];
  /** The same from other inputs. Throws 'input' where gradients have gone through it. */
  compute(inputs: readonly T[]): T[];
  end(): void;
}
