/** What is known of a selected node, input, output or group. */
import type {Context} from './context.ts';
import {type LaunchCost, type Measure, measureOf} from './costs.ts';
import type {Expr} from './document.ts';
import {h, link} from './dom.ts';
import {print, shapeText} from './expressions.ts';
import {histogram} from './histogram.ts';
import type {Scope} from './scopes.ts';
import {bytesText, msText, opsText, percentText, plural} from './units.ts';

const section = (title: string, ...children: (Node | string | false)[]): HTMLElement => h('section', {}, h('h3', {}, title), ...children);

const isOpen = (shape: readonly Expr[] | undefined): boolean => shape?.some((extent) => typeof extent !== 'number') ?? false;

/** A tensor: its name, type and shape, and what is in it or where it comes from and goes to. */
function tensor(context: Context, id: number, role: string, others: readonly number[]): HTMLElement {
  const value = context.view.values[id];
  if (!value) return h('li');
  const {dims} = context.state;
  const symbolic = isOpen(value.shape) ? `[${value.shape?.map(print).join(', ') ?? ''}]` : '';
  const shape = shapeText(value.shape, dims);
  return h('li', {},
    h('div', {class: 'port'}, h('b', {}, role), ' ', h('code', {}, value.name)),
    h('div', {}, value.dtype, ' ', h('span', {class: 'shape'}, shape), symbolic && symbolic !== shape ? h('span', {class: 'hint'}, ` ${symbolic}`) : false),
    value.weight ? histogram(value.weight, value.name) : false,
    others.length > 0 && h('div', {class: 'links'}, role === 'input' ? 'from ' : 'to ',
      ...others.slice(0, 8).flatMap((item, at) => [at > 0 ? ', ' : '', link(context.label(item), () => context.reveal(item))]), others.length > 8 ? ` and ${others.length - 8} more` : ''));
}

const attributeText = (value: unknown): string => {
  const text = Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
};

function launchLine(context: Context, target: string, cost: LaunchCost): HTMLElement {
  const costs = context.costs.get(target);
  const whole = costs?.total[measureOf(costs)] ?? 0;
  const own = costs ? cost[measureOf(costs)] ?? 0 : 0;
  const others = cost.nodes.length > 1 ? `, with ${plural(cost.nodes.length - 1, 'other node')}` : '';
  return h('li', {},
    link(`${cost.name}, launch ${cost.at + 1}`, () => context.set({tab: 'kernels', target, kernel: cost.kernel, step: cost.at})),
    h('div', {}, [cost.ms === undefined ? '' : msText(cost.ms), opsText(cost.operations), bytesText(cost.bytes), whole > 0 ? percentText(own / whole) : ''].filter((word) => word !== '').join(', ') + others),
    cost.onSide && h('div', {class: 'note'}, `on the CPU: ${cost.reason ?? 'the GPU cannot compute it'}`));
}

/** Per target, what computes the nodes. */
function computedBy(context: Context, nodes: readonly number[]): HTMLElement[] {
  const targets = [...context.view.targets].sort((a, b) => Number(b.target === context.target) - Number(a.target === context.target));
  return targets.map(({target}) => {
    const costs = context.costs.get(target);
    const launches = costs?.of(nodes) ?? [];
    const [most, least] = [launches.slice(0, 6), launches.length - 6];
    return h('div', {class: target === context.target ? 'target current' : 'target'}, h('h4', {}, target),
      !costs ? h('p', {class: 'hint'}, 'cannot run this model: see Problems')
        : launches.length === 0 ? h('p', {class: 'hint'}, 'No kernel of its own: it was computed when compiling, only names a tensor again, or computes shapes.')
          : h('ul', {class: 'plain'}, ...most.map((cost) => launchLine(context, target, cost)), least > 0 && h('li', {class: 'hint'}, `and ${plural(least, 'more launch', 'more launches')}`)));
  });
}

