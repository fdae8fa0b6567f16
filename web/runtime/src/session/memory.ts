/** The memory of a package: one buffer a slot, which grows, and what goes into and out of tensors. */
import type {Buffer, Device, Extent, Launch, Read, Room} from '../devices/device.ts';
import {discard} from '../values/discard.ts';
import {sizeOf} from '../devices/extents.ts';
import type {Num} from '../package/fields.ts';
import type {LaunchEntry, Manifest, SlotEntry, TensorEntry} from '../package/manifest.ts';
import type {Pieces} from '../package/pieces.ts';
import {tensorsOf} from './step_tensors.ts';
import {bytesOf, disposed, GossamerError, kernelName, LARGEST, SAFE, within} from '../values/types.ts';

/** A number of the manifest, given the plan's values: an integer, exact where it is safe, or NaN. */
export function resolve(number: Num, values: Float64Array | undefined): number {
  return typeof number === 'number' ? number : (values?.[number.plan] ?? NaN);
}

/** Half as much again as there was, where that is more than wanted. */
export function spared(wanted: Extent, has: Extent | undefined): Extent {
  if (has && 'bytes' in wanted && 'bytes' in has) {
    return {bytes: Math.max(wanted.bytes, Math.ceil(has.bytes * 0.375) * 4)};
  }
  if (has && 'width' in wanted && 'width' in has) {
    return {...wanted, height: Math.max(wanted.height, Math.ceil(has.height * 1.5))};
  }
  return wanted;
}

/**
 * What a slot takes, given the plan's values. Throws 'input', naming a tensor in it, where that is less
 * than nothing or more than can be counted.
 */
export function extentOf(
  {slots, tensors}: Manifest,
  index: number,
  values: Float64Array | undefined,
): Extent {
  const {width, height, layers, bytes} = slots[index] as SlotEntry;
  const size = resolve((width === undefined ? bytes : height) ?? 0, values);
  // The name is searched only for the message: a step of a plan may size hundreds of slots.
  if (!(size >= 0 && size <= SAFE)) within(size, `size of tensor "${tensors.find(({slot}) => slot === index)?.name}"`);
  return width === undefined ? {bytes: size} : {width, height: size, layers: layers ?? 1};
}

/** Buffers that take the places of slots' own. */
export type Others = ReadonlyMap<number, {readonly buffer: Buffer}>;

export class Memory {
  readonly #manifest: Manifest;
  readonly #devices: readonly Device[];
  readonly #moved: () => void;
  readonly #buffers: (Buffer | undefined)[];
  readonly #spent = new Set<number>();
  #disposed = false;

  /** `moved` is called before buffers go away that recordings may hold. */
  constructor(manifest: Manifest, devices: readonly Device[], moved: () => void) {
    this.#manifest = manifest;
    this.#devices = devices;
    this.#moved = moved;
    this.#buffers = manifest.slots.map(() => undefined);
  }

  tensor(index: number): TensorEntry {
    return this.#manifest.tensors[index] as TensorEntry;
  }

  buffer(tensor: number, others?: Others): Buffer {
    const {slot, name} = this.tensor(tensor);
    const buffer = others?.get(slot)?.buffer ?? this.#buffers[slot];
    if (this.#disposed) throw disposed();
    if (!buffer) throw new GossamerError('damaged', `tensor "${name}" has no memory yet`);
    return buffer;
  }

  /** The number of the tensor's device. */
  place(tensor: number): number {
    return this.#manifest.slots[this.tensor(tensor).slot]?.device ?? 0;
  }

  /** The buffer, after checking that `bytes` fit into it. */
  #holding(tensor: number, bytes: number, others?: Others): Buffer {
    const buffer = this.buffer(tensor, others);
    const size = sizeOf(buffer.extent);
    if (!(bytes >= 0) || bytes > size) {
      const {name} = this.tensor(tensor);
      throw new GossamerError('damaged', `tensor "${name}" takes ${bytes} bytes, its slot has ${size}`);
    }
    return buffer;
  }

  /** As Queue.write(). */
  write(tensor: number, bytes: Uint8Array, own?: boolean, others?: Others): unknown {
    const buffer = this.#holding(tensor, bytes.length, others);
    const {queue} = this.#devices[this.place(tensor)] as Device;
    return queue.write(buffer, bytes, this.tensor(tensor).storage, own);
  }

  /** The same of a range of a file, some of which may still arrive, whose bytes are to lie as they are. */
  async writeFrom(tensor: number, file: Pieces, begin: number, end: number): Promise<void> {
    const {queue} = this.#devices[this.place(tensor)] as Device;
    if (queue.writeParts && file.inWords(begin, end)) {
      const buffer = this.#holding(tensor, end - begin);
      for (let at = begin; at < end; ) {
        const to = Math.min(end, await file.here(at + 1));
        queue.writeParts(buffer, file.takeParts(at, to), at - begin);
        at = to;
      }
      return;
    }
    await file.here(end);
    const bytes = file.take(begin, end);
    await this.write(tensor, bytes, true);
    discard(bytes);
  }

