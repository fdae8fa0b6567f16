/** What a target makes of the model: launches, with what they cost for given dimensions, and the nodes that they compute. */
import {type Compiled, isCompiled, type Launch, type Planned, type Profile, type View} from './document.ts';
import {type Dims, evaluate} from './expressions.ts';

const STORAGE_BYTES: Readonly<Record<string, number>> = {f64: 8, i64: 8, u64: 8, f32: 4, i32: 4, u32: 4, f16: 2, bf16: 2, i16: 2, u16: 2};
export const storageBytes = (storage: string): number => STORAGE_BYTES[storage] ?? 1;

export interface LaunchCost {
  /** Its place among the launches of a run, or of those at load. */
  readonly at: number;
  readonly kernel: number;
  readonly name: string;
  readonly origin: string;
  /** Nodes of the graph. */
  readonly nodes: readonly number[];
  /** The one that the launch is for: a convolution, say, also where it computes the activation before or after. */
  readonly main: number | undefined;
  /** Whether the CPU next to a GPU computes it, and why. */
  readonly reason: string | undefined;
  readonly onSide: boolean;
  /** Undefined: only a run knows. */
  readonly bytes: number | undefined;
  readonly operations: number | undefined;
  /** Measured; undefined: nothing was. */
  readonly ms: number | undefined;
  /** A range of 0: this run leaves it out. */
  readonly skipped: boolean;
  readonly launch: Launch;
}

/** `Conv "n2" + Relu "n3"` names nodes by operator and name. */
export class Origins {
  readonly #view: View;
  readonly #nodes = new Map<string, number[]>();
  readonly #parsed = new Map<string, readonly number[]>();

  constructor(view: View) {
    this.#view = view;
    view.nodes.forEach(({op, name}, node) => {
      const key = `${op} "${name}"`;
      const found = this.#nodes.get(key);
      if (found) found.push(node);
      else this.#nodes.set(key, [node]);
    });
  }

