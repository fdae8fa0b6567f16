/** What runs of a language model take besides tokens, sampling and state: masks and positions. */
import type {Feed} from '../session/feeds.ts';
import type {Manifest} from '../package/manifest.ts';
import {valuePorts} from '../session/ports.ts';
import {arrayOf} from '../values/tensor.ts';
import type {ComputeDevice, DeviceTensor} from '../tensors/tensors.ts';
import {type DType, GossamerError, product} from '../values/types.ts';

/** Masks on webgpu have room for so many tokens at least. */
const LEAST = 1024;

/** Integers from `first` on, by `step`; the same along each last axis. */
function integers(dtype: DType, shape: number[], first: number, step: number): {dtype: DType; shape: number[]; data: Int32Array | BigInt64Array} {
  const data = Int32Array.from({length: product(shape)}, (_, at) => first + step * (at % (shape.at(-1) ?? 1)));
  return {dtype, shape, data: dtype === 'i64' ? BigInt64Array.from(data, BigInt) : data};
}

export interface Besides {
  /** Of a run of `count` tokens after `before` others, of each text. */
  feeds(before: number, count: number): Record<string, Feed>;
  dispose(): void;
}

/** Of one text; tokens do not see later ones. Floats are added to scores. */
function causal(dtype: DType, before: number, count: number, batch: number): Feed {
  const tokens = before + count, shape = [batch, 1, count, tokens];
  const adds = dtype.includes('f'), wide = dtype.endsWith('64') && !adds;
  const data = arrayOf(dtype, product(shape));
  for (let at = 0; at < data.length; ++at) {
    const seen = at % tokens <= before + (Math.floor(at / tokens) % count);
    const value = adds ? (seen ? 0 : -Infinity) : Number(seen);
    data[at] = wide ? BigInt(value) : value;
  }
  return {dtype, shape, data};
}

/** `known`: inputs that are given otherwise. Throws 'input' for one that nobody knows. */
export function besides({inputs}: Manifest, known: readonly string[], device: ComputeDevice, Kept: typeof DeviceTensor, batch: number): Besides {
  let ones: DeviceTensor | undefined;
  /** On webgpu, the first of ones that are there: nothing is written for a longer mask. */
  const mask = (dtype: DType, length: number): Feed => {
    if (!device.gpuDevice) return integers(dtype, [batch, length], 1, 0);
    if (!ones || (ones.shape[1] as number) < batch * length) {
      ones?.dispose();
      const {data, shape} = integers(dtype, [1, Math.max(LEAST, 2 * batch * length)], 1, 0);
      ones = device.tensor(data, {dtype, shape});
    }
    return new Kept(device, {dtype, shape: [batch, length]}, ones.storage, ones.lend());
  };
  type Maker = (dtype: DType, before: number, count: number, rank: number) => Feed;
  const makers: Readonly<Record<string, Maker>> = {
    attention_mask: (dtype, before, count, rank) => (rank === 4 ? causal(dtype, before, count, batch) : mask(dtype, before + count)),
    // Rank 3 has positions in time, height and width, which are equal for text.
    position_ids: (dtype, before, count, rank) => integers(dtype, rank === 3 ? [3, batch, count] : [batch, count], before, 1),
    num_logits_to_keep: (dtype) => integers(dtype, [], 1, 0),
  };
  const mine = valuePorts(inputs).filter(({name, value}) => !value && !known.includes(name));
  for (const {name} of mine) {
    if (!makers[name]) throw new GossamerError('input', `generate() does not know the input "${name}": give its value in \`feeds\``);
  }
  return {
    feeds: (before, count) => Object.fromEntries(mine.map(({name, dtype, shape}) => [name, (makers[name] as Maker)(dtype as DType, before, count, shape.length)])),
    dispose: () => ones?.dispose(),
  };
}
