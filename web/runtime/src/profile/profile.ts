/** Where a model's time goes: what Model.profile() loads, so that pages that do not measure do not load it. */
import type {Queue, Recording} from '../devices/device.ts';
import type {Feed} from '../session/feeds.ts';
import type {LaunchEntry, Manifest} from '../package/manifest.ts';
import {resolve} from '../session/memory.ts';
import type {Recorded, Session} from '../session/session.ts';
import type {Output} from '../values/tensor.ts';
import {bytesOf, type DeviceKind} from '../values/types.ts';
import type {WebGpuDevice} from '../devices/webgpu/device.ts';
import {anyFeeds, type Profiled} from './feeds.ts';
import type {Findings, KernelProfile, LaunchProfile, Limits, Profile} from './findings.ts';
import {limitsOf} from './limits.ts';
import {byRepetition} from './repetition.ts';
import {tableOf} from './table.ts';
import {byTimestamps, hasTimestamps} from './timestamps.ts';
import {traceOf} from './trace.ts';

export type {KernelProfile, LaunchProfile, Limits, Profile} from './findings.ts';

export interface ProfileOptions {
  /** Whole runs that are timed besides (default 5, after one that is not). */
  readonly runs?: number | undefined;
  /** A launch is repeated until it takes so long at once, in milliseconds (default 4). */
  readonly minMs?: number | undefined;
  /**
   * Only launches of these kernels of the manifest are timed, and no whole runs: the others' times are 0. Launches of one
   * kernel with the same numbers are timed once, whatever tensors they have.
   */
  readonly kernels?: readonly number[] | undefined;
  /** How long named dimensions are where no feeds are given (default 1). */
  readonly dims?: Readonly<Record<string, number>> | undefined;
}

/** A launch as it was submitted. */
interface Submitted {
  readonly place: number;
  readonly entry: LaunchEntry;
  readonly values: Float64Array | undefined;
}

/** What a run submits, in order. */
async function watch(session: Session, run: () => Promise<void>): Promise<Submitted[]> {
  const seen: Submitted[] = [];
  const undo = session.units.map(({device}, place) => {
    const queue = device.queue as Partial<Queue>;
    const submit = device.queue.submit.bind(device.queue);
    queue.submit = (recordings: readonly Recording[], reads) => {
      for (const {entries, values} of recordings as readonly Recorded[]) {
        for (const entry of entries) seen.push({place, entry, values});
      }
      return submit(recordings, reads);
    };
    return () => delete queue.submit; // its class has the real one
  });
  try {
    await run();
  } finally {
    undo.forEach((each) => each());
  }
  return seen;
}

const bytesIn = ({tensors}: Manifest, {tensors: used}: LaunchEntry, values: Float64Array | undefined): number =>
  used.reduce((sum, at) => {
    const {elements = 0, storage = 'f32'} = tensors[at] ?? {};
    return sum + resolve(elements, values) * bytesOf(storage);
  }, 0);

/** 0 where nobody could count them. */
const operationsIn = ({operations}: LaunchEntry, values: Float64Array | undefined): number => {
  const count = resolve(operations, values);
  return count > 0 && count < Infinity ? count : 0;
};

/** How often the launches of a session were repeated to be timed, by what they are and for how long. */
const repetitions = new WeakMap<Session, Map<string, number>>();

const median = (all: readonly number[]): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

/**
 * Runs the model some times, then each launch of a run alone and repeated, in order, on the memory that the run left.
 * Launches that differ in nothing are timed once. Nothing else should run on the model meanwhile. Rejects as run() does.
 */
