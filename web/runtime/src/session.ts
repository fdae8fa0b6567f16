/** A loaded package on its devices: recordings of its launches, and one run after the other. */
import type {Device, Executable, Extent, Fence, Recording} from './device.ts';
import {discard} from './discard.ts';
import {orderFeeds, readDims, take} from './feeds.ts';
import {isStatic, type LaunchEntry, type Manifest, type SlotEntry, type WeightEntry} from './manifest.ts';
import type {Lifetime} from './lifetime.ts';
import {extentOf, Memory, resolve} from './memory.ts';
import type {Pieces} from './pieces.ts';
import {readSafetensors, type StoredTensor, storedType} from './safetensors.ts';
import {runSteps} from './steps.ts';
import {decode, fromStorage, toStorage} from './storage.ts';
import type {StringTensor, Tensor} from './tensor.ts';
import {BYTES, type DType, disposed, GossamerError, product, shapeText, type TensorData, SAFE, within} from './types.ts';

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
}

/** Everything that depends on the values of the dynamic dimensions. */
interface Specialization {
  readonly values: Float64Array;
  readonly extents: readonly Extent[];
  recording: Recording | undefined;
}

/** Recordings kept for other dimensions, and of launches between steps. */
const KEPT = 16;
const KEPT_PARTS = 256;