function ofNode(context: Context, at: number): Node[] {
  const {view, graph} = context;
  const node = view.nodes[at];
  if (!node) return [];
  const {problem} = node;
  const path = context.tree.pathOf(at).filter(({parent}) => parent);
  const from = (value: number): number[] => {
    const maker = graph.maker.get(value);
    return maker === undefined ? [] : [maker];
  };
  return [
    h('h2', {}, node.op, node.domain ? h('small', {}, ` ${node.domain}`) : false),
    h('p', {class: 'hint'}, h('code', {}, node.name), ...path.flatMap((scope, place) => [place === 0 ? ' in ' : ' › ', link(scope.title, () => context.reveal(scope))])),
    ...(problem ? [h('p', {class: 'problem'}, `${problem.where ? `${problem.where}: ` : ''}${problem.message}`), problem.hint ? h('p', {class: 'hint'}, problem.hint) : ''] : []) as Node[],
    ...(node.unchecked ? [h('p', {class: 'note'}, 'Its inputs depend on a node with a problem, so its shape is not known.')] : []),
    section('Outputs', h('ul', {class: 'plain'}, ...node.outputs.filter((id) => id !== null).map((id) => tensor(context, id, 'output', graph.readers.get(id) ?? [])))),
    section('Computed by', ...computedBy(context, [at])),
    section('Inputs', h('ul', {class: 'plain'}, ...node.inputs.filter((id) => id !== null).map((id) => tensor(context, id, 'input', from(id))))),
    ...(node.attributes ? [section('Attributes', h('dl', {}, ...Object.entries(node.attributes).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, attributeText(value))])))] : []),
  ];
}

function ofScope(context: Context, scope: Scope): Node[] {
  const nodes = [...context.tree.nodesIn(scope)];
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const op = context.graph.titleOf(node);
    counts.set(op, (counts.get(op) ?? 0) + 1);
  }
  const own = scope.node === undefined ? [] : ofNode(context, scope.node);
  const bytes = [...new Set(nodes.flatMap((node) => context.view.nodes[node]?.inputs ?? []))].reduce<number>((sum, id) => sum + (id === null ? 0 : context.view.values[id]?.weight?.bytes ?? 0), 0);
  const open = context.open.has(scope.id);
  return [
    ...(own.length > 0 ? own : [h('h2', {}, scope.title), h('p', {class: 'hint'}, context.tree.nameOf(scope))]),
    h('button', {type: 'button', class: 'quiet small', click: () => context.toggle(scope)}, open ? 'Close the group' : 'Open the group'),
    section('Inside', h('p', {}, `${plural(nodes.length, 'node')}, weights of ${bytesText(bytes)}`),
      h('p', {}, [...counts].sort(([, a], [, b]) => b - a).map(([op, count]) => (count > 1 ? `${op} ×${count}` : op)).join(', '))),
    section('Cost', h('table', {}, h('thead', {}, h('tr', {}, ...['Target', 'Time', 'Operations', 'Bytes', 'Share'].map((title, at) => h('th', {scope: 'col', class: at > 0 ? 'number' : ''}, title)))),
      h('tbody', {}, ...[...context.costs].map(([target, costs]) => {
        const sum = (measure: Measure): number => costs.sum(nodes, measure);
        const whole = costs.total[measureOf(costs)] ?? 0;
        return h('tr', {}, h('th', {scope: 'row'}, target), ...[costs.profile ? msText(sum('ms')) : '–', opsText(sum('operations')), bytesText(sum('bytes')), whole > 0 ? percentText(sum(measureOf(costs)) / whole) : '–'].map((text) => h('td', {class: 'number'}, text)));
      })))),
  ];
}

function ofPort(context: Context, item: number, value: number, kind: 'input' | 'output'): Node[] {
  const {graph, view} = context;
  const others = kind === 'input' ? graph.readers.get(value) ?? [] : [graph.maker.get(value)].filter((maker) => maker !== undefined);
  return [
    h('h2', {}, view.values[value]?.name ?? ''), h('p', {class: 'hint'}, `${kind} of the model`),
    h('ul', {class: 'plain'}, tensor(context, value, kind === 'input' ? 'output' : 'input', others.filter((other) => other !== item))),
  ];
}

/** Empty: nothing is selected. */
export function details(context: Context): Node[] {
  const {item, scope} = context.state;
  const chosen = scope === undefined ? undefined : context.tree.scopes[scope];
  if (chosen) return ofScope(context, chosen);
  const found = item === undefined ? undefined : context.graph.items[item];
  if (!found || item === undefined) return [];
  return found.kind === 'node' ? ofNode(context, found.node) : ofPort(context, item, found.value, found.kind);
}
