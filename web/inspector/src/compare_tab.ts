/** Targets next to each other, as a whole and layer by layer. */
import type {Context} from './context.ts';
import {type LaunchCost, type Measure, type TargetCosts} from './costs.ts';
import {type Column, h, link, table} from './dom.ts';
import {bytesText, msText, opsText, plural} from './units.ts';

const NONE = '–';

function whole(context: Context): HTMLElement {
  const targets = context.view.targets.map(({target}) => target);
  const row = (title: string, of: (costs: TargetCosts) => string): HTMLElement =>
    h('tr', {}, h('th', {scope: 'row'}, title), ...targets.map((target) => {
      const costs = context.costs.get(target);
      return h('td', {class: 'number'}, costs ? of(costs) : NONE);
    }));
  return h('div', {class: 'scroll', role: 'region', 'aria-label': 'Targets', tabindex: 0}, h('table', {class: 'compare'},
    h('thead', {}, h('tr', {}, h('td', {}), ...targets.map((target) => h('th', {scope: 'col', class: 'number'}, target)))),
    h('tbody', {},
      h('tr', {}, h('th', {scope: 'row'}, 'Runs'), ...targets.map((target) => h('td', {class: 'number'}, context.costs.has(target) ? 'yes' : link('no', () => context.set({tab: 'problems'}))))),
      row('Time of a run, measured', ({profile}) => (profile ? msText(profile.runMs) : NONE)),
      row('In kernels', ({total}) => (total.ms === undefined ? NONE : msText(total.ms))),
      row('Launches', ({run}) => String(run.length)),
      row('Launches on the CPU', ({run, compiled}) => (compiled.manifest.side ? String(run.filter(({onSide}) => onSide).length) : compiled.target === 'cpu' || compiled.target === 'wasm' ? 'all' : '0')),
      row('Kernels', ({compiled}) => String(compiled.kernels.length)),
      row('Operations', ({total}) => opsText(total.operations)),
      row('Bytes read and written', ({total}) => bytesText(total.bytes)),
      row('Memory at the peak', (costs) => bytesText(context.timeline(costs).peak)),
      row('Memory that the device holds', (costs) => bytesText(context.timeline(costs).allocated)),
      row('Weights', ({compiled}) => bytesText(compiled.weightBytes)),
      row('Package', ({compiled}) => bytesText(compiled.packageBytes)))));
}

interface Layer {
  readonly nodes: readonly number[];
  readonly first: readonly LaunchCost[];
  readonly second: readonly LaunchCost[];
}

/** By the node that launches are for. What one target computes after a product, in its launch, belongs to the product on both. */
function layersOf(a: TargetCosts, b: TargetCosts): Layer[] {
  const after = new Map<number, number>();
  for (const {nodes, main} of [...a.run, ...b.run]) {
    if (main === undefined || main !== nodes[0]) continue;
    for (const node of nodes) if (node !== main) after.set(node, main);
  }
  const made = new Map<number, {nodes: Set<number>; first: LaunchCost[]; second: LaunchCost[]}>();
  const add = (cost: LaunchCost, side: 'first' | 'second'): void => {
    if (cost.main === undefined) return;
    const key = after.get(cost.main) ?? cost.main;
    const layer = made.get(key) ?? {nodes: new Set([key]), first: [], second: []};
    made.set(key, layer);
    if (cost.main === cost.nodes[0]) cost.nodes.forEach((node) => layer.nodes.add(node));
    layer[side].push(cost);
  };
  a.run.forEach((cost) => add(cost, 'first'));
  b.run.forEach((cost) => add(cost, 'second'));
  return [...made.values()].map(({nodes, first, second}) => ({nodes: [...nodes], first, second}));
}

function layers(context: Context): Node[] {
  const names = [...context.costs.keys()];
  if (names.length < 2) return [];
  const first = context.target;
  const second = names.find((name) => name === context.state.with && name !== first) ?? names.find((name) => name !== first) ?? '';
  const [a, b] = [context.costs.get(first), context.costs.get(second)];
  if (!a || !b) return [];
  const measure: Measure = a.profile && b.profile ? 'ms' : 'bytes';
  const text = measure === 'ms' ? msText : bytesText;
  const sum = (costs: readonly LaunchCost[]): number => costs.reduce((all, cost) => all + (cost[measure] ?? 0), 0);
  const word = measure === 'ms' ? 'time' : 'bytes';
  const columns: Column<Layer>[] = [
    {title: 'Layer', cell: ({nodes}) => h('span', {}, ...nodes.slice(0, 2).flatMap((node, at) => [at > 0 ? ' + ' : '', link(context.label(node), () => context.reveal(node))]), nodes.length > 2 ? ` + ${nodes.length - 2} more` : ''), value: ({nodes}) => nodes[0], number: false},
    {title: `${first}: launches`, cell: (layer) => layer.first.length, value: (layer) => layer.first.length, number: true},
    {title: `${second}: launches`, cell: (layer) => layer.second.length, value: (layer) => layer.second.length, number: true},
    {title: `${first}: ${word}`, cell: (layer) => text(sum(layer.first)), value: (layer) => sum(layer.first), number: true},
    {title: `${second}: ${word}`, cell: (layer) => text(sum(layer.second)), value: (layer) => sum(layer.second), number: true},
    {title: 'Difference', cell: (layer) => `${sum(layer.first) >= sum(layer.second) ? '+' : '−'}${text(Math.abs(sum(layer.first) - sum(layer.second)))}`, value: (layer) => Math.abs(sum(layer.first) - sum(layer.second)), number: true},
  ];
  const select = h('select', {change: (event: Event) => context.set({with: (event.target as HTMLSelectElement).value})},
    ...names.filter((name) => name !== first).map((name) => h('option', {value: name, selected: name === second}, name)));
  const rows = layersOf(a, b);
  return [
    h('div', {class: 'row'}, h('h2', {}, `Layer by layer: ${first} and`), h('label', {}, h('span', {class: 'hidden'}, 'The other target'), select)),
    h('p', {class: 'hint'}, `${plural(rows.length, 'layer')}; activations belong to the product that one of the two computes them with.${measure === 'ms' ? '' : ' By bytes: there are no times of both.'}`),
    table(columns, rows, {label: 'Layers', sort: context.state.sort ?? 'Difference', onSort: (title) => context.set({sort: title})}),
  ];
}

export const compareTab = (context: Context): Node[] => [whole(context), ...layers(context)];
