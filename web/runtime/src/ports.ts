/** Inputs and outputs: as the package has them, and as users see them. */
import type {Num} from './fields.ts';
import type {Tensor} from './tensor.ts';
import type {DType} from './types.ts';

export interface Port {
  readonly name: string;
  readonly dtype: DType;
  /** Inputs: a number or a dimension's name; outputs: numbers or plan values. */
  readonly shape: readonly (Num | string)[];
  readonly tensor: number;
  /** The bytes of a tensor of strings; the next port has the lengths. */
  readonly strings: boolean;
  /** What an input is that a run leaves out. */
  readonly value?: Tensor;
}

/** A port as users see it. */
export type ValuePort = Omit<Port, 'dtype'> & {readonly dtype: DType | 'string'};

export const valuePorts = (ports: readonly Port[]): readonly ValuePort[] =>
  ports.some(({strings}) => strings)
    ? ports.flatMap((port, at): ValuePort[] =>
        ports[at - 1]?.strings
          ? []
          : port.strings
            ? [{...port, dtype: 'string', shape: port.shape.slice(0, -1)}]
            : [port],
      )
    : ports;