  nodesOf(origin: string): readonly number[] {
    let found = this.#parsed.get(origin);
    if (!found) {
      found = [...new Set(Array.from(origin.matchAll(/([A-Za-z_][\w.]*) "([^"]*)"/g), ([key]) => this.#nodes.get(key) ?? []).flat())];
      this.#parsed.set(origin, found);
    }
    return found;
  }

  mainOf(kernel: string, nodes: readonly number[]): number | undefined {
    const wanted = letters(kernel);
    return nodes.find((node) => letters(this.#view.nodes[node]?.op ?? '') === wanted) ?? nodes[0];
  }
}

/** "max_pool.pad" and "MaxPool" begin with the same letters. */
const letters = (name: string): string => name.split(/[.\s]/, 1)[0]?.replaceAll('_', '').toLowerCase() ?? '';

/** Launches of a profile, in the order of the run, for those of the manifest. */
function measured(run: readonly Launch[], profile: Profile | undefined): (number | undefined)[] {
  const times = run.map((): number | undefined => undefined);
  if (!profile) return times;
  let next = 0;
  for (const {origin, kernel, ms} of profile.launches) {
    const fits = (at: number): boolean => {
      const launch = run[at];
      return launch !== undefined && (launch.origin ?? '') === origin && (launch.kernel === kernel || launch.hardware?.kernel === kernel);
    };
    let at = next;
    while (at < run.length && !fits(at)) at += 1;
    // Rounds of a loop begin again.
    if (at >= run.length) at = run.findIndex((_, place) => fits(place));
    if (at < 0) continue;
    times[at] = (times[at] ?? 0) + ms;
    next = at + 1;
  }
  return times;
}

export class TargetCosts {
  readonly compiled: Compiled;
  readonly profile: Profile | undefined;
  readonly run: readonly LaunchCost[];
  readonly init: readonly LaunchCost[];
  readonly byNode = new Map<number, LaunchCost[]>();
  readonly #byMain = new Map<number, LaunchCost[]>();
  readonly total: {readonly bytes: number; readonly operations: number; readonly ms: number | undefined};
  readonly #plan: readonly (number | undefined)[];

  constructor(compiled: Compiled, origins: Origins, dims: Dims, profile: Profile | undefined) {
    this.compiled = compiled;
    this.profile = profile;
    this.#plan = compiled.plan.map((value) => evaluate(value, dims));
    const {run, init} = compiled.manifest;
    const times = measured(run, profile);
    this.run = run.map((launch, at) => this.#costOf(launch, at, origins, times[at]));
    this.init = init.map((launch, at) => this.#costOf(launch, at, origins, undefined));
    const add = (map: Map<number, LaunchCost[]>, node: number, cost: LaunchCost): void => {
      const found = map.get(node);
      if (found) found.push(cost);
      else map.set(node, [cost]);
    };
    for (const cost of this.run) {
      for (const node of cost.nodes) add(this.byNode, node, cost);
      if (cost.main !== undefined) add(this.#byMain, cost.main, cost);
    }
    const sum = (of: (cost: LaunchCost) => number | undefined): number => this.run.reduce((all, cost) => all + (of(cost) ?? 0), 0);
    this.total = {bytes: sum(({bytes}) => bytes), operations: sum(({operations}) => operations), ms: profile ? sum(({ms}) => ms) : undefined};
  }

  /** Undefined: only a run knows. */
  number(planned: Planned | undefined): number | undefined {
    return typeof planned === 'object' ? this.#plan[planned.plan] : planned;
  }

  #costOf(launch: Launch, at: number, origins: Origins, ms: number | undefined): LaunchCost {
    const {manifest} = this.compiled;
    const call = launch.hardware ?? launch;
    const kernel = manifest.kernels[call.kernel];
    let bytes: number | undefined = 0;
    for (const id of new Set(launch.tensors)) {
      const tensor = manifest.tensors[id];
      const elements = tensor && this.number(tensor.elements);
      bytes = bytes === undefined || elements === undefined ? undefined : bytes + elements * storageBytes(tensor?.storage ?? '');
    }
    const range = this.number(call.range);
    const skipped = range === 0;
    const nodes = origins.nodesOf(launch.origin ?? '');
    return {
      at, kernel: call.kernel, name: kernel?.name ?? '', origin: launch.origin ?? '', nodes, main: origins.mainOf(kernel?.name ?? '', nodes),
      reason: launch.reason, onSide: kernel?.device === 1, bytes: skipped ? 0 : bytes, operations: skipped ? 0 : this.number(launch.operations ?? 0),
      ms, skipped, launch,
    };
  }

  /** What a measure is for the launches that are for these nodes. Over all nodes each launch counts once. */
  sum(nodes: Iterable<number>, measure: Measure): number {
    let sum = 0;
    for (const node of nodes) for (const cost of this.#byMain.get(node) ?? []) sum += cost[measure] ?? 0;
    return sum;
  }

  /** The launches that compute some of the nodes, each once. */
  of(nodes: Iterable<number>): readonly LaunchCost[] {
    const found = new Set<LaunchCost>();
    for (const node of nodes) for (const cost of this.byNode.get(node) ?? []) found.add(cost);
    return [...found];
  }
}

export type Measure = 'ms' | 'operations' | 'bytes';

/** By what launches can be compared: what was measured, else what is computed. */
export const measureOf = (costs: TargetCosts): Measure => (costs.profile ? 'ms' : 'operations');

/** Times of a batch of 1 say nothing about one of 8. */
const isFor = ({dims: measuredFor = {}}: Profile, dims: Dims): boolean => Object.entries(measuredFor).every(([name, size]) => dims.get(name) === size);

export function costsOf(view: View, dims: Dims, profiles: readonly Profile[]): Map<string, TargetCosts> {
  const origins = new Origins(view);
  const made = new Map<string, TargetCosts>();
  for (const target of view.targets) {
    if (!isCompiled(target)) continue;
    made.set(target.target, new TargetCosts(target, origins, dims, profiles.findLast((profile) => profile.device === target.target && isFor(profile, dims))));
  }
  return made;
}
