/**
 * Nodes by scope, as a tree: by the names that exporters give to nodes ("/model/layers.0/attn/MatMul"), or, where they give none, by
 * those of their weights ("layers.0.attn.weight"). A scope with very many members is divided into parts.
 */
import type {GraphNode, View} from './document.ts';
import type {Graph} from './graph.ts';

/** Members of a scope at most; more than this are hard to look through and slow to lay out. */
const MOST_MEMBERS = 72;
const PART = 24;
/** So many are shown as they are where their names do not group them. */
const FEW_NODES = 40;
/** Inputs, or outputs, of the model that are shown one by one. */
const MOST_PORTS = 6;

export interface Scope {
  /** Its place in Tree.scopes. */
  readonly id: number;
  readonly name: string;
  /** "layers.0", where the name is "0". */
  readonly title: string;
  /** The title of which numbers inside are a part. */
  readonly base: string;
  readonly parent: Scope | undefined;
  /** Items and scopes, in the order of the model. */
  members: (number | Scope)[];
  /** The node whose regions are inside, if there is one. */
  readonly node: number | undefined;
  readonly depth: number;
}

interface Draft {
  name: string;
  /** Of the members of a scope that has too many. */
  isPart: boolean;
  node: number | undefined;
  members: (number | Draft)[];
  byName: Map<string, Draft>;
}

const draft = (name: string, node?: number): Draft => ({name, node, isPart: false, members: [], byName: new Map()});

/** "/model/layers/layers.0/attn/MatMul": [model, layers, 0, attn]. PyTorch names a module in a list by the list, too. */
function partsOf(name: string): string[] {
  const parts: string[] = [];
  for (const word of name.split(/[/:]+/)) {
    const [first = '', ...rest] = word.split('.').filter((part) => part !== '');
    if (first !== '' && !(rest.length > 0 && first === parts.at(-1))) parts.push(first);
    parts.push(...rest);
  }
  return parts.slice(0, -1);
}

/** Scopes of nodes by their own names, where those say something. */
function byName(nodes: readonly GraphNode[]): (string[] | undefined)[] | undefined {
  const found = nodes.map(({name}) => (name.includes('/') || name.includes('.') ? partsOf(name) : undefined));
  const named = found.filter((parts) => parts !== undefined && parts.length > 0).length;
  return named * 3 >= nodes.length ? found : undefined;
}

/** Names that the compiler made up when it read an old operator. */
const made = /^upgraded\b/;

/**
 * Scopes of nodes by their weights' names. What only changes weights, such as Cast, hands its scope on; other nodes without weights are
 * where their first input was made.
 */
function byWeights({nodes, values}: View): (string[] | undefined)[] {
  const madeIn = new Map<number, string[]>();
  const changed = new Map<number, string[]>();
  return nodes.map(({inputs, outputs}) => {
    const given = inputs.filter((id) => id !== null);
    const isWeight = (id: number): boolean => values[id]?.weight !== undefined;
    const named = given.map((id) => values[id]).find((value) => value?.weight && value.name.includes('.') && !made.test(value.name));
    const before = given.find((id) => changed.has(id)) ?? given.find((id) => madeIn.has(id));
    const parts = named ? partsOf(named.name) : before === undefined ? undefined : changed.get(before) ?? madeIn.get(before);
    const onlyWeights = given.every((id) => isWeight(id) || changed.has(id));
    if (parts) for (const id of outputs) if (id !== null) (onlyWeights ? changed : madeIn).set(id, parts);
    return parts;
  });
}

/** A scope in which there is only another one is that one. */
function compact(scope: Draft): void {
  for (let at = 0; at < scope.members.length; ++at) {
    const member = scope.members[at];
    if (typeof member !== 'object') continue;
    compact(member);
    const [only] = member.members;
    if (member.members.length !== 1 || member.node !== undefined) continue;
    if (typeof only === 'object' && only.node === undefined) only.name = `${member.name}.${only.name}`;
    if (only !== undefined) scope.members[at] = only;
  }
}

function divide(scope: Draft): void {
  for (const member of scope.members) if (typeof member === 'object') divide(member);
  while (scope.members.length > MOST_MEMBERS) {
    const parts: Draft[] = [];
    const size = Math.max(PART, Math.ceil(scope.members.length / MOST_MEMBERS));
    for (let at = 0; at < scope.members.length; at += size) {
      const part = draft(`${at + 1} to ${Math.min(at + size, scope.members.length)}`);
      part.isPart = true;
      part.members = scope.members.slice(at, at + size);
      parts.push(part);
    }
    scope.members = parts;
  }
}

