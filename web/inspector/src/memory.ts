/** Memory over a run: which tensors are alive at which launch. */
import {type LaunchCost, storageBytes, type TargetCosts} from './costs.ts';

export interface Alive {
  readonly tensor: number;
  readonly name: string;
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

export interface Timeline {
  /** What stays from run to run: weights, and what loading made of them. */
  readonly kept: number;
  /** All memory that the device holds. */
  readonly allocated: number;
  /** By launch: of tensors that hold something that is still needed. */
  readonly used: readonly number[];
  readonly peak: number;
  /** The launch with the peak. */
  readonly at: number;
  readonly tensors: readonly Alive[];
}

export function timelineOf(costs: TargetCosts): Timeline {
  const {tensors, slots, run, init, inputs, outputs, weights} = costs.compiled.manifest;
  const bytesOfSlot = (at: number): number => {
    const slot = slots[at];
    if (!slot) return 0;
    if (slot.width === undefined) return costs.number(slot.bytes) ?? 0;
    return 16 * slot.width * (slot.layers ?? 1) * (costs.number(slot.height) ?? 0);
  };
  const bytesOf = (at: number): number => {
    const {elements = 0, storage = '', slot = -1} = tensors[at] ?? {};
    const room = bytesOfSlot(slot);
    return slots[slot]?.width === undefined ? Math.min(room, (costs.number(elements) ?? 0) * storageBytes(storage)) : room;
  };
  const last = run.length - 1;
  const writes = (launch: LaunchCost['launch']): number => costs.compiled.manifest.kernels[launch.kernel]?.writes ?? 1;
  const constant = new Set([...weights.map(({tensor}) => tensor), ...init.flatMap(({tensors: used}) => used)]);
  const range = new Map<number, [number, number]>();
  const touch = (tensor: number, at: number): void => {
    const found = range.get(tensor);
    range.set(tensor, found ? [Math.min(found[0], at), Math.max(found[1], at)] : [at, at]);
  };
  inputs.forEach(({tensor}) => touch(tensor, 0));
  costs.run.forEach(({launch, skipped}, at) => {
    if (skipped) return;
    const first = launch.tensors.length - writes(launch);
    launch.tensors.forEach((tensor, place) => {
      // What loading wrote is there from the beginning.
      if (place >= first || !constant.has(tensor)) touch(tensor, at);
      else if (!range.has(tensor)) touch(tensor, 0);
    });
  });
  outputs.forEach(({tensor}) => touch(tensor, Math.max(last, 0)));
  const keptSlots = new Set<number>();
  for (const tensor of constant) {
    const slot = tensors[tensor]?.slot;
    if (slot !== undefined && range.has(tensor)) keptSlots.add(slot);
  }
  const usedSlots = new Set([...range.keys()].map((tensor) => tensors[tensor]?.slot ?? -1));
  const sum = (some: Iterable<number>): number => Array.from(some, bytesOfSlot).reduce((all, bytes) => all + bytes, 0);
  const kept = sum(keptSlots);
  const used = costs.run.map(() => kept);
  const alive: Alive[] = [];
  for (const [tensor, [from, to]] of range) {
    const slot = tensors[tensor]?.slot ?? -1;
    if (keptSlots.has(slot)) continue;
    const bytes = bytesOf(tensor);
    alive.push({tensor, name: tensors[tensor]?.name || `tensor ${tensor}`, bytes, from, to});
    for (let at = from; at <= to; ++at) used[at] = (used[at] ?? 0) + bytes;
  }
  const peak = Math.max(kept, ...used);
  return {kept, allocated: sum(usedSlots), used, peak, at: Math.max(0, used.indexOf(peak)), tensors: alive.sort((a, b) => b.bytes - a.bytes)};
}
