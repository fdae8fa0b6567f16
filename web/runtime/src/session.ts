/** A loaded package on its devices: recordings of its launches, and runs that are put in one after the other. */
import type {Device, Executable, Extent, Read, Recording} from './device.ts';
import {discard} from './discard.ts';
import {orderFeeds, readDims, take} from './feeds.ts';
import {isStatic, type LaunchEntry, type Manifest, type WeightEntry} from './manifest.ts';
import {Lane} from './lane.ts';
import type {Lifetime} from './lifetime.ts';
import {extentOf, Memory, resolve} from './memory.ts';
import type {Pieces} from './pieces.ts';
import type {PlanMemory} from './plan_module.ts';
import {readSafetensors, type StoredTensor, storedType} from './safetensors.ts';
import {runSteps} from './steps.ts';
import {decode, fromStorage, toStorage} from './storage.ts';
import type {StringTensor, Tensor} from './tensor.ts';
import {about, bytesOf, type DType, disposed, GossamerError, product, shapeText, type TensorData, SAFE, within} from './types.ts';

export interface RawOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: Promise<TensorData>;
}

/** A device with the package's kernels for it. */
export interface Unit {
  readonly device: Device;
  readonly executable: Executable;
  /** Where it is no part of the executable. */
  readonly plan: PlanMemory | undefined;
}

/** A run that is put in. */
interface Going {
  readonly results: RawOutput[];
  readonly done: Promise<unknown>;
}

/** Everything that depends on the values of the dynamic dimensions. */
interface Specialization {
  readonly values: Float64Array;
  readonly extents: readonly Extent[];
  recording: Recording | undefined;
}

/** Which launches a recording has, and the values that they depend on. */
export interface Recorded extends Recording {
  readonly entries: readonly LaunchEntry[];
  readonly values: Float64Array | undefined;
}

interface Range {
  readonly name: string;
  readonly entries: readonly LaunchEntry[];
  readonly uses: readonly number[];
}

/** Recordings kept for other dimensions, and of launches between steps. */
const KEPT = 16;
const KEPT_PARTS = 256;

/** So many runs may be under way before the next waits for the first. */
const IN_FLIGHT = 8;

/** After so long a run lets others have the thread. */
const TURN_MS = 50;

/** Makes an entry the youngest of a map, in which order tells age, and drops the oldest of too many. */
function keep<T>(map: Map<string, T>, key: string, entry: T, most: number): T | undefined {
  map.delete(key);
  const oldest = map.size >= most ? map.keys().next().value : undefined;
  const dropped = oldest === undefined ? undefined : map.get(oldest);
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, entry);
  return dropped;
}

/** A weight's place in the file. Throws 'damaged' where it is not as the manifest says. */
function findWeight(stored: ReadonlyMap<string, StoredTensor>, {name, dtype, shape}: WeightEntry): StoredTensor {
  const found = stored.get(name);
  if (
    found?.dtype === storedType(dtype) &&
    shapeText(found.shape) === shapeText(shape) &&
    found.end - found.begin === product(shape) * bytesOf(dtype)
  ) {
    return found;
  }
  const has = found ? `${found.dtype} ${shapeText(found.shape)}` : 'nothing';
  throw new GossamerError(
    'damaged',
    `weights.safetensors: "${name}" is ${has}, the manifest wants ${storedType(dtype)} ${shapeText(shape)}`,
  );
}

