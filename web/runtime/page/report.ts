/** What runs where, as tables. */
import type {Report} from '../src/index.ts';
import {make} from './dom.ts';

export function showReport(report: Report): HTMLElement {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(2)} MB`;
  const facts: [string, string][] = [
    ['Device', `${report.device} (${report.adapter})`],
    ['Threads', String(report.threads)],
    ['Loaded in', `${report.times.loadMs.toFixed(0)} ms`],
    ['Memory', `${megabytes(report.memory.persistent)} weights, ${megabytes(report.memory.transient)} for a run`],
    ...report.fallbacks.map(({what, reason}): [string, string] => [what, reason]),
  ];
  const table = make('table', {});
  for (const [what, value] of facts) {
    table.append(make('tr', {}, make('th', {scope: 'row'}, what), make('td', {}, value)));
  }
  const kernels = make('table', {});
  const cells = (tag: 'th' | 'td', texts: readonly string[]): HTMLElement =>
    make('tr', {}, ...texts.map((text) => make(tag, {}, text)));
  kernels.append(cells('th', ['', 'Kernel', 'Computes', 'Schedule', 'Runs', 'Device']));
  report.kernels.forEach(({name, origin, schedule, phase, times, device}, at) => {
    const first = phase === 'init';
    const count = first ? '' : String(times);
    kernels.append(cells('td', [first ? 'once' : String(at + 1), name, origin, schedule, count, device]));
  });
  return make('div', {className: 'scroll'}, table, kernels);
}
