/** Which memory the tensors of a run have: their slots', or that of tensors that stay on the device. */
import type {Extent} from '../devices/device.ts';
import {sizeOf} from '../devices/extents.ts';
import type {Block, Home} from '../devices/home.ts';
import type {Manifest} from '../package/manifest.ts';
import {tensorsOf} from './step_tensors.ts';
import type {Output, Tensor} from '../values/tensor.ts';
import type {DType, TensorData} from '../values/types.ts';

/** A feed on the device, which the run holds until it is put in. */
export interface Held {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly block: Block;
  /** Whose memory that is. */
  readonly home: Home;
  /** Given away by the caller, so that it may be written. */
  readonly given: boolean;
  /** The run has it; false when it was released, or is an output. */
  held: boolean;
}

export type Fed = Tensor | Held;

export const isHeld = (feed: Fed): feed is Held => 'block' in feed;

/** What there is to know of a tensor. */
export interface Header {
  readonly name?: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** A feed that stays on the device (tensors/device_tensor.ts). */
export interface OnDevice extends Output {
  readonly dtype: DType;
  /** @internal Where it lies, among others. */
  readonly home: Home;
  /**
   * @internal Holds those of `feeds` that are on the device, and takes the `given` ones away. A promise where some have no memory yet,
   * or must come to the host. Throws 'input' for one of another device, 'disposed', 'lost'.
   */
  hold(feeds: readonly (Tensor | OnDevice)[], given: readonly string[], manifest: Manifest, sites: Sites, home: Home): Fed[] | Promise<Fed[]>;
}

export const isOnDevice = (feed: object): feed is OnDevice => 'hold' in feed;

/** Makes the tensors of outputs that stay. */
export interface Keeper {
  /** @internal `made`: of the run that computes it; `once`: until it is read. */
  keep(
    header: Header,
    storage: DType,
    memory: Block | {readonly host: Promise<TensorData>},
    made: Promise<unknown>,
    once: boolean | undefined,
  ): Output;
}

/** What a run does with its ends. */
export interface Ends {
  /** There where some stay. */
  readonly keeper?: (home: Home) => Keeper;
  /** By output: its values stay on the device. */
  readonly stay: readonly boolean[];
  /** By output: until they are read. */
  readonly once: readonly boolean[];
  /** Names of inputs that are given away. */
  readonly given: readonly string[];
  /** Some stay, so that the run need not be waited for. */
  readonly any: boolean;
  /** How many rows states that grow have room for at least, where they stay. */
  readonly rows?: number | undefined;
  /** Dimensions that slots are to be large enough for, where states stay: sequences as long as there is room for. */
  readonly most?: readonly number[] | undefined;
  /** Values of the plan's first segment, if they were computed to know how many rows there are. */
  readonly values?: Float64Array | undefined;
  /** By which recordings are alike. */
  readonly key: string;
}

/** All values are read. */
export const TO_HOST: Ends = {stay: [], once: [], given: [], any: false, key: ''};

/** How an input lies. */
interface InputSite {
  readonly slot: number;
  readonly storage: DType;
  /** A launch writes it in place, once the input is not needed. */
  readonly written: boolean;
  /** Kernels read it where it is, and steps nothing of it. */
  readonly direct: boolean;
  /** Launches write only after its rows, which other tensors may share. */
  readonly grows: boolean;
}

interface OutputSite {
  readonly slot: number;
  readonly storage: DType;
  readonly name: string;
  /** On the target, and not on the side of it. */
  readonly direct: boolean;
  /** Its slot may be other memory in each run; else its elements are copied there. */
  readonly free: boolean;
}

export interface Sites {
  readonly inputs: readonly InputSite[];
  readonly outputs: readonly OutputSite[];
}

export function sitesOf({tensors, slots, inputs, outputs, run, kernels, steps, dims}: Manifest): Sites {
  const grown = new Set(dims.map(({output, input}) => (output === undefined ? undefined : input)));
  const slotOf = (tensor: number): number => tensors[tensor]?.slot ?? 0;
  const onTarget = (slot: number): boolean => slots[slot]?.device === 0;
  const written = new Set(
    run.flatMap(({kernel, tensors: used}) => used.slice(-(kernels[kernel]?.writes ?? 1)).map(slotOf)),
  );
  const named = new Set(tensorsOf(steps));
  const taken = new Set<number>();
  return {
    inputs: inputs.map(({tensor, strings}, at) => {
      const slot = slotOf(tensor);
      const text = strings || inputs[at - 1]?.strings;
      const direct = onTarget(slot) && !text && !named.has(tensor);
      return {slot, storage: tensors[tensor]?.storage ?? 'f32', written: written.has(slot), direct, grows: grown.has(at)};
    }),
    outputs: outputs.map(({tensor, name}) => {
      const slot = slotOf(tensor);
      const free = steps.length === 0 && written.has(slot) && !slots[slot]?.persistent && !taken.has(slot);
      taken.add(slot);
      return {slot, storage: tensors[tensor]?.storage ?? 'f32', name, direct: onTarget(slot), free};
    }),
  };
}

/** Whether a tensor's memory can be a slot's. */
export function fits(has: Extent, wanted = has): boolean {
  const [a, b] = [has, wanted] as {width?: number; layers?: number}[];
  return a?.width === b?.width && a?.layers === b?.layers && sizeOf(has) >= sizeOf(wanted);
}

/** Whether a run may write where a feed lies. */
export const isMine = ({given, block}: Held, {grows}: Sites['inputs'][number]): boolean =>
  given && (grows || block.users === 1) && block.key !== undefined;

/** The feeds' memory that takes the places of slots, and a key that says which. */
export function placesOf(
  {inputs}: Sites,
  feeds: readonly Fed[],
  extents: readonly Extent[],
): {readonly key: string; readonly others: Map<number, Block>} {
  const others = new Map<number, Block>();
  let key = '';
  feeds.forEach((feed, at) => {
    if (!isHeld(feed)) return;
    const site = inputs[at] as InputSite;
    const {slot, written} = site;
    const {block} = feed;
    if ((written && !isMine(feed, site)) || others.has(slot) || !fits(block.buffer.extent, extents[slot])) return;
    others.set(slot, block);
    key += ` ${slot}:${block.id}`;
  });
  return {key, others};
}
