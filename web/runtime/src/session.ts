/** A loaded package on its devices: recordings of its launches, and runs that are put in one after the other. */
import {type Ends, type Fed, fits, isHeld, isOnDevice, type Keeper, placesOf, type Sites, sitesOf, TO_HOST} from './bindings.ts';
import type {Device, Executable, Extent, Read, Recording} from './device.ts';
import {discard} from './discard.ts';
import {sizeOf} from './extents.ts';
import {type Flat, orderFeeds, readDims, take} from './feeds.ts';
import type {Block, BlockPool, Home} from './home.ts';
import {isStatic, type LaunchEntry, type Manifest, type Num, type WeightEntry} from './manifest.ts';
import {Lane} from './lane.ts';
import type {Lifetime} from './lifetime.ts';
import {extentOf, Memory, type Others, resolve, spared} from './memory.ts';
import type {Pieces} from './pieces.ts';
import type {PlanMemory} from './plan_module.ts';
import {type ValuePort, valuePorts} from './ports.ts';
import {readSafetensors, type StoredTensor, storedType} from './safetensors.ts';
import {runSteps} from './steps.ts';
import {decode, fromStorage, toStorage} from './storage.ts';
import type {Output, Tensor} from './tensor.ts';
import {about, bytesOf, type DType, disposed, GossamerError, product, shapeText, type TensorData, SAFE, within} from './types.ts';

export interface RawOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Its values, or where they are. */
  readonly data: Promise<TensorData> | Output;
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
  readonly key: string;
  readonly values: Float64Array;
  readonly extents: readonly Extent[];
}

/** A recording with the memory that it binds instead of slots' own. */
interface Bound {
  readonly recording: Recorded;
  /** By what others bind the same memory, whatever the dimensions. */
  readonly memory: string;
  readonly others: Map<number, Block>;
  /** By output: the memory of one that stays on the device. */
  readonly stay: readonly (Block | undefined)[];
  /** Of these what must be at rest, as it is no feed's. */
  readonly fresh: readonly Block[];
}

/** Which launches a recording has, and the values that they depend on. */
export interface Recorded extends Recording {
  readonly entries: readonly LaunchEntry[];
  values: Float64Array | undefined;
}

/** What a recording that is not there yet has to bind. */
interface Wanted {
  readonly name: string;
  readonly memory: string;
  readonly others: Map<number, Block>;
}

interface Range {
  readonly name: string;
  readonly entries: readonly LaunchEntry[];
  readonly uses: readonly number[];
}

