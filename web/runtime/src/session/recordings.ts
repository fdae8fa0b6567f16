/** Recordings of a run's launches, kept by its dimensions and by the memory that its feeds and outputs have. */
import {type Ends, type Fed, fits, isHeld, isMine, placesOf} from './bindings.ts';
import type {Extent, Read} from '../devices/device.ts';
import {sizeOf} from '../devices/extents.ts';
import type {Block, BlockPool, Home} from '../devices/home.ts';
import {keep, type Launcher, type Recorded} from './launcher.ts';
import {spared} from './memory.ts';

/** Everything that depends on the values of the dynamic dimensions. */
export interface Specialization {
  readonly key: string;
  readonly dims: readonly number[];
  readonly values: Float64Array;
  readonly extents: readonly Extent[];
}

/** A recording with the memory that it binds instead of slots' own. */
export interface Bound {
  readonly recording: Recorded;
  /** By what others bind the same memory, whatever the dimensions. */
  readonly memory: string;
  readonly others: Map<number, Block>;
  /** By output: the memory of one that stays on the device. */
  readonly stay: readonly (Block | undefined)[];
  /** Those of `stay` that are not feeds': no run may use them. */
  readonly fresh: readonly Block[];
  /** What is alike in all its runs, from the first on. */
  ends?: BoundEnds | undefined;
}

/** What goes into and out of the memory that a recording binds. */
export interface BoundEnds {
  /** Inputs whose elements are brought there. */
  readonly inputs: readonly number[];
  /** By device. */
  readonly reads: readonly (readonly Read[])[];
  /** By output: its shape, how it is read, and its number among its device's reads where it does not stay. */
  readonly outputs: readonly {readonly shape: readonly number[]; readonly reading: Read; readonly read: number}[];
}

/** What a recording was found for. */
interface Fit {
  readonly special: Specialization;
  readonly ends: Ends;
  readonly name: string;
  readonly bound: Bound;
  /** By input: the memory of one on the device, and whether the run might write there. */
  readonly blocks: readonly (Block | undefined)[];
  readonly mine: readonly boolean[];
}

/** What a recording that is not there yet has to bind. */
interface Wanted {
  readonly name: string;
  readonly memory: string;
  readonly others: Map<number, Block>;
}

/** Dimensions that are kept. */
export const KEPT = 16;
/** Recordings kept by dimensions and feeds on the device, and sets of outputs kept for each. */
const KEPT_BOUND = 32;
const KEPT_SETS = 4;
/** How many of the latest are found by their feeds, without a name. */
const KEPT_FITS = 8;

type Site = Launcher['sites']['inputs'][number];

const isAtRest = ({fresh}: Bound): boolean => fresh.every(({users}) => users === 0);

export class Recordings {
  readonly #launcher: Launcher;
  readonly #home: Home;
  readonly #bound = new Map<string, Bound[]>();
  #fits: Fit[] = [];
  /** By output: the most that it had, of its own. */
  readonly #rooms: Extent[] = [];

  constructor(launcher: Launcher, home: Home) {
    this.#launcher = launcher;
    this.#home = home;
  }

