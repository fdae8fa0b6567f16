/** A loaded package on its devices: runs that are put in one after the other. */
import {type Ends, type Fed, isHeld, isOnDevice, type Keeper, type OnDevice, TO_HOST} from './bindings.ts';
import type {Read} from '../devices/device.ts';
import {type Flat, orderFeeds, readDims, take} from './feeds.ts';
import type {Block, BlockPool, Home} from '../devices/home.ts';
import {initialize} from './initialize.ts';
import {keep, Launcher, type Recorded, type Unit} from './launcher.ts';
import type {LaunchEntry, Manifest, Num} from '../package/manifest.ts';
import type {Lifetime} from '../devices/lifetime.ts';
import {extentOf, type Others, resolve} from './memory.ts';
import {type Port, type ValuePort, valuePorts} from './ports.ts';
import {type Bound, type BoundEnds, KEPT, Recordings, type Specialization} from './recordings.ts';
import type {StepRuns} from '../steps/step_run.ts';
import {fromStorage, toStorage} from '../values/storage.ts';
import type {Output, Tensor} from '../values/tensor.ts';
import {type DType, disposed, GossamerError, product, type TensorData, within} from '../values/types.ts';
import type {Rows} from '../rows/rows.ts';
import type {WeightFiles} from '../package/weights.ts';

export type {Recorded, Unit} from './launcher.ts';

export interface RawOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Its values, or where they are. */
  readonly data: Promise<TensorData> | Output;
}

/** A run that is put in. */
interface Going {
  readonly results: RawOutput[];
  readonly done: Promise<unknown>;
}

/** How many runs may be under way before the next waits for the first. */
const IN_FLIGHT = 8;

export class Session {
  readonly #launcher: Launcher;
  readonly #cache = new Map<string, Specialization>();
  readonly #recordings: Recordings;
  /** Where states grow by rows. */
  #rows: Rows | undefined;
  /** Extents of slots for the largest dimensions so far: the same while a sequence has room. */
  #largest: {readonly key: string | undefined; readonly extents: Specialization['extents']} = {key: undefined, extents: []};
  /** Where the package has steps. */
  #steps: StepRuns | undefined;
  readonly #ports: ReadonlyMap<string, ValuePort>;
  readonly #home: Home;
  /** Whether the device goes with the session. */
  readonly #own: boolean;
  /** Inputs that launches and outputs see; others are only read by steps, and stay where they are. */
  readonly #seen: readonly number[];
  /** Until the run asked for last is put in. */
  #last: Promise<unknown> = Promise.resolve();
  /** Runs asked for and not put in. */
  #waiting = 0;
  /** Runs put in and not done. */
  readonly #flying: Promise<unknown>[] = [];
  #disposed = false;

  private constructor(manifest: Manifest, units: readonly Unit[], home: Home, own: boolean) {
    this.#home = home;
    this.#own = own;
    this.#launcher = new Launcher(manifest, units, () => this.#forget());
    this.#recordings = new Recordings(this.#launcher, home);
    this.#ports = new Map(valuePorts(manifest.inputs).map((port) => [port.name, port]));
    const {run, outputs} = manifest;
    // An input that a launch updates in place is seen as the output in its slot.
    const slotOf = (tensor: number): number => this.#launcher.memory.tensor(tensor).slot;
    const seen = new Set([...run.flatMap(({tensors}) => tensors), ...outputs.map(({tensor}) => tensor)].map(slotOf));
    this.#seen = manifest.inputs.flatMap(({tensor}, at) => (seen.has(slotOf(tensor)) ? [at] : []));
  }

  /** Places the memory, uploads the weights and runs the init launches; `progress` gets bytes of weights. */
  static async create(
    manifest: Manifest,
    units: readonly Unit[],
    weights: WeightFiles,
    progress: (done: number, total: number) => void,
    home: Home,
    own: boolean,
  ): Promise<Session> {
    const session = new Session(manifest, units, home, own);
    try {
      if (manifest.steps.length > 0) {
        const {StepRuns: Runs} = await import('../steps/step_run.ts');
        session.#steps = new Runs(session.#launcher);
      }
      if (manifest.dims.some(({output}) => output !== undefined)) {
        session.#rows = await (await import('../rows/rows.ts')).openRows(manifest, home);
      }
      await initialize(session.#launcher, weights, !own, progress);
    } catch (problem) {
      session.dispose();
      throw problem;
    }
    return session;
  }

  get units(): readonly Unit[] {
    return this.#launcher.units;
  }

  get #manifest(): Manifest {
    return this.#launcher.manifest;
  }

