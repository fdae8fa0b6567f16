/** The tokens of one text that meets a grammar. */
import type {TokenConstraint} from '../../../runtime/src/index.ts';
import type {Machine} from './machine.ts';
import type {Vocabulary} from './vocabulary.ts';

export class Constraint implements TokenConstraint {
  readonly #machine: Machine;
  readonly #vocabulary: Vocabulary;
  /** Of the first token: some tokenizers leave out its space. */
  readonly #first: Vocabulary;
  #state: number;
  #isFirst = true;

  constructor(machine: Machine, vocabulary: Vocabulary, first: Vocabulary) {
    this.#machine = machine;
    this.#vocabulary = vocabulary;
    this.#first = first;
    this.#state = machine.start();
  }

  allowed(): Int32Array | undefined {
    const bits = this.#isFirst && this.#first !== this.#vocabulary ? this.#machine.maskOf(this.#first, this.#state) : this.#machine.mask(this.#state);
    return bits.some((word) => word !== 0) ? bits : undefined;
  }

  accept(id: number): void {
    const bytes = (this.#isFirst ? this.#first : this.#vocabulary).bytesOf(id);
    this.#isFirst = false;
    const next = bytes ? this.#machine.after(this.#state, bytes) : -1;
    if (next < 0) throw new Error(`token ${id} is not allowed by the grammar`);
    this.#state = this.#machine.trimmed(next);
  }

  /** Whether the text is whole. */
  get isWhole(): boolean {
    return this.#machine.mayEnd(this.#state);
  }
}
