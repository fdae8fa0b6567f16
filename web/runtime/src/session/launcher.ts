/** What a session's launches are bound to: devices with the package's kernels, and memory. */
import {type Sites, sitesOf} from './bindings.ts';
import type {Device, Executable, Recording} from '../devices/device.ts';
import {Lane} from '../devices/lane.ts';
import type {LaunchEntry, Manifest} from '../package/manifest.ts';
import {Memory, type Others} from './memory.ts';
import type {PlanMemory} from '../package/plan_module.ts';
import {about} from '../values/types.ts';

/** A device with the package's kernels for it. */
export interface Unit {
  readonly device: Device;
  readonly executable: Executable;
  /** Where it is no part of the executable. */
  readonly plan: PlanMemory | undefined;
}

/** Which launches a recording has, and the values that they depend on. */
export interface Recorded extends Recording {
  readonly entries: readonly LaunchEntry[];
  values: Float64Array | undefined;
}

/** Makes an entry the youngest of a map, in which order tells age, and drops the oldest of too many. */
export function keep<T>(map: Map<string, T>, key: string, entry: T, most: number): T | undefined {
  map.delete(key);
  const oldest = map.size >= most ? map.keys().next().value : undefined;
  const dropped = oldest === undefined ? undefined : map.get(oldest);
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, entry);
  return dropped;
}

export class Launcher {
  readonly manifest: Manifest;
  readonly units: readonly Unit[];
  readonly lanes: readonly Lane[];
  readonly memory: Memory;
  readonly sites: Sites;
  /** How often each launch of `run` happened in the latest run. */
  readonly times: number[];
  /** Tensors that went between devices in the latest run. */
  readonly copies = new Map<string, {from: number; to: number; times: number}>();
  /** A kernel's number among those of its device. */
  readonly #local: readonly number[];

  /** `moved` is called before buffers go away that recordings may hold. */
  constructor(manifest: Manifest, units: readonly Unit[], moved: () => void) {
    this.manifest = manifest;
    this.units = units;
    const devices = units.map(({device}) => device);
    this.lanes = devices.map(({queue}) => new Lane(queue));
    this.memory = new Memory(manifest, devices, moved);
    this.sites = sitesOf(manifest);
    this.times = manifest.run.map(() => 0);
    const counts = units.map(() => 0);
    this.#local = manifest.kernels.map(({device}) => {
      const number = counts[device] ?? 0;
      counts[device] = number + 1;
      return number;
    });
  }

  /** The number of the device that runs these launches: all are of one. */
  placeOf(entries: readonly LaunchEntry[]): number {
    return this.manifest.kernels[entries[0]?.kernel ?? -1]?.device ?? 0; // without launches: the target's
  }

  unit(entries: readonly LaunchEntry[]): Unit {
    return this.units[this.placeOf(entries)] as Unit;
  }

  /** Binds launches of one device, and says what they are. */
  async record(
    entries: readonly LaunchEntry[],
    values: Float64Array | undefined,
    others?: Others,
  ): Promise<Recorded> {
    const launches = this.memory.launches(entries, values, this.#local, others);
    return Object.assign(await this.unit(entries).executable.record(launches), {entries, values});
  }

  /** Gives a recording other values, from here on. */
  update(recording: Recorded, values: Float64Array, others?: Others): void {
    const {entries} = recording;
    this.unit(entries).executable.update(recording, this.memory.launches(entries, values, this.#local, others));
    recording.values = values;
  }

  /** One of what was read: a tensor, whose name errors have. */
  async arrived(tensor: number, data: Promise<Uint8Array[]>, at: number): Promise<Uint8Array> {
    try {
      return (await data)[at] as Uint8Array;
    } catch (problem) {
      const {life} = (this.units[this.memory.place(tensor)] as Unit).device;
      return life.verdict(about(`tensor "${this.memory.tensor(tensor).name}"`, problem));
    }
  }
}