  get #life(): Lifetime {
    return (this.units[0] as Unit).device.life;
  }

  /** How often each launch of `run` happened in the latest run. */
  get times(): readonly number[] {
    return this.#launcher.times;
  }

  /** Tensors that went between devices in the latest run. */
  get copies(): Launcher['copies'] {
    return this.#launcher.copies;
  }

  /** Binds launches of one device, and says what they are. */
  record(entries: readonly LaunchEntry[], values: Float64Array | undefined): Promise<Recorded> {
    return this.#launcher.record(entries, values);
  }

  /** Lets go of everything that holds buffers which are about to go. */
  #forget(): void {
    for (const lane of this.#launcher.lanes) void lane.submit();
    this.#recordings.clear();
    this.#steps?.clear();
  }

  /** A segment's values. */
  async #valuesOf(segment: number, dims: readonly number[]): Promise<Float64Array> {
    const {executable, plan} = this.units[0] as Unit;
    const found = this.#manifest.plan ? (plan?.evaluate(segment, dims) ?? (await executable.plan?.(segment, dims))) : undefined;
    // Integers, whatever a package that is not ours computes.
    return found?.map(Math.trunc) ?? new Float64Array();
  }

  /** The same, after its checks. */
  async #plan(segment: number, dims: readonly number[], known?: Float64Array): Promise<Float64Array> {
    const {checks} = this.#manifest;
    const values = known ?? (await this.#valuesOf(segment, dims));
    for (const check of checks) {
      if (check.segment !== segment) continue;
      const value = resolve(check.value, values);
      if (check.most !== undefined) within(value, `elements of ${check.message}`, check.most);
      else if (!value) throw new GossamerError('input', check.message);
    }
    return values;
  }

  async #specialize(dims: readonly number[], {most, values: known}: Ends): Promise<Specialization> {
    const key = dims.join();
    let special = this.#cache.get(key);
    if (!special) {
      const values = await this.#plan(0, dims, known);
      const largest = most?.join();
      let {extents} = this.#largest;
      if (!largest || largest !== this.#largest.key) {
        const sizes = most ? await this.#valuesOf(0, most) : values;
        extents = this.#manifest.slots.map((_, at) => extentOf(this.#manifest, at, sizes));
        this.#largest = {key: largest, extents};
      }
      special = {key, dims, values, extents};
    }
    keep(this.#cache, key, special, KEPT);
    return special;
  }

  /**
   * Checks the feeds at once and takes them: copies, unless they are `owned`, or nothing waits and they reach the
   * device before this returns. Runs are put in one after the other, each before the last is done. Gives the outputs when
   * they are computed; where some stay on the device, when the run is put in.
   */
  async run(feeds: Flat, owned = false, ends = TO_HOST): Promise<RawOutput[]> {
    this.#check();
    return this.runOrdered(orderFeeds(this.#ports, feeds), owned, ends);
  }

  #check(): void {
    if (this.#disposed) throw disposed();
    this.#home.check();
  }

  /** The same with a right feed for each input, in order. */
  async runOrdered(ordered: (Tensor | OnDevice)[], owned: boolean, ends: Ends): Promise<RawOutput[]> {
    this.#check();
    const dims = readDims(this.#manifest, ordered);
    ends.keeper?.(this.#home); // and with it the memory for what stays
    if (this.#rows) {
      owned = true;
      [ordered, ends] = await this.#rows.place(ordered, dims, ends, (some) => this.#valuesOf(0, some));
    }
    const first = ordered.find(isOnDevice);
    const held = first?.hold(ordered, ends.given, this.#manifest, this.#launcher.sites, this.#home) ?? (ordered as Tensor[]);
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
    if (special && this.#waiting === 0 && this.#flying.length < IN_FLIGHT) {
      const bound = this.#recordings.find(special, held, ends);
      if ('recording' in bound) return this.#launch(held, special, bound, ends);
    }
    return this.#queue(owned ? held : held.map((feed) => (isHeld(feed) ? feed : take(feed))), dims, ends);
  }

  /** Puts a run in when those before it are. */
  async #queue(feeds: readonly Fed[], dims: number[], ends: Ends): Promise<Going> {
    const begun = this.#last.then(async () => {
      for (let first = this.#flying[0]; first && this.#flying.length >= IN_FLIGHT; first = this.#flying[0]) {
        await first.catch(() => undefined);
      }
      if (this.#disposed) throw disposed();
      if (this.#steps) return this.#runSteps(this.#steps, feeds, dims, ends);
      const special = await this.#specialize(dims, ends);
      return this.#launch(feeds, special, await this.#recordings.bind(special, feeds, ends), ends);
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
  #launch(feeds: readonly Fed[], {values, dims}: Specialization, bound: Bound, ends: Ends): Going {
    const {recording, others, stay, fresh} = bound;
    try {
      const its = (bound.ends ??= this.#endsOf(feeds, values, stay, others, dims));
      if (this.#rows) bound.ends = undefined; // their room is another one in the next run
      this.#writeInputs(feeds, others, its.inputs);
      void this.#launcher.lanes[0]?.add(recording, 0);
      this.#launcher.times.fill(1);
      const going = this.#finish(its, ends, stay, dims);
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

  async #runSteps(steps: StepRuns, feeds: readonly Fed[], dims: number[], ends: Ends): Promise<Going> {
    const values = await steps.run(feeds, dims, {
      plan: (segment) => this.#plan(segment, dims),
      begin: () => this.#writeInputs(feeds),
      check: () => {
        if (this.#disposed) throw disposed();
      },
    });
    const stay: Block[] = [];
    try {
      for (const [at, {storage, name, direct}] of this.#launcher.sites.outputs.entries()) {
        if (!ends.stay[at] || !direct) continue;
        const {extent} = this.#launcher.memory.buffer(this.#manifest.outputs[at]?.tensor ?? 0);
        stay[at] = await this.#pool.take(extent, storage, `tensor "${name}"`);
      }
      return this.#finish(this.#endsOf(feeds, values, stay), ends, stay);
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

  #writeInputs(feeds: readonly Fed[], others?: Others, inputs = this.#seen): void {
    this.#launcher.lanes.forEach((lane) => lane.clear());
    for (const at of inputs) {
      const {name, dtype, tensor} = this.#manifest.inputs[at] as Port;
      const {storage} = this.#launcher.memory.tensor(tensor);
      const feed = feeds[at] as Fed;
      if (!isHeld(feed)) {
        this.#launcher.memory.write(tensor, toStorage(feed.data, dtype, storage, `input "${name}"`), false, others);
        continue;
      }
      const {buffer: from} = feed.block;
      const {buffer: to, bytes} = this.#launcher.memory.reading(tensor, product(feed.shape), others);
      if (from !== to) this.#home.backend.queue.copy(from, to, bytes, storage);
    }
  }

  /** What goes into and out of the memory of a run. `stay`: what outputs that stay on the device have. */
  #endsOf(feeds: readonly Fed[], values: Float64Array, stay: readonly (Block | undefined)[], others?: Others, dims: readonly number[] = []): BoundEnds {
    const {memory, lanes, sites} = this.#launcher;
    const reads = lanes.map((): Read[] => []);
    const outputs = this.#manifest.outputs.map(({name, tensor, shape: extents}, at) => {
      const shape = this.#shapeOf(name, extents, values);
      const reading = memory.reading(tensor, product(this.#rows?.roomOf(at, dims)?.within(shape) ?? shape), others);
      const read = stay[at] ? 0 : (reads[memory.place(tensor)] as Read[]).push(reading) - 1;
      return {shape, reading, read};
    });
    const inputs = this.#seen.filter((at) => {
      const feed = feeds[at] as Fed;
      return !isHeld(feed) || others?.get(sites.inputs[at]?.slot ?? 0) !== feed.block;
    });
    return {inputs, reads, outputs};
  }

  /** Submits what waits, with the copies of the outputs in it: the next run overwrites their memory. */
  #finish({reads, outputs}: BoundEnds, ends: Ends, stay: readonly (Block | undefined)[], dims: readonly number[] = []): Going {
    const {memory, lanes} = this.#launcher;
    outputs.forEach(({reading: {buffer, bytes, storage}}, at) => {
      const block = stay[at];
      if (!block || buffer === block.buffer) return;
      void lanes[0]?.submit();
      this.#home.backend.queue.copy(buffer, block.buffer, bytes, storage);
    });
    const read = lanes.map((lane, place) => lane.submit(reads[place]));
    const done = Promise.all(lanes.flatMap((lane) => lane.take()).map((fence) => fence.done));
    const keeper = ends.keeper?.(this.#home);
    const results = outputs.map(({shape, reading: {storage}, read: index}, at): RawOutput => {
      const {name, dtype, tensor} = this.#manifest.outputs[at] as Port;
      const room = this.#rows?.roomOf(at, dims);
      const block = stay[at];
      const result = {name, dtype, shape, data: undefined as unknown as RawOutput['data']};
      if (block) {
        result.data = (room ?? (keeper as Keeper)).keep(result, storage, block, done, ends.once[at]);
        return result;
      }
      const bytes = this.#launcher.arrived(tensor, read[memory.place(tensor)] as Promise<Uint8Array[]>, index);
      const whole = bytes.then((stored) => fromStorage(stored, storage, dtype));
      const host = room ? whole.then((data) => room.taken(data, shape)) : whole;
      host.catch(() => undefined);
      result.data = ends.stay[at] ? (keeper as Keeper).keep(result, dtype, {host}, done, ends.once[at]) : host;
      return result;
    });
    this.#flying.push(done);
    const landed = (): unknown => this.#flying.splice(this.#flying.indexOf(done), 1);
    done.then(landed, landed);
    return {results, done};
  }

  /** Bytes of device memory: what lasts, and what runs share. */
  memory(): {persistent: number; transient: number} {
    return this.#launcher.memory.usage();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#launcher.lanes.forEach((lane) => lane.clear());
    this.#forget();
    this.#cache.clear();
    this.#launcher.memory.dispose();
    for (const {executable} of this.units) executable.dispose();
    if (this.#own) this.#home.dispose();
  }
}
