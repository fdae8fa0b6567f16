/** The first page: what the model is, and the answers that people look for first. */
import type {Context} from './context.ts';
import {measureOf} from './costs.ts';
import {h, link} from './dom.ts';
import {shapeText} from './expressions.ts';
import {notOnGpu, problemsOf} from './problems_tab.ts';
import {bytesText, countText, msText, opsText, percentText, plural} from './units.ts';

const card = (title: string, ...children: (Node | string | false)[]): HTMLElement => h('section', {class: 'card'}, h('h2', {}, title), ...children);

function slowest(context: Context): HTMLElement {
  const costs = context.current;
  if (!costs) return card('Layers', h('p', {}, `${context.target} cannot run this model.`));
  const measure = measureOf(costs);
  const whole = costs.total[measure] ?? 0;
  const layers = new Map<number | undefined, number>();
  for (const cost of costs.run) layers.set(cost.main, (layers.get(cost.main) ?? 0) + (cost[measure] ?? 0));
  const best = [...layers].filter(([, amount]) => amount > 0).sort(([, a], [, b]) => b - a).slice(0, 5);
  const said = measure === 'ms' ? `Measured on ${costs.profile?.adapter ?? ''}: a run takes ${msText(costs.profile?.runMs)}.`
    : `No times yet${context.offers.measure ? ': press Measure' : ''}. These do most of the arithmetic.`;
  return card(measure === 'ms' ? `Slowest layers on ${context.target}` : `Most operations on ${context.target}`, h('p', {class: 'hint'}, said), h('ol', {class: 'ranks'}, ...best.map(([node, amount]) => {
    const share = whole > 0 ? amount / whole : 0;
    return h('li', {style: `--share: ${(100 * share).toFixed(1)}%`},
      node === undefined ? 'other launches' : link(context.label(node), () => context.reveal(node)), ' ',
      h('span', {class: 'amount'}, `${measure === 'ms' ? msText(amount) : opsText(amount)}, ${percentText(share)}`));
  })));
}

function memory(context: Context): HTMLElement {
  const costs = context.current;
  if (!costs) return card('Memory', h('p', {}, 'Not known: nothing was compiled.'));
  const timeline = context.timeline(costs);
  const cost = costs.run[timeline.at];
  const node = cost?.main;
  return card(`Memory on ${context.target}`,
    h('p', {}, h('b', {}, bytesText(timeline.peak)), ' at the peak, in ', link(`launch ${timeline.at + 1}`, () => context.set({tab: 'memory', step: timeline.at})),
      node === undefined ? false : ', ', node !== undefined && link(context.label(node), () => context.reveal(node)), '.'),
    h('p', {}, `${bytesText(timeline.kept)} of it are weights, in the form that kernels read; the device holds ${bytesText(timeline.allocated)}.`));
}

function places(context: Context): HTMLElement {
  const problems = problemsOf(context);
  const side = notOnGpu(context);
  const nodes = side.reduce((sum, {costs}) => sum + costs.length, 0);
  return card('Problems', problems.length > 0
    ? h('p', {class: 'alarm'}, link(`${plural(problems.length, 'operator')} cannot be compiled`, () => context.set({tab: 'problems'})), `: ${problems.slice(0, 4).map(({op}) => op).join(', ')}`)
    : h('p', {}, 'Every operator is supported.'),
  nodes > 0 && h('p', {}, link(`${plural(nodes, 'launch', 'launches')} not on the GPU`, () => context.set({tab: 'problems'})), `: ${side[0]?.reason ?? ''}`),
  ...context.view.targets.filter((target) => 'problem' in target).slice(0, problems.length > 0 ? 0 : 6).map(({target}) => h('p', {class: 'alarm'}, link(`${target} cannot run this model`, () => context.set({tab: 'problems'})))));
}

function ports(context: Context): HTMLElement {
  const list = (title: string, ids: readonly number[]): Node[] => [h('dt', {}, title), ...ids.slice(0, 12).map((id) => {
    const value = context.view.values[id];
    const item = context.graph.items.findIndex((each) => each.kind !== 'node' && each.kind === title.toLowerCase() && each.value === id);
    return h('dd', {}, link(value?.name ?? '', () => context.reveal(item)), ` ${value?.dtype ?? ''} `, h('span', {class: 'shape'}, shapeText(value?.shape, context.state.dims)));
  }), ...(ids.length > 12 ? [h('dd', {class: 'hint'}, `and ${ids.length - 12} more`)] : [])];
  return card('Inputs and outputs', h('dl', {}, ...list('Input', context.view.inputs), ...list('Output', context.view.outputs)));
}

function targets(context: Context): HTMLElement {
  const row = (target: string): HTMLElement => {
    const costs = context.costs.get(target);
    const cells = costs ? [costs.profile ? msText(costs.profile.runMs) : '–', bytesText(context.timeline(costs).peak), bytesText(costs.compiled.packageBytes)] : ['cannot run it', '–', '–'];
    return h('tr', {}, h('th', {scope: 'row'}, target), ...cells.map((text) => h('td', {class: 'number'}, text)));
  };
  return card('Targets', h('table', {}, h('thead', {}, h('tr', {}, h('td'), ...['Run', 'Peak', 'Package'].map((title) => h('th', {scope: 'col', class: 'number'}, title)))),
    h('tbody', {}, ...context.view.targets.map(({target}) => row(target)))), h('p', {}, link('Compare them layer by layer', () => context.set({tab: 'compare'}))));
}

function model(context: Context): HTMLElement {
  const {view} = context;
  const weights = view.values.filter(({weight}) => weight);
  const bytes = weights.reduce((sum, {weight}) => sum + (weight?.bytes ?? 0), 0);
  const elements = weights.reduce((sum, {weight}) => sum + (weight?.elements ?? 0), 0);
  const counts = new Map<string, number>();
  for (const {op} of view.nodes) counts.set(op, (counts.get(op) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return card('Model', h('p', {}, `${plural(view.nodes.length, 'node')}, ${countText(elements)} weights in ${bytesText(bytes)}.`),
    h('ul', {class: 'chips'}, ...sorted.slice(0, 24).map(([op, count]) => h('li', {}, link(count > 1 ? `${op} ×${count}` : op, () => context.set({tab: 'graph', find: op}))))));
}

export const overviewTab = (context: Context): Node[] => [h('div', {class: 'cards'}, slowest(context), memory(context), targets(context), places(context), ports(context), model(context))];