/** Dimensions, and recordings of launches between steps, that are kept. */
const KEPT = 16;
const KEPT_PARTS = 256;
/** Recordings that are kept by dimensions and feeds on the device, for so many sets of outputs each. */
const KEPT_BOUND = 32;
const KEPT_SETS = 4;

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
  readonly #bound = new Map<string, Bound[]>();
  readonly #ports: ReadonlyMap<string, ValuePort>;
  readonly #sites: Sites;
  /** By output: the most that it had, of its own. */
  readonly #rooms: Extent[] = [];
  readonly #home: Home;
  /** Whether the device goes with the session. */
  readonly #own: boolean;
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

  private constructor(manifest: Manifest, units: readonly Unit[], home: Home, own: boolean) {
    this.#manifest = manifest;
    this.units = units;
    this.#home = home;
    this.#own = own;
    this.#ports = new Map(valuePorts(manifest.inputs).map((port) => [port.name, port]));
    this.#sites = sitesOf(manifest);
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
    home: Home,
    own: boolean,
  ): Promise<Session> {
    const session = new Session(manifest, units, home, own);
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
    // Memory that is known now is there from the start, but for ends that are perhaps other memory in each run; the rest
    // grows with the first run.
    const {inputs, outputs} = this.#sites;
    const ends = new Set(this.#own ? [] : [...inputs, ...outputs.filter(({free}) => free)].map(({slot}) => slot));
    await provide((slot) => !last.has(slot) && !ends.has(slot));
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
  #placeOf(entries: readonly LaunchEntry[]): number {
    return this.#manifest.kernels[entries[0]?.kernel ?? 0]?.device ?? 0;
  }

  #unit(entries: readonly LaunchEntry[]): Unit {
    return this.units[this.#placeOf(entries)] as Unit;
  }

  /** Binds launches of one device, and says what they are. */
  async record(
    entries: readonly LaunchEntry[],
    values: Float64Array | undefined,
    others?: Others,
  ): Promise<Recorded> {
    const launches = this.#memory.launches(entries, values, this.#local, others);
    return Object.assign(await this.#unit(entries).executable.record(launches), {entries, values});
  }

  /** Lets go of everything that holds buffers which are about to go. */
  #forget(): void {
    for (const lane of this.#lanes) void lane.submit();
    for (const sets of this.#bound.values()) for (const {recording} of sets) recording.dispose();
    this.#bound.clear();
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
    const key = dims.join();
    let special = this.#cache.get(key);
    if (!special) {
      const values = await this.#plan(0, dims);
      special = {key, values, extents: this.#manifest.slots.map((_, at) => extentOf(this.#manifest, at, values))};
    }
    keep(this.#cache, key, special, KEPT);
    return special;
  }

  /** The recording for these feeds and outputs whose memory is at rest, which it takes; or what one has to bind. */
  #find({key, extents}: Specialization, feeds: readonly Fed[], ends: Ends): Bound | Wanted {
    const places = placesOf(this.#sites, feeds, extents);
    const memory = `${ends.key}${places.key}`;
    const name = `${key}|${memory}`;
    const sets = this.#bound.get(name);
    const found = sets?.find(({fresh}) => fresh.every(({users}) => users === 0));
    if (!sets || !found) return {name, memory, others: places.others};
    keep(this.#bound, name, sets, Infinity);
    for (const block of found.fresh) this.#pool.claim(block);
    return found;
  }

  async #bind(special: Specialization, feeds: readonly Fed[], ends: Ends): Promise<Bound> {
    const found = this.#find(special, feeds, ends);
    if ('recording' in found) return found;
    const {name, memory, others} = found;
    const known = this.#adopt(special, memory, others.size > 0);
    if (known) return this.#keep(name, known);
    const blocks = this.#pool;
    const fresh: Block[] = [];
    const stay: (Block | undefined)[] = [];
    try {
      for (const [at, {slot, storage, name: port, direct, free}] of this.#sites.outputs.entries()) {
        if (!ends.stay[at] || !direct) continue;
        const given = free ? others.get(slot) : undefined; // what an input has left there
        const room = this.#roomOf(at, special.extents[slot] as Extent);
        const block = given ?? (await blocks.take(room, storage, `tensor "${port}"`));
        stay[at] = block;
        if (!given) fresh.push(block);
        if (free) others.set(slot, block);
      }
      const own = special.extents.map((extent, slot) => (others.has(slot) ? undefined : extent));
      await this.#memory.provide(own, true);
      const recording = await this.record(this.#manifest.run, special.values, others);
      return this.#keep(name, {recording, memory, others, stay, fresh});
    } catch (problem) {
      fresh.forEach((block) => blocks.release(block));
      throw problem;
    }
  }

  #keep(name: string, bound: Bound): Bound {
    const sets = this.#bound.get(name) ?? [];
    if (sets.length === KEPT_SETS) sets.shift()?.recording.dispose();
    sets.push(bound);
    keep(this.#bound, name, sets, KEPT_BOUND)?.forEach((each) => each.recording.dispose());
    return bound;
  }

  /**
   * A recording of other dimensions that binds the same memory, with these: a sequence that grows by one each run makes no
   * bindings anew. There are to be two of a memory on the device, and as many as are kept of the slots' own, before one is changed.
   */
  #adopt({values, extents}: Specialization, memory: string, fed: boolean): Bound | undefined {
    const alike = [...this.#bound.values()].flatMap((sets) =>
      sets.flatMap((bound) => (bound.memory === memory ? [{sets, bound}] : [])),
    );
    if (alike.length < (fed ? 2 : KEPT)) return undefined;
    const found = alike.find(
      ({bound: {fresh, stay}}) =>
        fresh.every(({users}) => users === 0) &&
        stay.every((block, at) => !block || fits(block.buffer.extent, extents[this.#sites.outputs[at]?.slot ?? 0])),
    );
    if (!found || !this.#memory.holds(extents.map((extent, slot) => (found.bound.others.has(slot) ? undefined : extent)))) {
      return undefined;
    }
    const {sets, bound} = found;
    sets.splice(sets.indexOf(bound), 1);
    const {run} = this.#manifest;
    this.#unit(run).executable.update(bound.recording, this.#memory.launches(run, values, this.#local, bound.others));
    for (const block of bound.fresh) this.#pool.claim(block);
    bound.recording.values = values;
    return bound;
  }

  /** What an output gets: half as much again where it has grown, so that it may grow further. */
  #roomOf(output: number, wanted: Extent): Extent {
    const had = this.#rooms[output];
    if (had && sizeOf(wanted) <= sizeOf(had)) return 2 * sizeOf(wanted) > sizeOf(had) ? had : wanted;
    return (this.#rooms[output] = spared(wanted, had));
  }

  /**
   * Checks the feeds at once and takes them: copies, unless they are `owned`, or nothing waits and they reach the
   * device before this returns. Runs are put in one after the other, each before the last is done. Gives the outputs when
   * they are computed; where some stay on the device, when the run is put in.
   */
  async run(feeds: Flat, owned = false, ends = TO_HOST): Promise<RawOutput[]> {
    if (this.#disposed) throw disposed();
    this.#home.check();
    const ordered = orderFeeds(this.#ports, feeds);
    const dims = readDims(this.#manifest, ordered);
    ends.keeper?.(this.#home); // and with it the memory for what stays
    const first = ordered.find(isOnDevice);
    const held = first?.hold(ordered, ends.given, this.#manifest, this.#sites, this.#home) ?? (ordered as Tensor[]);
    try {
      const {results, done} = await this.#putIn(held, dims, owned, ends);
      if (!ends.any) await done;
      return results;
    } catch (problem) {
      if (!(held instanceof Promise)) this.#release(held);
      return await this.#life.verdict(this.#disposed ? disposed() : (this.#home.over ?? problem));
    }
  }

  /** At once where everything for it is there; else when those before it are. */
  #putIn(held: readonly Fed[] | Promise<Fed[]>, dims: number[], owned: boolean, ends: Ends): Going | Promise<Going> {
    const special = this.#cache.get(dims.join());
    if (held instanceof Promise) return held.then((feeds) => this.#queue(feeds, dims, ends));
    if (special && this.#waiting === 0 && this.#flying.size < IN_FLIGHT) {
      const bound = this.#find(special, held, ends);
      if ('recording' in bound) return this.#launch(held, special, bound, ends);
    }
    return this.#queue(owned ? held : held.map((feed) => (isHeld(feed) ? feed : take(feed))), dims, ends);
  }

  /** Puts a run in when those before it are. */
  async #queue(feeds: readonly Fed[], dims: number[], ends: Ends): Promise<Going> {
    const begun = this.#last.then(async () => {
      for (const first of this.#flying) {
        if (this.#flying.size < IN_FLIGHT) break;
        await first.catch(() => undefined);
      }
      if (this.#disposed) throw disposed();
      if (this.#manifest.steps.length > 0) return this.#runSteps(feeds, dims, ends);
      const special = await this.#specialize(dims);
      return this.#launch(feeds, special, await this.#bind(special, feeds, ends), ends);
    });
    this.#last = begun.catch(() => undefined);
    ++this.#waiting;
    try {
      return await begun;
    } finally {
      this.#release(feeds);
      --this.#waiting;
    }
  }

  /** What a run held is free, but for what became an output. */
  #release(feeds: readonly Fed[]): void {
    for (const feed of feeds) {
      if (!isHeld(feed) || !feed.held) continue;
      feed.held = false;
      feed.home.pool?.release(feed.block);
    }
  }

  /** A run without steps. */
  #launch(feeds: readonly Fed[], {values}: Specialization, bound: Bound, ends: Ends): Going {
    const {recording, others, stay, fresh} = bound;
    try {
      this.#writeInputs(feeds, others);
      void this.#lanes[0]?.add(recording, 0);
      this.times.fill(1);
      const going = this.#finish(values, ends, stay, others);
      for (const feed of feeds) {
        if (isHeld(feed) && feed.given && stay.includes(feed.block)) feed.held = false;
      }
      this.#release(feeds);
      return going;
    } catch (problem) {
      fresh.forEach((block) => this.#pool.release(block));
      throw problem;
    }
  }

  async #runSteps(feeds: readonly Fed[], dims: number[], ends: Ends): Promise<Going> {
    const {steps, slots, inputs} = this.#manifest;
    const lanes = this.#lanes;
    let values = new Float64Array();
    let turn = performance.now();
    const laneOf = (tensor: number): Lane => lanes[this.#memory.place(tensor)] as Lane;
    const given = (tensor: number): Tensor | undefined =>
      feeds[inputs.findIndex((port) => port.tensor === tensor)] as Tensor | undefined; // steps read on the host
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
        await lanes[this.#placeOf(range.entries)]?.add(part, last - first);
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
    const stay: Block[] = [];
    try {
      for (const [at, {storage, name, direct}] of this.#sites.outputs.entries()) {
        if (!ends.stay[at] || !direct) continue;
        const {extent} = this.#memory.buffer(this.#manifest.outputs[at]?.tensor ?? 0);
        stay[at] = await this.#pool.take(extent, storage, `tensor "${name}"`);
      }
      return this.#finish(values, ends, stay);
    } catch (problem) {
      stay.forEach((block) => this.#pool.release(block));
      throw problem;
    }
  }

  /** It is there when there are tensors for it. */
  get #pool(): BlockPool {
    return this.#home.pool as BlockPool;
  }

  #shapeOf(name: string, shape: Manifest['outputs'][number]['shape'], values: Float64Array): number[] {
    return shape.map((extent) => within(resolve(extent as Num, values), `an axis of output "${name}"`));
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

  #writeInputs(feeds: readonly Fed[], others?: Others): void {
    this.#lanes.forEach((lane) => lane.clear());
    this.#manifest.inputs.forEach(({name, dtype, tensor}, at) => {
      const {slot, storage} = this.#memory.tensor(tensor);
      if (!this.#seen.has(slot)) return;
      const feed = feeds[at] as Fed;
      if (!isHeld(feed)) {
        this.#memory.write(tensor, toStorage(feed.data, dtype, storage, `input "${name}"`), false, others);
        return;
      }
      const {buffer: from} = feed.block;
      const {buffer: to, bytes} = this.#memory.reading(tensor, product(feed.shape), others);
      if (from !== to) this.#home.backend.queue.copy(from, to, bytes, storage);
    });
  }

  /**
   * Submits what waits, with the copies of the outputs in it: the next run overwrites their memory. `stay`: what those
   * that stay on the device have.
   */
  #finish(values: Float64Array, ends: Ends, stay: readonly (Block | undefined)[], others?: Others): Going {
    const reads = this.#lanes.map((): Read[] => []);
    const ports = this.#manifest.outputs.map(({name, dtype, tensor, shape: extents}, at) => {
      const shape = this.#shapeOf(name, extents, values);
      const reading = this.#memory.reading(tensor, product(shape), others);
      const block = stay[at];
      if (!block) return {name, dtype, tensor, shape, at: (reads[this.#memory.place(tensor)] as Read[]).push(reading) - 1};
      const {buffer, bytes, storage} = reading;
      if (buffer !== block.buffer) {
        void this.#lanes[0]?.submit();
        this.#home.backend.queue.copy(buffer, block.buffer, bytes, storage);
      }
      return {name, dtype, shape, storage, block};
    });
    const read = this.#lanes.map((lane, place) => lane.submit(reads[place]));
    const done = Promise.all(this.#lanes.flatMap((lane) => lane.take()).map((fence) => fence.done));
    const keeper = ends.keeper?.(this.#home);
    const results = ports.map(({name, dtype, tensor, shape, storage, block, at: index}, at): RawOutput => {
      const header = {name, dtype, shape};
      const keep = (memory: Block | {readonly host: Promise<TensorData>}): Output =>
        (keeper as Keeper).keep(header, storage ?? dtype, memory, done, ends.once[at]);
      if (block) return {...header, data: keep(block)};
      const bytes = this.#arrived(tensor, read[this.#memory.place(tensor)] as Promise<Uint8Array[]>, index);
      const host = bytes.then((stored) => fromStorage(stored, this.#memory.tensor(tensor).storage, dtype));
      host.catch(() => undefined);
      return {...header, data: ends.stay[at] ? keep({host}) : host};
    });
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
    for (const {executable} of this.units) executable.dispose();
    if (this.#own) this.#home.dispose();
  }
}
