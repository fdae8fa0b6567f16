/** Inputs and outputs: as the package has them, and as users see them. */
import type {PortEntry} from '../package/manifest_table.ts';
import type {Tensor} from '../values/tensor.ts';
import type {DType} from '../values/types.ts';

export interface Port extends PortEntry {
  /** The default of an input that a run leaves out. */
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
