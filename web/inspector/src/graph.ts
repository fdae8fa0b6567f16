/** Who makes a value, and who reads it. */
import type {View} from './document.ts';

/** A thing with a box of its own: a node, or an input or output of the model. */
export type Item = {readonly kind: 'node'; readonly node: number} | {readonly kind: 'input' | 'output'; readonly value: number};

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

export class Graph {
  readonly view: View;
  /** Nodes first, then inputs and outputs of the model. */
  readonly items: readonly Item[];
  readonly edges: readonly Edge[];
  /** By value: the item that makes it, and those that read it. */
  readonly maker = new Map<number, number>();
  readonly readers = new Map<number, number[]>();
  readonly #into = new Map<number, Edge[]>();
  readonly #outOf = new Map<number, Edge[]>();

  constructor(view: View) {
    this.view = view;
    const items: Item[] = view.nodes.map((_, node) => ({kind: 'node', node}));
    for (const value of new Set(view.inputs)) {
      this.maker.set(value, items.length);
      items.push({kind: 'input', value});
    }
    view.nodes.forEach(({outputs}, node) => {
      for (const value of outputs) if (value !== null) this.maker.set(value, node);
    });
    const edges: Edge[] = [];
    const connect = (value: number, to: number): void => {
      const readers = this.readers.get(value) ?? [];
      this.readers.set(value, readers);
      if (readers.includes(to)) return;
      readers.push(to);
      const from = this.maker.get(value);
      if (from !== undefined) edges.push({from, to, value});
    };
    view.nodes.forEach(({inputs}, node) => {
      for (const value of inputs) if (value !== null) connect(value, node);
    });
    for (const value of new Set(view.outputs)) {
      items.push({kind: 'output', value});
      connect(value, items.length - 1);
    }
    this.items = items;
    this.edges = edges;
    for (const edge of edges) {
      for (const [map, item] of [[this.#into, edge.to], [this.#outOf, edge.from]] as const) {
        const list = map.get(item);
        if (list) list.push(edge);
        else map.set(item, [edge]);
      }
    }
  }

  into(item: number): readonly Edge[] {
    return this.#into.get(item) ?? [];
  }

  outOf(item: number): readonly Edge[] {
    return this.#outOf.get(item) ?? [];
  }

  /** What a box says first. */
  titleOf(item: number): string {
    const found = this.items[item];
    if (!found) return '';
    if (found.kind === 'node') return this.view.nodes[found.node]?.op ?? '';
    return this.view.values[found.value]?.name ?? '';
  }

  /** The value that a box is about: of a node its first output. */
  valueOf(item: number): number | undefined {
    const found = this.items[item];
    if (found?.kind === 'node') return this.view.nodes[found.node]?.outputs.find((id) => id !== null) ?? undefined;
    return found?.value;
  }
}