  /** It is there when there are tensors for it. */
  get #pool(): BlockPool {
    return this.#home.pool as BlockPool;
  }

  /** The recording for these feeds and outputs whose memory is at rest, which it takes; or what one has to bind. */
  find(special: Specialization, feeds: readonly Fed[], ends: Ends): Bound | Wanted {
    const {key, extents} = special;
    const {inputs} = this.#launcher.sites;
    const isFit = ({blocks, mine, bound, ...fit}: Fit): boolean =>
      fit.special === special && fit.ends === ends && isAtRest(bound) &&
      feeds.every((feed, at) => (isHeld(feed) ? feed.block === blocks[at] && isMine(feed, inputs[at] as Site) === mine[at] : !blocks[at]));
    const known = this.#fits.find(isFit);
    if (known) return this.#take(known);
    const places = placesOf(this.#launcher.sites, feeds, extents);
    const memory = `${ends.key}${places.key}`;
    const name = `${key}|${memory}`;
    const sets = this.#bound.get(name);
    const bound = sets?.find(isAtRest);
    if (!bound) return {name, memory, others: places.others};
    const blocks = feeds.map((feed) => (isHeld(feed) ? feed.block : undefined));
    const fit = {special, ends, name, bound, blocks, mine: feeds.map((feed, at) => isHeld(feed) && isMine(feed, inputs[at] as Site))};
    this.#fits = [fit, ...this.#fits.slice(0, KEPT_FITS - 1)];
    return this.#take(fit);
  }

  #take({name, bound}: Fit): Bound {
    // Their order matters when some are to go.
    if (2 * this.#bound.size > KEPT_BOUND) keep(this.#bound, name, this.#bound.get(name) as Bound[], Infinity);
    for (const block of bound.fresh) this.#pool.claim(block);
    return bound;
  }

  async bind(special: Specialization, feeds: readonly Fed[], ends: Ends): Promise<Bound> {
    const found = this.find(special, feeds, ends);
    if ('recording' in found) return found;
    const {name, memory, others} = found;
    const known = this.#adopt(special, memory, others.size > 0);
    if (known) return this.#keep(name, known);
    const blocks = this.#pool;
    const fresh: Block[] = [];
    const stay: (Block | undefined)[] = [];
    const {sites, manifest} = this.#launcher;
    try {
      for (const [at, {slot, storage, name: port, direct, free}] of sites.outputs.entries()) {
        if (!ends.stay[at] || !direct) continue;
        const given = free ? others.get(slot) : undefined; // what an input has left there
        const room = this.#roomOf(at, special.extents[slot] as Extent);
        const block = given ?? (await blocks.take(room, storage, `tensor "${port}"`));
        stay[at] = block;
        if (!given) fresh.push(block);
        if (free) others.set(slot, block);
      }
      const own = special.extents.map((extent, slot) => (others.has(slot) ? undefined : extent));
      await this.#launcher.memory.provide(own, true);
      const recording = await this.#launcher.record(manifest.run, special.values, others);
      return this.#keep(name, {recording, memory, others, stay, fresh});
    } catch (problem) {
      fresh.forEach((block) => blocks.release(block));
      throw problem;
    }
  }

  #keep(name: string, bound: Bound): Bound {
    const sets = this.#bound.get(name) ?? [];
    this.#fits = []; // some of them may be dropped
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
    const {sites, memory: slots} = this.#launcher;
    const alike = [...this.#bound.values()].flatMap((sets) =>
      sets.flatMap((bound) => (bound.memory === memory ? [{sets, bound}] : [])),
    );
    if (alike.length < (fed ? 2 : KEPT)) return undefined;
    const found = alike.find(
      ({bound: {fresh, stay}}) =>
        fresh.every(({users}) => users === 0) &&
        stay.every((block, at) => !block || fits(block.buffer.extent, extents[sites.outputs[at]?.slot ?? 0])),
    );
    if (!found || !slots.holds(extents.map((extent, slot) => (found.bound.others.has(slot) ? undefined : extent)))) {
      return undefined;
    }
    const {sets, bound} = found;
    sets.splice(sets.indexOf(bound), 1);
    bound.ends = undefined;
    this.#launcher.update(bound.recording, values, bound.others);
    for (const block of bound.fresh) this.#pool.claim(block);
    return bound;
  }

  /** What an output gets: half as much again where it has grown, so that it may grow further. */
  #roomOf(output: number, wanted: Extent): Extent {
    const had = this.#rooms[output];
    if (had && sizeOf(wanted) <= sizeOf(had)) return 2 * sizeOf(wanted) > sizeOf(had) ? had : wanted;
    return (this.#rooms[output] = spared(wanted, had));
  }

  /** Lets go of them all. */
  clear(): void {
    for (const sets of this.#bound.values()) for (const {recording} of sets) recording.dispose();
    this.#bound.clear();
    this.#fits = [];
  }
}