export class Session {
  readonly #manifest: Manifest;
  readonly units: readonly Unit[];
  readonly #lanes: readonly Lane[];
  readonly #memory: Memory;
  /** A kernel's number among those of its device. */
  readonly #local: readonly number[];
  readonly #cache = new Map<string, Specialization>();
  /** Launches between steps, by which they are and the values they depend on. */
  readonly #parts = new Map<string, Recording>();
  /** Slots that launches and outputs see; other inputs are only read by steps, and stay where they are. */
  readonly #seen: ReadonlySet<number>;
  /** Launches of a step, and the plan values that they depend on. */
  readonly #ranges = new Map<string, Range>();
  /** How often each launch of `run` happened in the latest run. */
  readonly times: number[];
  /** Tensors that went between devices in the latest run. */
  readonly copies = new Map<string, {from: number; to: number; times: number}>();
  /** Until the run asked for last is put in. */
  #last: Promise<unknown> = Promise.resolve();
  /** Runs asked for and not put in. */
  #waiting = 0;
  /** Runs put in and not done. */
  readonly #flying = new Set<Promise<unknown>>();
  #disposed = false;

  private constructor(manifest: Manifest, units: readonly Unit[]) {
    this.#manifest = manifest;
    this.units = units;
    const devices = units.map(({device}) => device);
    this.#lanes = devices.map(({queue}) => new Lane(queue));
    this.#memory = new Memory(manifest, devices, () => this.#forget());
    const counts = units.map(() => 0);
    this.#local = manifest.kernels.map(({device}) => {
      const number = counts[device] ?? 0;
      counts[device] = number + 1;
      return number;
    });
    this.times = manifest.run.map(() => 0);
    const {run, outputs} = manifest;
    // An input that a launch updates in place is seen as the output in its slot.
    const seen = [...run.flatMap(({tensors}) => tensors), ...outputs.map(({tensor}) => tensor)];
    this.#seen = new Set(seen.map((tensor) => this.#memory.tensor(tensor).slot));
  }

  /** Places the memory, uploads the weights and runs the init launches. */
  static async create(
    manifest: Manifest,
    units: readonly Unit[],
    weights: Pieces | undefined,
    progress: (done: number) => void,
  ): Promise<Session> {
    const session = new Session(manifest, units);
    try {
      await session.#start(weights, progress);
    } catch (problem) {
      session.dispose();
      throw problem;
    }
    return session;
  }

  async #start(file: Pieces | undefined, progress: (done: number) => void): Promise<void> {
    const {slots, weights, init} = this.#manifest;
    const last = this.#memory.lastUses();
    const provide = (wanted: (slot: number) => boolean): Promise<void> =>
      this.#memory.provide(
        slots.map((slot, at) =>
          isStatic(slot) && wanted(at) ? extentOf(this.#manifest, at, undefined) : undefined,
        ),
        false,
      );
    // Memory that is known now is there from the start; the rest grows with the first run.
    await provide((slot) => !last.has(slot));
    const stored = file ? readSafetensors(file, 'weights.safetensors') : new Map<string, StoredTensor>();
    const left = new Map(weights.map((weight) => [weight.tensor, weight]));
    const upload = async (tensor: number): Promise<void> => {
      const weight = left.get(tensor);
      if (!weight) return;
      left.delete(tensor);
      const {begin, end} = findWeight(stored, weight);
      const {storage} = this.#memory.tensor(tensor);
      let bytes: Uint8Array = (file as Pieces).take(begin, end);
      if (weight.dtype !== storage) {
        const values = decode(bytes, weight.dtype);
        bytes = toStorage(values, weight.dtype, storage, `weight "${weight.name}"`);
      }
      await this.#memory.write(tensor, bytes, true);
      discard(bytes);
      progress(weights.length - left.size);
    };
    // Each weight that is packed has gone before the next comes.
    const fences: Promise<unknown>[] = [];
    for (const [at, launch] of init.entries()) {
      const mine = launch.tensors.map((tensor) => this.#memory.tensor(tensor).slot);
      await provide((slot) => mine.includes(slot) && last.has(slot));
      for (const tensor of launch.tensors) await upload(tensor);
      const recording = await this.record([launch], undefined);
      const {done} = this.#unit([launch]).device.queue.submit([recording], []);
      done.catch(() => undefined);
      fences.push(done);
      recording.dispose();
      for (const slot of mine) if (last.get(slot) === at) this.#memory.spend(slot);
    }
    for (const tensor of left.keys()) await upload(tensor);
    await Promise.all(fences);
  }

  get #life(): Lifetime {
    return (this.units[0] as Unit).device.life;
  }

  /** The number of the device that runs these launches: all are of one. */
  #place(entries: readonly LaunchEntry[]): number {
    return this.#manifest.kernels[entries[0]?.kernel ?? 0]?.device ?? 0;
  }

  #unit(entries: readonly LaunchEntry[]): Unit {
    return this.units[this.#place(entries)] as Unit;
  }

  /** Binds launches of one device, and says what they are. */
  async record(entries: readonly LaunchEntry[], values: Float64Array | undefined): Promise<Recorded> {
    const launches = this.#memory.launches(entries, values, this.#local);
    return Object.assign(await this.#unit(entries).executable.record(launches), {entries, values});
  }

  /** Lets go of everything that holds buffers which are about to go. */
  #forget(): void {
    for (const lane of this.#lanes) void lane.submit();
    for (const known of this.#cache.values()) {
      known.recording?.dispose();
      known.recording = undefined;
    }
    for (const part of this.#parts.values()) part.dispose();
    this.#parts.clear();
  }

  /** A segment's values, after its checks. */
  async #plan(segment: number, dims: readonly number[]): Promise<Float64Array> {
    const {planValues, checks} = this.#manifest;
    const {executable, plan} = this.units[0] as Unit;
    const found = planValues > 0 ? (plan?.evaluate(segment, dims) ?? (await executable.plan?.(segment, dims))) : undefined;
    // Integers, whatever a package that is not ours computes.
    const values = found?.map(Math.trunc) ?? new Float64Array();
    for (const check of checks) {
      if (check.segment !== segment) continue;
      const value = resolve(check.value, values);
      if (check.most) within(value, `elements of ${check.message}`, check.most);
      else if (!value) throw new GossamerError('input', check.message);
    }
    return values;
  }

  async #specialize(dims: readonly number[]): Promise<Specialization> {
    let special = this.#cache.get(dims.join());
    if (!special) {
      const values = await this.#plan(0, dims);
      const extents = this.#manifest.slots.map((_, at) => extentOf(this.#manifest, at, values));
      special = {values, extents, recording: undefined};
    }
    await this.#memory.provide(special.extents, false);
    special.recording ??= await this.record(this.#manifest.run, special.values);
    return special;
  }

  /**
   * Checks the feeds at once and takes them: copies, unless they are `owned`, or nothing waits and they reach the
   * device before this returns. Runs are put in one after the other, each before the last is done.
   */
  async run(
    feeds: Readonly<Record<string, Tensor | StringTensor>>,
    owned = false,
  ): Promise<RawOutput[]> {
    if (this.#disposed) throw disposed();
    const ordered = orderFeeds(this.#manifest, feeds);
    const dims = readDims(this.#manifest, ordered);
    const special = this.#cache.get(dims.join());
    try {
      const ready = special?.recording && this.#waiting === 0 && this.#flying.size < IN_FLIGHT;
      const {results, done} = ready
        ? this.#launch(ordered, dims, special)
        : await this.#queue(owned ? ordered : ordered.map(take), dims);
      await done;
      return results;
    } catch (problem) {
      return await this.#life.verdict(this.#disposed ? disposed() : problem);
    }
  }

  /** Puts a run in when those before it are. */
  async #queue(feeds: readonly Tensor[], dims: number[]): Promise<Going> {
    const begun = this.#last.then(async () => {
      for (const first of this.#flying) {
        if (this.#flying.size < IN_FLIGHT) break;
        await first.catch(() => undefined);
      }
      if (this.#disposed) throw disposed();
      return this.#manifest.steps.length > 0
        ? this.#runSteps(feeds, dims)
        : this.#launch(feeds, dims, await this.#specialize(dims));
    });
    this.#last = begun.catch(() => undefined);
    ++this.#waiting;
    try {
      return await begun;
    } finally {
      --this.#waiting;
    }
  }

  /** A run without steps. */
  #launch(feeds: readonly Tensor[], dims: readonly number[], special: Specialization): Going {
    keep(this.#cache, dims.join(), special, KEPT)?.recording?.dispose();
    this.#writeInputs(feeds);
    void this.#lanes[0]?.add(special.recording as Recording, 0);
    this.times.fill(1);
    return this.#finish(special.values);
  }

  async #runSteps(feeds: readonly Tensor[], dims: number[]): Promise<Going> {
    const {steps, slots, inputs} = this.#manifest;
    const lanes = this.#lanes;
    let values = new Float64Array();
    let turn = performance.now();
    const laneOf = (tensor: number): Lane => lanes[this.#memory.place(tensor)] as Lane;
    const given = (tensor: number): Tensor | undefined =>
      feeds[inputs.findIndex((port) => port.tensor === tensor)];
    const fetch = async (tensor: number, count: number): Promise<Uint8Array> => {
      const lane = laneOf(tensor);
      const data = lane.submit([this.#memory.reading(tensor, count)]);
      // What goes wrong before is the error, not what is read because of it.
      await Promise.all(lane.take().map(({accepted}) => accepted));
      return this.#arrived(tensor, data, 0);
    };
    const plan = async (segment: number): Promise<void> => {
      values = (await this.#plan(segment, dims)) as Float64Array<ArrayBuffer>;
      const extents: Extent[] = []; // with holes, which provide() skips
      slots.forEach((slot, at) => {
        if (slot.segment === segment) extents[at] = extentOf(this.#manifest, at, values);
      });
      await this.#memory.provide(extents, segment > 0);
    };
    this.times.fill(0);
    this.copies.clear();
    await plan(0);
    this.#writeInputs(feeds);
    await runSteps(steps, dims, {
      number: (number) =>
        within(resolve(number, values), 'a step', SAFE, -SAFE),
      plan,
      launch: async (first, last) => {
        if (first === last) return;
        const range = this.#range(first, last);
        const part = await this.#part(range, values);
        for (let at = first; at < last; ++at) this.times[at] = (this.times[at] ?? 0) + 1;
        await lanes[this.#place(range.entries)]?.add(part, last - first);
      },
      read: async (tensor, count) => {
        const feed = given(tensor);
        const {name, elements, storage} = this.#memory.tensor(tensor);
        const has = feed ? feed.data.length : resolve(elements, values);
        if (count > has) {
          throw new GossamerError(
            'damaged',
            `tensor "${name}" has ${has} elements, ${count} are read from it`,
          );
        }
        if (feed) return Array.from({length: count}, (_, at) => Number(feed.data[at]));
        const stored = decode(await fetch(tensor, count), storage);
        return Array.from(stored as ArrayLike<number | bigint>, Number);
      },
      copy: async (from, to) => {
        const feed = given(from);
        const [source, target] = [this.#memory.tensor(from), this.#memory.tensor(to)];
        const has = feed ? feed.data.length : resolve(source.elements, values);
        const count = Math.min(has, resolve(target.elements, values));
        const what = `"${target.name}"`;
        void laneOf(to).submit();
        if (feed) {
          const data = feed.data.subarray(0, count);
          this.#memory.write(to, toStorage(data, source.dtype, target.storage, what));
        } else {
          const stored = await fetch(from, count);
          const same = source.storage === target.storage;
          const data = same ? undefined : fromStorage(stored, source.storage, source.dtype);
          this.#memory.write(to, data ? toStorage(data, source.dtype, target.storage, what) : stored);
        }
        const key = `${from},${to}`;
        this.copies.set(key, {from, to, times: (this.copies.get(key)?.times ?? 0) + 1});
      },
      pause: async () => {
        if (performance.now() - turn > TURN_MS) {
          await Promise.all(lanes.map((lane) => lane.settle()));
          await new Promise((resolved) => setTimeout(resolved));
          turn = performance.now();
        }
        if (this.#disposed) throw disposed();
      },
    });
    return this.#finish(values);
  }

  #range(first: number, last: number): Range {
    const name = `${first},${last}`;
    let range = this.#ranges.get(name);
    if (!range) {
      const entries = this.#manifest.run.slice(first, last);
      const numbers = entries.flatMap(({range: extent, scalars}) => [extent, ...scalars]);
      const uses = new Set(numbers.flatMap((number) => (typeof number === 'object' ? [number.plan] : [])));
      this.#ranges.set(name, (range = {name, entries, uses: [...uses]}));
    }
    return range;
  }

  /** A recording of these launches with these values; kept, since steps are repeated. */
  async #part({name, entries, uses}: Range, values: Float64Array): Promise<Recording> {
    const key = uses.reduce((text, at) => `${text} ${values[at]}`, name);
    const part = this.#parts.get(key) ?? (await this.record(entries, values));
    const dropped = keep(this.#parts, key, part, KEPT_PARTS);
    if (dropped) {
      for (const lane of this.#lanes) void lane.submit();
      dropped.dispose();
    }
    return part;
  }

  #writeInputs(feeds: readonly Tensor[]): void {
    this.#lanes.forEach((lane) => lane.clear());
    this.#manifest.inputs.forEach(({name, dtype, tensor}, at) => {
      const {slot, storage} = this.#memory.tensor(tensor);
      if (!this.#seen.has(slot)) return;
      const {data} = feeds[at] as Tensor;
      this.#memory.write(tensor, toStorage(data, dtype, storage, `input "${name}"`));
    });
  }

  /** Submits what waits, with the copies of the outputs in it: the next run overwrites their memory. */
  #finish(values: Float64Array): Going {
    const reads = this.#lanes.map((): Read[] => []);
    const ports = this.#manifest.outputs.map(({name, dtype, tensor, shape: extents}) => {
      const shape = extents.map((extent) =>
        within(resolve(extent as number, values), `an axis of output "${name}"`),
      );
      const mine = reads[this.#memory.place(tensor)] as Read[];
      return {name, dtype, tensor, shape, at: mine.push(this.#memory.reading(tensor, product(shape))) - 1};
    });
    const read = this.#lanes.map((lane, place) => lane.submit(reads[place]));
    const results = ports.map(({name, dtype, tensor, shape, at}): RawOutput => {
      const bytes = this.#arrived(tensor, read[this.#memory.place(tensor)] as Promise<Uint8Array[]>, at);
      const data = bytes.then((stored) => fromStorage(stored, this.#memory.tensor(tensor).storage, dtype));
      data.catch(() => undefined);
      return {name, dtype, shape, data};
    });
    const done = Promise.all(this.#lanes.flatMap((lane) => lane.take()).map((fence) => fence.done));
    this.#flying.add(done);
    done.catch(() => undefined).finally(() => this.#flying.delete(done));
    return {results, done};
  }

  /** One of what was read: a tensor, whose name errors have. */
  async #arrived(tensor: number, data: Promise<Uint8Array[]>, at: number): Promise<Uint8Array> {
    try {
      return (await data)[at] as Uint8Array;
    } catch (problem) {
      const {life} = (this.units[this.#memory.place(tensor)] as Unit).device;
      return life.verdict(about(`tensor "${this.#memory.tensor(tensor).name}"`, problem));
    }
  }

  /** Bytes of device memory: what lasts, and what runs share. */
  memory(): {persistent: number; transient: number} {
    return this.#memory.usage();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#lanes.forEach((lane) => lane.clear());
    this.#forget();
    this.#cache.clear();
    this.#memory.dispose();
    for (const {device, executable} of this.units) {
      executable.dispose();
      device.dispose();
    }
  }
}
