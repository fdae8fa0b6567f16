/** What all parts of the page share: the model, the state, and what follows from the two. */
import {costsOf, measureOf, type TargetCosts} from './costs.ts';
import {isCompiled, isProfile, type Profile, type View} from './document.ts';
import type {Dims} from './expressions.ts';
import {Graph} from './graph.ts';
import {type Timeline, timelineOf} from './memory.ts';
import {type Scope, Tree} from './scopes.ts';
import {START, type State} from './state.ts';

/** What the page around the inspector can do; a saved page can do neither. */
export interface Offers {
  /** Runs the model on a target's device. */
  readonly measure?: (target: string, dims: Dims) => Promise<Profile>;
  /** The page as a file that works without a server. */
  readonly save?: (profiles: readonly Profile[]) => Promise<void>;
}

export class Context {
  readonly view: View;
  readonly graph: Graph;
  readonly tree: Tree;
  readonly offers: Offers;
  state: State = START;
  profiles: readonly Profile[];
  #costs: {readonly key: string; readonly made: Map<string, TargetCosts>} | undefined;
  readonly #timelines = new WeakMap<TargetCosts, Timeline>();
  readonly #shares = new WeakMap<TargetCosts, Map<number | Scope, number>>();
  readonly #openAtFirst: ReadonlySet<number>;
  readonly #listener: (change: Partial<State>) => void;

  constructor(view: View, offers: Offers, listener: (change: Partial<State>) => void) {
    this.view = view;
    this.offers = offers;
    this.graph = new Graph(view);
    this.tree = new Tree(this.graph);
    this.profiles = view.profiles.filter(isProfile);
    this.#openAtFirst = this.tree.openAtFirst();
    this.#listener = listener;
  }

  set(change: Partial<State>): void {
    this.state = {...this.state, ...change};
    this.#listener(change);
  }

  addProfile(profile: Profile): void {
    this.profiles = [...this.profiles, profile];
    this.#costs = undefined;
  }

  /** For costs, each dimension has a value. */
  get allDims(): Dims {
    return new Map(this.view.dims.map(({name, estimate}) => [name, this.state.dims.get(name) ?? estimate]));
  }

  get costs(): ReadonlyMap<string, TargetCosts> {
    const dims = this.allDims;
    const key = JSON.stringify([...dims]);
    if (this.#costs?.key !== key) this.#costs = {key, made: costsOf(this.view, dims, this.profiles)};
    return this.#costs.made;
  }

  /** The chosen target, or the first that can run the model. */
  get target(): string {
    const {targets} = this.view;
    const chosen = targets.find(({target}) => target === this.state.target);
    return (chosen ?? targets.find(isCompiled) ?? targets[0])?.target ?? '';
  }

  get current(): TargetCosts | undefined {
    return this.costs.get(this.target);
  }

  timeline(costs: TargetCosts): Timeline {
    let made = this.#timelines.get(costs);
    if (!made) {
      made = timelineOf(costs);
      this.#timelines.set(costs, made);
    }
    return made;
  }

  get open(): ReadonlySet<number> {
    const open = new Set(this.#openAtFirst);
    for (const id of this.state.folds) {
      if (!open.delete(id)) open.add(id);
    }
    return open.add(0);
  }

  /** Which of the scopes are otherwise than at first. */
  foldsFor(open: ReadonlySet<number>): Set<number> {
    return new Set(this.tree.scopes.map(({id}) => id).filter((id) => id !== 0 && open.has(id) !== this.#openAtFirst.has(id)));
  }

  toggle(scope: Scope): void {
    const folds = new Set(this.state.folds);
    if (!folds.delete(scope.id)) folds.add(scope.id);
    this.set({folds});
  }

  /** Takes the state of an address; what it selects is to be seen, also where the address does not say what is open. */
  take(state: State): void {
    this.state = state;
    const selected = state.item ?? (state.scope === undefined ? undefined : this.tree.scopes[state.scope]);
    if (selected !== undefined) this.state = {...state, folds: this.#foldsAround(selected)};
  }

  #foldsAround(member: number | Scope): Set<number> {
    const open = new Set(this.open);
    let around = typeof member === 'object' ? member.parent : this.tree.scopeOf.get(member);
    for (; around; around = around.parent) open.add(around.id);
    return this.foldsFor(open);
  }

  /** Selects a member of the graph and opens what is around it. */
  reveal(member: number | Scope): void {
    const chosen = typeof member === 'object' ? {scope: member.id, item: undefined} : {item: member, scope: undefined};
    this.set({tab: 'graph', ...chosen, kernel: undefined, folds: this.#foldsAround(member)});
  }

  /** The share of the target's whole that a member takes, by what there is to compare with. */
  shareOf(member: number | Scope): number {
    const costs = this.current;
    if (!costs) return 0;
    const shares = this.#shares.get(costs) ?? new Map<number | Scope, number>();
    this.#shares.set(costs, shares);
    const known = shares.get(member);
    if (known !== undefined) return known;
    const measure = measureOf(costs);
    const whole = costs.total[measure] ?? 0;
    const nodes = typeof member === 'object' ? this.tree.nodesIn(member) : [member];
    const share = whole > 0 ? costs.sum(nodes, measure) / whole : 0;
    shares.set(member, share);
    return share;
  }

  /** "Conv features.0", for links. */
  label(item: number): string {
    const found = this.graph.items[item];
    const title = this.graph.titleOf(item);
    if (found?.kind !== 'node') return title;
    const name = this.view.nodes[found.node]?.name ?? '';
    return name && name !== title ? `${title} ${name}` : title;
  }
}