export async function profile(
  model: Profiled,
  given?: Readonly<Record<string, Feed>>,
  {runs = 5, minMs = 4, kernels, dims}: ProfileOptions = {},
): Promise<Profile> {
  const {session, manifest, devices} = model.parts;
  const feeds = given ?? anyFeeds(model, dims);
  const run = async (): Promise<void> => {
    const outputs = Object.values(await model.run<Output | readonly Output[] | undefined>(feeds));
    await Promise.all(outputs.flatMap((output) => output ?? []).map((output) => output.data()));
  };
  const times: number[] = [];
  if (!kernels) await run();
  for (let at = 0; !kernels && at < Math.max(1, runs); ++at) {
    const begin = performance.now();
    await run();
    times.push(performance.now() - begin);
  }
  const submitted = await watch(session, run);
  const keyOf = ({entry, values}: Submitted): string => {
    const what = kernels ? `kernel ${entry.kernel}` : manifest.run.indexOf(entry);
    return [what, ...[entry.range, ...entry.scalars].map((number) => resolve(number, values))].join();
  };
  const numberOf = (kernel: number): number => manifest.kernels[kernel]?.number ?? kernel;
  const wanted = submitted.filter(({entry}) => !kernels || kernels.includes(numberOf(entry.kernel)));
  const different = new Map(wanted.map((each) => [keyOf(each), each]));
  const alone = new Map<string, Recorded>();
  for (const [key, {entry, values}] of different) alone.set(key, await session.record([entry], values));
  const ms = new Map<string, number>();
  const gpu = devices[0]?.kind === 'webgpu' ? (devices[0] as WebGpuDevice).gpu : undefined;
  const timed = gpu && hasTimestamps(gpu);
  for (const [place, unit] of session.units.entries()) {
    const mine = [...different].filter(([, each]) => each.place === place).map(([key]) => key);
    const recordings = mine.map((key) => alone.get(key) as Recorded);
    let found: readonly number[];
    if (timed && place === 0) {
      const known = repetitions.get(session) ?? new Map<string, number>();
      repetitions.set(session, known);
      const counts = mine.map((key) => known.get(`${key} ${minMs}`));
      found = await byTimestamps(gpu, recordings, minMs, counts);
      mine.forEach((key, at) => known.set(`${key} ${minMs}`, counts[at] ?? 1));
    } else {
      found = await byRepetition(unit, recordings, minMs);
    }
    mine.forEach((key, at) => ms.set(key, found[at] ?? 0));
  }
  alone.forEach((recording) => recording.dispose());
  const kindOf = (place = 0): DeviceKind => devices[place]?.kind ?? manifest.target;
  const launches = submitted.map((each): LaunchProfile => {
    const {entry, values, place} = each;
    const {kernel, origin} = entry;
    const {name = ''} = manifest.kernels[kernel] ?? {};
    return {
      name, kernel: numberOf(kernel), origin, device: kindOf(place), ms: ms.get(keyOf(each)) ?? 0, bytes: bytesIn(manifest, entry, values),
      operations: operationsIn(entry, values),
    };
  });
  const limits: Limits[] = [];
  for (const device of devices) limits.push(await limitsOf(device));
  const found: Findings = {
    model: manifest.name,
    device: manifest.target,
    adapter: devices[0]?.adapter ?? '',
    threads: devices[0]?.threads ?? 1,
    method: timed ? 'timestamps' : 'repetition',
    runMs: median(times),
    kernelMs: launches.reduce((all, launch) => all + launch.ms, 0),
    limits,
    kernels: manifest.kernels
      .map(({device}, at) => kernelOf(manifest, at, kindOf(device), launches.filter(({kernel}) => kernel === numberOf(at)), limits))
      .sort((a, b) => b.ms - a.ms),
    launches,
  };
  return {...found, table: () => tableOf(found), trace: () => traceOf(found)};
}

function kernelOf(
  manifest: Manifest,
  kernel: number,
  device: DeviceKind,
  mine: readonly LaunchProfile[],
  limits: readonly Limits[],
): KernelProfile {
  const sum = (key: 'ms' | 'bytes' | 'operations'): number => mine.reduce((all, launch) => all + launch[key], 0);
  const [ms, bytes, operations] = [sum('ms'), sum('bytes'), sum('operations')];
  const {copyRate = Infinity, arithmeticRate = Infinity} = limits.find((each) => each.device === device) ?? {};
  const [moving, computing] = [bytes / copyRate / 1e6, operations / arithmeticRate / 1e6];
  const {name = '', schedule = ''} = manifest.kernels[kernel] ?? {};
  const origins = [...manifest.run, ...manifest.init].filter((each) => each.kernel === kernel).map(({origin}) => origin);
  const origin = origins[0] ?? '';
  return {
    name, schedule, device, launches: mine.length, ms, bytes, operations,
    origin: origins.length > 1 ? `${origin} and ${origins.length - 1} more` : origin,
    limit: computing > moving ? 'arithmetic' : 'memory',
    share: ms > 0 ? Math.max(moving, computing) / ms : 0,
  };
}
