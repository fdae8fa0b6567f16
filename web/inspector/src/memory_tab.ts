/** Memory over a run: a bar for each launch, and what is alive in the chosen one. */
import type {Context} from './context.ts';
import {h, link, s} from './dom.ts';
import {bytesText, percentText} from './units.ts';

const HEIGHT = 180;

export function memoryTab(context: Context): Node[] {
  const costs = context.current;
  if (!costs) return [h('p', {}, `${context.target} cannot run this model: see Problems.`)];
  const timeline = context.timeline(costs);
  const {used, kept, peak, allocated} = timeline;
  const step = Math.min(context.state.step ?? timeline.at, used.length - 1);
  const cost = costs.run[step];
  const wide = Math.max(used.length, 1);
  const scale = (bytes: number): number => (HEIGHT * bytes) / Math.max(peak, 1);
  // One path each: thousands of launches are thousands of bars.
  const outline = (of: (at: number) => number): string => `M0 ${HEIGHT}${used.map((_, at) => `V${HEIGHT - scale(of(at))}H${at + 1}`).join('')}V${HEIGHT}z`;
  const choose = (event: MouseEvent): void => {
    const {left, width} = (event.currentTarget as Element).getBoundingClientRect();
    context.set({step: Math.max(0, Math.min(used.length - 1, Math.floor(((event.clientX - left) / width) * wide)))});
  };
  const chart = s('svg', {viewBox: `0 0 ${wide} ${HEIGHT}`, preserveAspectRatio: 'none', class: 'timeline', 'aria-hidden': 'true', click: choose},
    s('path', {d: outline((at) => used[at] ?? 0), class: 'used'}), s('path', {d: outline(() => kept), class: 'kept'}),
    s('rect', {x: step, y: 0, width: 1, height: HEIGHT, class: 'chosen'}));
  const alive = timeline.tensors.filter(({from, to}) => from <= step && step <= to);
  const slider = h('input', {type: 'range', min: 1, max: Math.max(1, used.length), value: step + 1, 'aria-label': 'Launch', 'aria-valuetext': `launch ${step + 1}, ${bytesText(used[step])}`, input: (event: Event) => {
    context.set({step: Number((event.target as HTMLInputElement).value) - 1});
  }});
  const of = (step === timeline.at ? 'the peak' : percentText((used[step] ?? 0) / Math.max(1, peak)) + ' of the peak');
  return [
    h('p', {}, h('b', {}, bytesText(peak)), ' at the peak, in ', link(`launch ${timeline.at + 1}`, () => context.set({step: timeline.at})), `. Weights take ${bytesText(kept)} throughout. The device holds ${bytesText(allocated)}, as tensors that are not needed at the same time share memory.`),
    h('div', {class: 'chart'}, h('p', {class: 'hint'}, `${bytesText(peak)}`), chart, slider,
      h('p', {class: 'legend'}, h('span', {class: 'key used'}), ' tensors of the run ', h('span', {class: 'key kept'}), ' weights')),
    h('h2', {}, `Launch ${step + 1} of ${used.length}: ${bytesText(used[step])}, ${of}`),
    h('p', {}, cost ? `${cost.name}, ` : '', ...(cost?.nodes ?? []).slice(0, 4).flatMap((node, at) => [at > 0 ? ' + ' : '', link(context.label(node), () => context.reveal(node))])),
    h('div', {class: 'scroll', role: 'region', 'aria-label': 'Tensors in memory', tabindex: 0}, h('table', {}, h('thead', {}, h('tr', {}, ...['Tensor', 'Bytes', 'From launch', 'To launch'].map((title, at) => h('th', {scope: 'col', class: at > 0 ? 'number' : ''}, title)))),
      h('tbody', {}, ...alive.slice(0, 100).map(({name, bytes, from, to}) => h('tr', {}, h('td', {}, h('code', {}, name)), ...[bytesText(bytes), from + 1, to + 1].map((value) => h('td', {class: 'number'}, value)))),
        kept > 0 && h('tr', {}, h('td', {}, 'weights'), h('td', {class: 'number'}, bytesText(kept)), h('td', {class: 'number'}, 'load'), h('td', {class: 'number'}, 'end'))))),
  ];
}
