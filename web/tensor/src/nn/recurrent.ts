/** Recurrent layers (PyTorch's LSTM, GRU and RNN), computed by ONNX's operators of the same names. */
import type {Recorded} from '../recording.ts';
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import {shapeText} from '../../../runtime/src/values/types.ts';
import * as F from './functional.ts';
import {Module, Parameter} from './module.ts';

export interface RecurrentOptions {
  readonly numLayers?: number | undefined;
  readonly bias?: boolean | undefined;
  /** [batch, length, size] instead of [length, batch, size]. */
  readonly batchFirst?: boolean | undefined;
  /** After each layer but the last one. */
  readonly dropout?: number | undefined;
  readonly bidirectional?: boolean | undefined;
}

/** PyTorch's order, and its defaults. */
const USUAL = {numLayers: 1, bias: true, batchFirst: false, dropout: 0, bidirectional: false};
type RecurrentGiven = Given<RecurrentOptions, [numLayers?: number, bias?: boolean, batchFirst?: boolean, dropout?: number, bidirectional?: boolean]>;

/** Weights under PyTorch's names: weightIhL0 [gates * hidden, inputs], weightHhL0, biasIhL0, biasHhL0; ...L0Reverse. */
abstract class Recurrent extends Module {
  readonly inputs: number;
  readonly hidden: number;
  readonly options: typeof USUAL;
  readonly #op: string;
  /** ONNX's order of gates, in places of PyTorch's. */
  readonly #order: readonly number[];

  constructor(op: string, order: readonly number[], inputs: number, hidden: number, given: readonly unknown[]) {
    super();
    this.#op = op;
    this.#order = order;
    this.inputs = inputs;
    this.hidden = hidden;
    this.options = optionsOf(op, USUAL, given);
    const bound = 1 / Math.sqrt(hidden);
    const weight = (...shape: number[]): Parameter => new Parameter(Tensor.uniform(shape, -bound, bound));
    const own = this as unknown as Record<string, Parameter>;
    const rows = order.length * hidden;
    for (const [layer, suffix] of this.#places()) {
      own[`weightIh${suffix}`] = weight(rows, layer === 0 ? inputs : hidden * this.#directions);
      own[`weightHh${suffix}`] = weight(rows, hidden);
      if (!this.options.bias) continue;
      own[`biasIh${suffix}`] = weight(rows);
      own[`biasHh${suffix}`] = weight(rows);
    }
  }

  get #directions(): number {
    return this.options.bidirectional ? 2 : 1;
  }

  #places(): [layer: number, suffix: string][] {
    return Array.from({length: this.options.numLayers}, (_, layer) => layer).flatMap((layer) =>
      ['', 'Reverse'].slice(0, this.#directions).map((direction): [number, string] => [layer, `L${layer}${direction}`]));
  }

  /** One of a layer's parameters for all directions, its gates in ONNX's order. */
  #gates(name: string, layer: number): Tensor {
    const own = this as unknown as Record<string, Parameter>;
    const mine = this.#places().filter(([each]) => each === layer).map(([, suffix]) => own[`${name}${suffix}`] as Tensor);
    return Tensor.stack(mine.map((each) => {
      if (this.#order.length === 1) return each;
      const gates = each.split(this.hidden, 0);
      return Tensor.cat(this.#order.map((gate) => gates[gate] as Tensor));
    }));
  }

  /** The outputs of the last layer, and the last states of all: [layers * directions, batch, hidden]. */
  protected run(x: Tensor, states: readonly (Tensor | undefined)[]): {output: Tensor; last: Tensor[]} {
    const {numLayers, batchFirst, dropout, bias} = this.options;
    if (x.ndim !== 3 || x.shape[2] !== this.inputs) {
      throw wrong(`${this.#op}: it takes three axes, the last of ${this.inputs}, not ${shapeText(x.shape)}`);
    }
    let value = batchFirst ? x.transpose(0, 1) : x;
    const [length = 1, batch = 1] = value.shape;
    const finals: Tensor[][] = states.map(() => []);
    for (let layer = 0; layer < numLayers; ++layer) {
      const before = states.map((state) => state?.narrow(0, layer * this.#directions, this.#directions) ?? null);
      const biases = !bias ? null : Tensor.cat([this.#gates('biasIh', layer), this.#gates('biasHh', layer)], 1);
      const inputs: (Tensor | Recorded | null)[] = [value, this.#gates('weightIh', layer), this.#gates('weightHh', layer), biases, null, ...before];
      const [all, ...last] = value.applyAll(this.#op, inputs, {
        hidden_size: this.hidden,
        direction: this.#directions === 2 ? 'bidirectional' : 'forward',
        ...(this.#op === 'GRU' ? {linear_before_reset: 1} : {}),
      }, 1 + states.length) as [Tensor, ...Tensor[]];
      last.forEach((state, at) => finals[at]?.push(state));
      value = all.transpose(1, 2).reshape(length, batch, this.#directions * this.hidden);
      if (layer < numLayers - 1) value = F.dropout(value, dropout, this.training);
    }
    return {output: batchFirst ? value.transpose(0, 1) : value, last: finals.map((each) => Tensor.cat(each))};
  }
}

export class LSTM extends Recurrent {
  constructor(inputs: number, hidden: number, ...given: RecurrentGiven) {
    super('LSTM', [0, 3, 1, 2], inputs, hidden, given);
  }
  forward(x: Tensor, [hidden, cell]: readonly [Tensor?, Tensor?] = []): [Tensor, [Tensor, Tensor]] {
    const {output, last} = this.run(x, [hidden, cell]);
    return [output, last as [Tensor, Tensor]];
  }
}

export class GRU extends Recurrent {
  constructor(inputs: number, hidden: number, ...given: RecurrentGiven) {
    super('GRU', [1, 0, 2], inputs, hidden, given);
  }
  forward(x: Tensor, hidden?: Tensor): [Tensor, Tensor] {
    const {output, last} = this.run(x, [hidden]);
    return [output, last[0] as Tensor];
  }
}

/** With tanh. */
export class RNN extends Recurrent {
  constructor(inputs: number, hidden: number, ...given: Given<RecurrentOptions, [numLayers?: number]>) {
    super('RNN', [0], inputs, hidden, given);
  }
  forward(x: Tensor, hidden?: Tensor): [Tensor, Tensor] {
    const {output, last} = this.run(x, [hidden]);
    return [output, last[0] as Tensor];
  }
}

