import type {Profile} from './findings.ts';

const fixed = (value: number, digits: number): string => (Number.isFinite(value) ? value.toFixed(digits) : '-');

/** Text for people: a line a kernel, those that take most first, and below what they sum up to. */
export function tableOf(profile: Profile): string {
  const {model, device, adapter, threads, method, runMs, kernelMs, copyRate, kernels} = profile;
  const head = ['ms', '%', 'launches', 'MB', 'GB/s', '% of copy', 'kernel', 'nodes', 'schedule'];
  const rows = kernels.map(({name, origin, schedule, launches, ms, bytes, device: place}) => {
    const rate = ms > 0 ? bytes / ms / 1e6 : NaN;
    return [
      fixed(ms, 3), fixed((100 * ms) / kernelMs, 1), String(launches), fixed(bytes / 1e6, 2), fixed(rate, 1),
      fixed((100 * rate) / copyRate, 0), place === device ? name : `${name} (${place})`, origin,
      // Only what kind it is: the rest of it fills lines.
      schedule.split(':')[0] ?? '',
    ];
  });
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, at) => (at < 6 ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join('  ').trimEnd();
  return [
    `${model} on ${device}: ${adapter}${threads > 1 ? `, ${threads} threads` : ''}`,
    line(head),
    ...rows.map(line),
    `${fixed(kernelMs, 3)} ms in kernels (by ${method}), ${fixed(runMs, 3)} ms a run; a copy reaches ${fixed(copyRate, 1)} GB/s`,
  ].join('\n');
}