export class Tree {
  readonly graph: Graph;
  readonly root: Scope;
  readonly scopes: Scope[] = [];
  /** By item: the scope that it is directly in. */
  readonly scopeOf = new Map<number, Scope>();
  readonly #counts = new Map<Scope, number>();

  constructor(graph: Graph) {
    this.graph = graph;
    const {nodes} = graph.view;
    const scopes = byName(nodes) ?? (nodes.length > FEW_NODES ? byWeights(graph.view) : []);
    const root = draft('');
    const regions = new Map<number, Draft>();
    const inside = (from: Draft, parts: readonly string[]): Draft =>
      parts.reduce((scope, name) => {
        const found = scope.byName.get(name);
        if (found) return found;
        const made = draft(name);
        scope.byName.set(name, made);
        scope.members.push(made);
        return made;
      }, from);
    const withRegions = new Set(nodes.map(({parent}) => parent).filter((parent) => parent !== undefined));
    graph.items.forEach((item, at) => {
      if (item.kind !== 'node') {
        const many = graph.items.filter(({kind}) => kind === item.kind).length > MOST_PORTS;
        (many ? inside(root, [`${item.kind}s of the model`]) : root).members.push(at);
        return;
      }
      const node = nodes[item.node];
      let scope: Draft;
      if (node?.parent !== undefined) scope = inside(regions.get(node.parent) ?? root, [node.region ?? 'region']);
      else scope = inside(root, scopes[item.node] ?? []);
      if (withRegions.has(item.node)) {
        const own = draft(`${node?.op ?? ''} ${node?.name ?? ''}`.trim(), item.node);
        regions.set(item.node, own);
        scope.members.push(own);
      } else {
        scope.members.push(at);
      }
    });
    compact(root);
    divide(root);
    this.root = this.#finish(root, undefined);
  }

  #finish(from: Draft, parent: Scope | undefined): Scope {
    const around = parent?.base ?? '';
    const isNumber = /^\d+(\.|$)/.test(from.name) && around !== '';
    const title = from.isPart ? `${around} ${from.name}`.trim() : isNumber ? `${around}.${from.name}` : from.name;
    const scope: Scope = {id: this.scopes.length, name: from.name, title, base: from.isPart ? around : title, parent, members: [], node: from.node, depth: parent ? parent.depth + 1 : 0};
    this.scopes.push(scope);
    if (scope.node !== undefined) this.scopeOf.set(scope.node, scope);
    scope.members = from.members.map((member) => {
      if (typeof member === 'object') return this.#finish(member, scope);
      this.scopeOf.set(member, scope);
      return member;
    });
    return scope;
  }

  /** How many nodes are in a scope, at any depth. */
  count(scope: Scope): number {
    const known = this.#counts.get(scope);
    if (known !== undefined) return known;
    const count = scope.members.reduce<number>((sum, member) => sum + (typeof member === 'object' ? this.count(member) : 1), 0);
    this.#counts.set(scope, count);
    return count;
  }

  /** All nodes in a scope, at any depth. */
  *nodesIn(scope: Scope): Generator<number> {
    if (scope.node !== undefined) yield scope.node;
    for (const member of scope.members) {
      if (typeof member === 'object') yield* this.nodesIn(member);
      else yield member;
    }
  }

  /** The scopes around an item, from the root on. */
  pathOf(item: number): Scope[] {
    const path: Scope[] = [];
    for (let scope = this.scopeOf.get(item); scope; scope = scope.parent) path.unshift(scope);
    return path;
  }

  /** "layers.0.attn". */
  nameOf(scope: Scope): string {
    const names: string[] = [];
    for (let at: Scope | undefined = scope; at?.parent; at = at.parent) names.unshift(at.name);
    return names.join('.');
  }

  /** Scopes that are open at first: from outside to inside, as long as not too many boxes are shown. */
  openAtFirst(most = 60): Set<number> {
    const open = new Set([this.root.id]);
    let shown = this.root.members.length;
    let level: Scope[] = this.root.members.filter((member) => typeof member === 'object');
    while (level.length > 0) {
      const next: Scope[] = [];
      for (const scope of level) {
        if (shown + scope.members.length - 1 > most) continue;
        shown += scope.members.length - 1;
        open.add(scope.id);
        next.push(...scope.members.filter((member) => typeof member === 'object'));
      }
      level = next;
    }
    return open;
  }
}