/** So many parts of a run may be under way before it waits for them. */
const AHEAD = 32;

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
    found.end - found.begin === product(shape) * BYTES[dtype]
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
  readonly #units: readonly Unit[];
  readonly #memory: Memory;
  /** A kernel's number among those of its device. */
  readonly #local: readonly number[];
  readonly #cache = new Map<string, Specialization>();
  /** Launches between steps, by which they are and the values they depend on. */
  readonly #parts = new Map<string, Recording>();
  /** Tensors that launches and outputs see; other inputs are only read by steps, and stay where they are. */
  readonly #seen: ReadonlySet<number>;
  /** The plan values that launches depend on. */
  readonly #uses = new Map<string, readonly number[]>();
  /** How often each launch of `run` happened in the latest run. */
  readonly times: number[];
  /** Tensors that went between devices in the latest run. */
  readonly copies = new Map<string, {from: number; to: number; times: number}>();
  #last: Promise<unknown> = Promise.resolve();
  /** Runs asked for and not done. */
  #pending = 0;
  #disposed = false;

  private constructor(manifest: Manifest, units: readonly Unit[]) {
    this.#manifest = manifest;
    this.#units = units;
    const devices = units.map(({device}) => device);
    this.#memory = new Memory(manifest, devices, () => this.#forget());
    const counts = units.map(() => 0);
    this.#local = manifest.kernels.map(({device}) => {
      const number = counts[device] ?? 0;
      counts[device] = number + 1;
      return number;
    });
    this.times = manifest.run.map(() => 0);
    const {run, outputs} = manifest;
    this.#seen = new Set([...run.flatMap(({tensors}) => tensors), ...outputs.map(({tensor}) => tensor)]);
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
    const fences: Promise<void>[] = [];
    for (const [at, launch] of init.entries()) {
      const mine = launch.tensors.map((tensor) => this.#memory.tensor(tensor).slot);
      await provide((slot) => mine.includes(slot) && last.has(slot));
      for (const tensor of launch.tensors) await upload(tensor);
      const recording = await this.#record([launch], undefined);
      const {done} = this.#submit([launch], recording);
      done.catch(() => undefined);
      fences.push(done);
      recording.dispose();
      for (const slot of mine) if (last.get(slot) === at) this.#memory.spend(slot);
    }
    for (const tensor of left.keys()) await upload(tensor);
    await Promise.all(fences);
  }

  get #life(): Lifetime {
    return (this.#units[0] as Unit).device.life;
  }

  /** The number of the device that runs these launches: all are of one. */
  #place(entries: readonly LaunchEntry[]): number {
    return this.#manifest.kernels[entries[0]?.kernel ?? 0]?.device ?? 0;
  }

  #unit(entries: readonly LaunchEntry[]): Unit {
    return this.#units[this.#place(entries)] as Unit;
  }

  #record(entries: readonly LaunchEntry[], values: Float64Array | undefined): Promise<Recording> {
    const launches = this.#memory.launches(entries, values, this.#local);
    return this.#unit(entries).executable.record(launches);
  }

  #submit(entries: readonly LaunchEntry[], recording: Recording): Fence {
    return this.#unit(entries).device.queue.submit(recording);
  }

  /** Lets go of everything that holds buffers which are about to go. */
  #forget(): void {
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
    const {executable} = this.#units[0] as Unit;
    // Integers, whatever a package that is not ours computes.
    const values = planValues > 0 ? (await executable.plan(segment, dims)).map(Math.trunc) : new Float64Array();
    for (const check of checks) {
      if (check.segment !== segment) continue;
      const value = resolve(check.value, values);
      if (check.most) within(value, `elements of ${check.message}`, check.most);
      else if (!value) throw new GossamerError('input', check.message);
    }
    return values;
  }

  async #specialize(key: string, dims: readonly number[]): Promise<Specialization> {
    let special = this.#cache.get(key);
    if (!special) {
      const values = await this.#plan(0, dims);
      const extents = this.#manifest.slots.map((_, at) => extentOf(this.#manifest, at, values));
      special = {values, extents, recording: undefined};
    }
    await this.#memory.provide(special.extents, false);
    special.recording ??= await this.#record(this.#manifest.run, special.values);
    return special;
  }

  /**
   * Checks the feeds at once and takes them: copies, unless they are `owned`, or nothing is under way and
   * they reach the device before this returns. The runs themselves queue up.
   */
  async run(
    feeds: Readonly<Record<string, Tensor | StringTensor>>,
    owned = false,
  ): Promise<RawOutput[]> {
    if (this.#disposed) throw disposed();
    const ordered = orderFeeds(this.#manifest, feeds);
    const dims = readDims(this.#manifest, ordered);
    const straight = this.#manifest.steps.length === 0;
    const idle = this.#pending++ === 0;
    const start = async (taken: readonly Tensor[]): Promise<RawOutput[]> => {
      try {
        if (this.#disposed) throw disposed();
        return await (straight ? this.#runStraight(taken, dims) : this.#runSteps(taken, dims));
      } catch (problem) {
        return await this.#life.verdict(this.#disposed ? disposed() : problem);
      } finally {
        --this.#pending;
      }
    };
    const ready = idle && straight && this.#cache.get(dims.join())?.recording !== undefined;
    const taken = owned || ready ? ordered : ordered.map(take);
    const result = idle ? start(taken) : this.#last.then(() => start(taken));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Reads the feeds before its first wait where these dimensions were recorded. */
  async #runStraight(feeds: readonly Tensor[], dims: readonly number[]): Promise<RawOutput[]> {
    const {run} = this.#manifest;
    const key = dims.join();
    let special = this.#cache.get(key);
    if (!special?.recording) special = await this.#specialize(key, dims);
    keep(this.#cache, key, special, KEPT)?.recording?.dispose();
    this.#writeInputs(feeds);
    const fence = this.#submit(run, special.recording as Recording);
    this.times.fill(1);
    const results = this.#readOutputs(special.values);
    await fence.done;
    return results;
  }

  async #runSteps(feeds: readonly Tensor[], dims: number[]): Promise<RawOutput[]> {
    const {steps, slots, inputs} = this.#manifest;
    let values = new Float64Array();
    let turn = performance.now();
    const fences: Fence[][] = this.#units.map(() => []);
    const settle = async (some = fences): Promise<void> => {
      await Promise.all(some.flatMap((each) => each.splice(0)).map(({done}) => done));
    };
    const given = (tensor: number): Tensor | undefined =>
      feeds[inputs.findIndex((port) => port.tensor === tensor)];
    // What goes wrong before is the error, not what is read because of it.
    const fetch = async (tensor: number, count: number): Promise<Uint8Array> => {
      const {device} = slots[this.#memory.tensor(tensor).slot] as SlotEntry;
      const before = (fences[device]?.splice(0) ?? []).map(({accepted}) => accepted);
      const [stored] = await Promise.all([this.#memory.read(tensor, count), ...before]);
      return stored;
    };
    const plan = async (segment: number): Promise<void> => {
      values = (await this.#plan(segment, dims)) as Float64Array<ArrayBuffer>;
      const extents = slots.map((slot, at) =>
        slot.segment === segment ? extentOf(this.#manifest, at, values) : undefined,
      );
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
        const entries = this.#manifest.run.slice(first, last);
        const mine = fences[this.#place(entries)] ?? [];
        if (mine.length >= AHEAD) await settle([mine]);
        mine.push(this.#submit(entries, await this.#part(first, last, entries, values)));
        for (let at = first; at < last; ++at) this.times[at] = (this.times[at] ?? 0) + 1;
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
          await settle();
          await new Promise((resolved) => setTimeout(resolved));
          turn = performance.now();
        }
        if (this.#disposed) throw disposed();
      },
    });
    const results = this.#readOutputs(values);
    await settle();
    return results;
  }

  /** A recording of these launches with these values; kept, since steps are repeated. */
  async #part(
    first: number,
    last: number,
    entries: readonly LaunchEntry[],
    values: Float64Array,
  ): Promise<Recording> {
    const range = `${first},${last}`;
    let uses = this.#uses.get(range);
    if (!uses) {
      const numbers = entries.flatMap(({range: extent, scalars}) => [extent, ...scalars]);
      uses = [...new Set(numbers.flatMap((number) => (typeof number === 'object' ? [number.plan] : [])))];
      this.#uses.set(range, uses);
    }
    const key = `${range}:${uses.map((at) => values[at]).join()}`;
    const part = this.#parts.get(key) ?? (await this.#record(entries, values));
    keep(this.#parts, key, part, KEPT_PARTS)?.dispose();
    return part;
  }

  #writeInputs(feeds: readonly Tensor[]): void {
    this.#manifest.inputs.forEach(({name, dtype, tensor}, at) => {
      if (!this.#seen.has(tensor)) return;
      const {storage} = this.#memory.tensor(tensor);
      const {data} = feeds[at] as Tensor;
      this.#memory.write(tensor, toStorage(data, dtype, storage, `input "${name}"`));
    });
  }

  /** Copies are taken at once: the next run overwrites the slots. */
  #readOutputs(values: Float64Array): RawOutput[] {
    return this.#manifest.outputs.map(({name, dtype, tensor, shape: extents}): RawOutput => {
      const shape = extents.map((extent) =>
        within(resolve(extent as number, values), `an axis of output "${name}"`),
      );
      const {storage} = this.#memory.tensor(tensor);
      const bytes = this.#memory.read(tensor, product(shape));
      const data = bytes.then((stored) => fromStorage(stored, storage, dtype));
      data.catch(() => undefined);
      return {name, dtype, shape, data};
    });
  }

  /** Bytes of device memory: what lasts, and what runs share. */
  memory(): {persistent: number; transient: number} {
    return this.#memory.usage();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#forget();
    this.#cache.clear();
    this.#memory.dispose();
    for (const {device, executable} of this.#units) {
      executable.dispose();
      device.dispose();
    }
  }
}
