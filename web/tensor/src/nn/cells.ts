/** One step of recurrent layers (PyTorch's LSTMCell, GRUCell and RNNCell). */
import {type Given, optionsOf} from '../options.ts';
import {wrong} from '../shape.ts';
import {Tensor} from '../tensor.ts';
import {shapeText} from '../../../runtime/src/values/types.ts';
import {Module, Parameter} from './module.ts';

abstract class Cell extends Module {
  readonly weightIh: Parameter;
  readonly weightHh: Parameter;
  readonly biasIh: Parameter | null;
  readonly biasHh: Parameter | null;
  readonly inputs: number;
  readonly hidden: number;

  constructor(gates: number, inputs: number, hidden: number, bias: boolean) {
    super();
    const bound = 1 / Math.sqrt(hidden);
    const weight = (...shape: number[]): Parameter => new Parameter(Tensor.uniform(shape, -bound, bound));
    this.inputs = inputs;
    this.hidden = hidden;
    this.weightIh = weight(gates * hidden, inputs);
    this.weightHh = weight(gates * hidden, hidden);
    this.biasIh = bias ? weight(gates * hidden) : null;
    this.biasHh = bias ? weight(gates * hidden) : null;
  }

  /** The input's share and the state's share of each gate. */
  protected gates(x: Tensor, state: Tensor): [Tensor[], Tensor[]] {
    return [x.linear(this.weightIh, this.biasIh).split(this.hidden, -1), state.linear(this.weightHh, this.biasHh).split(this.hidden, -1)];
  }

  /** Zeros where there is no state yet. */
  protected stateOf(x: Tensor, state?: Tensor): Tensor {
    if (x.ndim < 1 || x.ndim > 2 || x.shape.at(-1) !== this.inputs) {
      throw wrong(`${this.constructor.name}: shape ${shapeText(x.shape)}; [batch, ${this.inputs}] or [${this.inputs}] is expected`);
    }
    return state ?? Tensor.zeros([...x.shape.slice(0, -1), this.hidden], {device: x.device, dtype: x.dtype});
  }

  override extraRepr(): string {
    return `${this.inputs}, ${this.hidden}`;
  }
}

type CellGiven = Given<{readonly bias?: boolean}, [bias?: boolean]>;

export class LSTMCell extends Cell {
  constructor(inputs: number, hidden: number, ...given: CellGiven) {
    super(4, inputs, hidden, optionsOf('LSTMCell', {bias: true}, given).bias);
  }

  forward(x: Tensor, state: readonly [Tensor, Tensor] | null = null): [Tensor, Tensor] {
    const [hidden, cell] = [this.stateOf(x, state?.[0]), this.stateOf(x, state?.[1])];
    const [own, past] = this.gates(x, hidden);
    const [input, forget, candidate, output] = own.map((each, at) => each.add(past[at] as Tensor)) as [Tensor, Tensor, Tensor, Tensor];
    const next = forget.sigmoid().mul(cell).add(input.sigmoid().mul(candidate.tanh()));
    return [output.sigmoid().mul(next.tanh()), next];
  }
}

export class GRUCell extends Cell {
  constructor(inputs: number, hidden: number, ...given: CellGiven) {
    super(3, inputs, hidden, optionsOf('GRUCell', {bias: true}, given).bias);
  }

  forward(x: Tensor, state?: Tensor): Tensor {
    const hidden = this.stateOf(x, state);
    const [[r1, z1, n1], [r2, z2, n2]] = this.gates(x, hidden) as [[Tensor, Tensor, Tensor], [Tensor, Tensor, Tensor]];
    const update = z1.add(z2).sigmoid();
    const fresh = n1.add(r1.add(r2).sigmoid().mul(n2)).tanh();
    return fresh.add(update.mul(hidden.sub(fresh)));
  }
}

const RNN_CELL: {bias: boolean; nonlinearity: 'tanh' | 'relu'} = {bias: true, nonlinearity: 'tanh'};

export class RNNCell extends Cell {
  readonly nonlinearity: 'tanh' | 'relu';

  constructor(inputs: number, hidden: number, ...given: Given<{readonly bias?: boolean; readonly nonlinearity?: 'tanh' | 'relu'}, [bias?: boolean, nonlinearity?: 'tanh' | 'relu']>) {
    const {bias, nonlinearity} = optionsOf('RNNCell', RNN_CELL, given);
    super(1, inputs, hidden, bias);
    this.nonlinearity = nonlinearity;
  }

  forward(x: Tensor, state?: Tensor): Tensor {
    const [[own], [past]] = this.gates(x, this.stateOf(x, state)) as [[Tensor], [Tensor]];
    return this.nonlinearity === 'tanh' ? own.add(past).tanh() : own.add(past).relu();
  }
}
