/** Places of boxes. Each open scope is laid out on its own, so that opening one costs only its members. */
import {Graph as Drawn, layout} from '@dagrejs/dagre';
import type {Scope, Tree} from './scopes.ts';

export interface Box {
  /** An item, or a scope. */
  readonly member: number | Scope;
  readonly open: boolean;
  /** The middle of its upper edge is at x + width / 2, y; in the picture. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Line {
  readonly from: number | Scope;
  readonly to: number | Scope;
  readonly points: readonly (readonly [number, number])[];
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly values: readonly number[];
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Open scopes come before what is in them. */
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

type Size = readonly [width: number, height: number];

const HEAD = 30;
const PAD = 14;

interface Placed {
  readonly width: number;
  readonly height: number;
  readonly members: readonly {readonly member: number | Scope; readonly x: number; readonly y: number; readonly size: Size}[];
  readonly lines: readonly Line[];
}

const keyOf = (member: number | Scope): string => (typeof member === 'object' ? `s${member.id}` : `i${member}`);

export class Layouts {
  readonly #tree: Tree;
  readonly #sizeOf: (member: number | Scope) => Size;
  readonly #kept = new Map<string, Placed>();
  /** By scope: lines between its members. */
  readonly #links = new Map<number, Map<string, {from: number | Scope; to: number | Scope; values: number[]}>>();

  constructor(tree: Tree, sizeOf: (member: number | Scope) => Size) {
    this.#tree = tree;
    this.#sizeOf = sizeOf;
    for (const {from, to, value} of tree.graph.edges) this.#link(from, to, value);
  }

  #link(from: number, to: number, value: number): void {
    const [up, down] = [from, to].map((item) => this.#tree.pathOf(item)) as [Scope[], Scope[]];
    let depth = 0;
    while (up[depth] !== undefined && up[depth] === down[depth]) depth += 1;
    const scope = up[depth - 1];
    const [a, b] = [up[depth] ?? from, down[depth] ?? to];
    if (!scope || a === b) return;
    const links = this.#links.get(scope.id) ?? new Map<string, {from: number | Scope; to: number | Scope; values: number[]}>();
    this.#links.set(scope.id, links);
    const key = `${keyOf(a)} ${keyOf(b)}`;
    const found = links.get(key);
    if (!found) links.set(key, {from: a, to: b, values: [value]});
    else if (!found.values.includes(value)) found.values.push(value);
  }

  picture(open: ReadonlySet<number>): Picture {
    const boxes: Box[] = [];
    const lines: Line[] = [];
    const placed = this.#place(this.#tree.root, open);
    const put = (of: Placed, left: number, top: number): void => {
      for (const line of of.lines) {
        const points = line.points.map(([x, y]) => [x + left, y + top] as const);
        lines.push({...line, points, left: line.left + left, right: line.right + left, top: line.top + top, bottom: line.bottom + top});
      }
      for (const {member, x, y, size: [width, height]} of of.members) {
        const isOpen = typeof member === 'object' && open.has(member.id);
        boxes.push({member, open: isOpen, x: x + left, y: y + top, width, height});
        if (isOpen) put(this.#place(member, open), x + left + PAD, y + top + HEAD);
      }
    };
    put(placed, 0, 0);
    return {width: placed.width, height: placed.height, boxes, lines};
  }

  #openInside(scope: Scope, open: ReadonlySet<number>): number[] {
    return scope.members.flatMap((member) => (typeof member === 'object' && open.has(member.id) ? [member.id, ...this.#openInside(member, open)] : []));
  }

  #place(scope: Scope, open: ReadonlySet<number>): Placed {
    const key = [scope.id, ...this.#openInside(scope, open)].join();
    const found = this.#kept.get(key);
    if (found) return found;
    const graph = new Drawn({directed: true, multigraph: false, compound: false});
    graph.setGraph({rankdir: 'TB', nodesep: 22, ranksep: 30, marginx: PAD, marginy: PAD, ranker: scope.members.length > 150 ? 'longest-path' : 'network-simplex'});
    graph.setDefaultEdgeLabel(() => ({}));
    const sizes = new Map<string, Size>();
    for (const member of scope.members) {
      let size = this.#sizeOf(member);
      if (typeof member === 'object' && open.has(member.id)) {
        const inner = this.#place(member, open);
        size = [Math.max(inner.width + 2 * PAD, size[0]), inner.height + HEAD + PAD];
      }
      sizes.set(keyOf(member), size);
      graph.setNode(keyOf(member), {width: size[0], height: size[1]});
    }
    const links = [...(this.#links.get(scope.id)?.values() ?? [])];
    for (const {from, to} of links) graph.setEdge(keyOf(from), keyOf(to));
    layout(graph);
    const members = scope.members.map((member) => {
      const {x = 0, y = 0} = graph.node(keyOf(member)) as {x?: number; y?: number};
      const size = sizes.get(keyOf(member)) ?? [0, 0];
      return {member, x: x - size[0] / 2, y: y - size[1] / 2, size};
    });
    const lines = links.map(({from, to, values}): Line => {
      const {points = []} = graph.edge(keyOf(from), keyOf(to)) as {points?: {x: number; y: number}[]};
      const [xs, ys] = [points.map(({x}) => x), points.map(({y}) => y)];
      return {from, to, values, points: points.map(({x, y}) => [x, y] as const), left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
    });
    const {width = 0, height = 0} = graph.graph() as {width?: number; height?: number};
    const placed = {width, height, members, lines};
    this.#kept.set(key, placed);
    return placed;
  }
}
