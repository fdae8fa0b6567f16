/** Runs of packages whose host program has steps: recordings of the launches between them, reads and copies. A bundle of its own. */
import type {Extent, Recording} from '../devices/device.ts';
import type {Lane} from '../devices/lane.ts';
import {keep, type Launcher} from '../session/launcher.ts';
import type {LaunchEntry} from '../package/manifest.ts';
import {extentOf, resolve} from '../session/memory.ts';
import {decode} from '../values/encoding.ts';
import {fromStorage, toStorage} from '../values/storage.ts';
import type {Tensor} from '../values/tensor.ts';
import {GossamerError, SAFE, within} from '../values/types.ts';
import {runSteps} from './follow.ts';

interface Range {
  readonly name: string;
  readonly entries: readonly LaunchEntry[];
  readonly uses: readonly number[];
}

/** Recordings of launches between steps that are kept, of a loop's rounds for instance; those of wasm are small. */
const KEPT_PARTS = 1024;
const KEPT_IN_WASM = 4096;

/** After so long a run lets others have the thread. */
const TURN_MS = 50;

/** What a run has of its session. */
interface Calls {
  /** A segment's values. */
  readonly plan: (segment: number) => Promise<Float64Array>;
  /** Writes the feeds: their memory is there. */
  readonly begin: () => void;
  /** Throws 'disposed'. */
  readonly check: () => void;
}

export class StepRuns {
  readonly #launcher: Launcher;
  /** Launches between steps, by which they are and the values they depend on. */
  readonly #parts = new Map<string, Recording>();
  /** Launches of a step, and the plan values that they depend on. */
  readonly #ranges = new Map<string, Range>();

  constructor(launcher: Launcher) {
    this.#launcher = launcher;
  }

  /** Gives the plan's values at the end. */
  async run(feeds: readonly unknown[], dims: number[], {plan: evaluate, begin, check}: Calls): Promise<Float64Array> {
    const {memory, lanes, manifest, times, copies} = this.#launcher;
    const {steps, slots, inputs} = manifest;
    let values = new Float64Array();
    let turn = performance.now();
    const laneOf = (tensor: number): Lane => lanes[memory.place(tensor)] as Lane;
    const given = (tensor: number): Tensor | undefined =>
      feeds[inputs.findIndex((port) => port.tensor === tensor)] as Tensor | undefined; // steps read on the host
    const fetch = async (tensor: number, count: number): Promise<Uint8Array> => {
      const lane = laneOf(tensor);
      const data = lane.submit([memory.reading(tensor, count)]);
      // What goes wrong before is the error, not what is read because of it.
      await Promise.all(lane.take().map(({accepted}) => accepted));
      return this.#launcher.arrived(tensor, data, 0);
    };
    const plan = async (segment: number): Promise<void> => {
      values = (await evaluate(segment)) as Float64Array<ArrayBuffer>;
      const extents: Extent[] = []; // with holes, which provide() skips
      slots.forEach((slot, at) => {
        if (slot.segment === segment) extents[at] = extentOf(manifest, at, values);
      });
      await memory.provide(extents, segment > 0);
    };
    times.fill(0);
    copies.clear();
    await plan(0);
    begin();
    await runSteps(steps, dims, {
      number: (number) =>
        within(resolve(number, values), 'a step', SAFE, -SAFE),
      plan,
      launch: async (first, last) => {
        if (first === last) return;
        const range = this.#range(first, last);
        const part = await this.#part(range, values);
        for (let at = first; at < last; ++at) times[at] = (times[at] ?? 0) + 1;
        await lanes[this.#launcher.placeOf(range.entries)]?.add(part, last - first);
      },
      read: async (tensor, count) => {
        const feed = given(tensor);
        const {name, elements, storage} = memory.tensor(tensor);
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
        const [source, target] = [memory.tensor(from), memory.tensor(to)];
        const has = feed ? feed.data.length : resolve(source.elements, values);
        const count = Math.min(has, resolve(target.elements, values));
        const what = `"${target.name}"`;
        void laneOf(to).submit();
        if (feed) {
          const data = feed.data.subarray(0, count);
          memory.write(to, toStorage(data, source.dtype, target.storage, what));
        } else {
          const stored = await fetch(from, count);
          const same = source.storage === target.storage;
          const data = same ? undefined : fromStorage(stored, source.storage, source.dtype);
          memory.write(to, data ? toStorage(data, source.dtype, target.storage, what) : stored);
        }
        const key = `${from},${to}`;
        copies.set(key, {from, to, times: (copies.get(key)?.times ?? 0) + 1});
      },
      pause: async () => {
        if (performance.now() - turn > TURN_MS) {
          await Promise.all(lanes.map((lane) => lane.settle()));
          await new Promise((resolved) => setTimeout(resolved));
          turn = performance.now();
        }
        check();
      },
    });
    return values;
  }

  #range(first: number, last: number): Range {
    const name = `${first},${last}`;
    let range = this.#ranges.get(name);
    if (!range) {
      const entries = this.#launcher.manifest.run.slice(first, last);
      const numbers = entries.flatMap(({range: extent, scalars}) => [extent, ...scalars]);
      const uses = new Set(numbers.flatMap((number) => (typeof number === 'object' ? [number.plan] : [])));
      this.#ranges.set(name, (range = {name, entries, uses: [...uses]}));
    }
    return range;
  }

  /** A recording of these launches with these values; kept, since steps are repeated. */
  async #part({name, entries, uses}: Range, values: Float64Array): Promise<Recording> {
    const key = uses.reduce((text, at) => `${text} ${values[at]}`, name);
    const part = this.#parts.get(key) ?? (await this.#launcher.record(entries, values));
    const {kind} = this.#launcher.unit(entries).device;
    const dropped = keep(this.#parts, key, part, kind === 'wasm' ? KEPT_IN_WASM : KEPT_PARTS);
    if (dropped) {
      for (const lane of this.#launcher.lanes) void lane.submit();
      dropped.dispose();
    }
    return part;
  }

  /** Lets go of all recordings. */
  clear(): void {
    for (const part of this.#parts.values()) part.dispose();
    this.#parts.clear();
  }
}