  /** The reading of the first elements, in the tensor's storage type. */
  reading(tensor: number, elements: number, others?: Others): Read {
    const {storage} = this.tensor(tensor);
    const bytes = elements * bytesOf(storage);
    return {buffer: this.#holding(tensor, bytes, others), bytes, storage};
  }

  /** `local` numbers a kernel among those of its device. */
  launches(
    entries: readonly LaunchEntry[],
    values: Float64Array | undefined,
    local: readonly number[],
    others?: Others,
  ): Launch[] {
    return entries.map(({kernel, tensors, scalars, range, origin}) => {
      const name = kernelName(this.#manifest.kernels[kernel]?.name ?? '', origin);
      return {
        kernel: local[kernel] ?? 0,
        name,
        buffers: tensors.map((tensor) => this.buffer(tensor, others)),
        storage: tensors.map((tensor) => this.tensor(tensor).storage),
        scalars: scalars.map((scalar) => within(resolve(scalar, values), `scalar of ${name}`, LARGEST, -LARGEST - 1)),
        range: within(resolve(range, values), `work of ${name}`, LARGEST),
      };
    });
  }

  /** Whether every slot is as large as wanted. */
  holds(extents: readonly (Extent | undefined)[]): boolean {
    return extents.every((extent, slot) => !extent || this.#fits(slot, extent));
  }

  #fits(slot: number, extent: Extent): boolean {
    const has = this.#buffers[slot]?.extent;
    return this.#spent.has(slot) || (has !== undefined && sizeOf(extent) <= sizeOf(has));
  }

  /** Makes every slot at least as large as wanted; `spare` is for those that will grow again. */
  async provide(extents: readonly (Extent | undefined)[], spare: boolean): Promise<void> {
    const grow = extents.flatMap((extent, slot) => {
      if (!extent || this.#fits(slot, extent)) return [];
      return [{slot, extent, more: spare ? spared(extent, this.#buffers[slot]?.extent) : extent}];
    });
    if (grow.length === 0) return;
    if (grow.some(({slot}) => this.#buffers[slot])) this.#moved();
    this.#drop(grow.map(({slot}) => slot));
    for (const [index, device] of this.#devices.entries()) {
      const mine = grow.filter(({slot}) => this.#manifest.slots[slot]?.device === index);
      if (mine.length === 0) continue;
      const create = (part: 'extent' | 'more'): Promise<Buffer[]> =>
        device.createBuffers(mine.map((each) => this.#room(each.slot, each[part])));
      const made = spare
        ? await create('more').catch(() => create('extent'))
        : await create('extent');
      made.forEach((buffer, at) => (this.#buffers[mine[at]?.slot ?? 0] = buffer));
    }
  }

  #room(slot: number, extent: Extent): Room {
    const tensors = this.#manifest.tensors.filter((tensor) => tensor.slot === slot);
    const name = `tensor "${tensors.find((tensor) => tensor.name)?.name ?? ''}"`;
    return {extent, name, storage: [...new Set(tensors.map(({storage}) => storage))]};
  }

  #drop(slots: readonly number[]): void {
    for (const slot of slots) {
      this.#buffers[slot]?.dispose();
      this.#buffers[slot] = undefined;
    }
  }

  /**
   * The slots that only init needs, such as those of weights that are packed into another layout, with
   * the number of the last launch that does.
   */
  lastUses(): ReadonlyMap<number, number> {
    const {init, run, steps, inputs, outputs} = this.#manifest;
    const tensors = [
      ...run.flatMap((launch) => launch.tensors),
      ...[...inputs, ...outputs].map(({tensor}) => tensor),
      ...tensorsOf(steps),
    ];
    const used = new Set(tensors.map((tensor) => this.tensor(tensor).slot));
    const last = new Map<number, number>();
    init.forEach((launch, at) => {
      for (const tensor of launch.tensors) {
        const {slot} = this.tensor(tensor);
        if (!used.has(slot)) last.set(slot, at);
      }
    });
    return last;
  }

  /** Frees a slot for good. */
  spend(slot: number): void {
    this.#drop([slot]);
    this.#spent.add(slot);
  }

  /** Bytes: what lasts, and what runs share. */
  usage(): {persistent: number; transient: number} {
    let persistent = 0;
    let transient = 0;
    this.#buffers.forEach((buffer, slot) => {
      const bytes = buffer ? sizeOf(buffer.extent) : 0;
      if (this.#manifest.slots[slot]?.persistent) persistent += bytes;
      else transient += bytes;
    });
    return {persistent, transient};
  }

  dispose(): void {
    this.#disposed = true;
    this.#drop(this.#buffers.map((_, slot) => slot));
  }
}
