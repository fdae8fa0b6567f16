import {gather, type Feed} from '../session/feeds.ts';
import type {ModelParts} from '../session/recovery.ts';
import {type Output, tensor} from '../values/tensor.ts';
import {type DType, product} from '../values/types.ts';

/** What a profile needs of a model. */
export interface Profiled {
  readonly inputs: readonly {readonly dtype: DType | 'string'; readonly shape: readonly (number | string)[]}[];
  readonly parts: ModelParts;
  run<Result extends Output | readonly Output[] | undefined>(
    feeds: Readonly<Record<string, Feed>>,
  ): Promise<Record<string, Result>>;
}

/**
 * Feeds that a model may be timed with: halves, and zeros where they are no floats, since those may be indices. `dims`
 * says how long named dimensions are (default 1).
 */
export function anyFeeds(model: Profiled, dims: Readonly<Record<string, number>> = {}): Record<string, Feed> {
  const {manifest} = model.parts;
  const all = model.inputs.map(({dtype, shape: extents}) => {
    const shape = extents.map((extent) => (typeof extent === 'number' ? extent : (dims[extent] ?? 1)));
    const count = product(shape);
    if (dtype === 'string') return tensor(new Array<string>(count).fill('a'), shape);
    return tensor(new Float32Array(count).fill(/^b?f\d+$/.test(dtype) ? 0.5 : 0), shape, dtype);
  });
  const sides = {groups: manifest.groups.map(({inputs: outputs, ...rest}) => ({...rest, ...(outputs && {outputs})}))};
  return gather({...manifest, ...sides, outputs: manifest.inputs}, all) as Record<string, Feed>;
}
