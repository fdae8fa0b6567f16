import type {Findings} from './findings.ts';

const fixed = (value: number, digits: number): string => (Number.isFinite(value) && value > 0 ? value.toFixed(digits) : '-');

/** A line a kernel of a run, those that take most first, and below what they sum up to. */
export function tableOf({model, device, adapter, threads, method, runMs, kernelMs, limits, kernels}: Findings): string {
  const head = ['ms', '%', 'launches', 'MB', 'GB/s', 'GFLOP/s', '% of', 'limit', 'kernel', 'nodes', 'schedule'];
  const numbers = 7;
  const ran = kernels.filter(({launches}) => launches > 0);
  const rows = ran.map(({name, origin, schedule, launches, ms, bytes, operations, limit, share, device: place}) => [
    fixed(ms, 4), fixed((100 * ms) / kernelMs, 1), String(launches), fixed(bytes / 1e6, 2), fixed(bytes / ms / 1e6, 1),
    fixed(operations / ms / 1e6, 1), fixed(100 * share, 0), limit,
    place === device ? name : `${name} (${place})`, origin,
    // Only what kind it is: the rest of it fills lines.
    schedule.split(':')[0] ?? '',
  ]);
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => (row[at] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, at) => (at < numbers ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join('  ').trimEnd();
  return [
    `${model} on ${device}: ${adapter}${threads > 1 ? `, ${threads} threads` : ''}`,
    line(head),
    ...rows.map(line),
    `${fixed(kernelMs, 3)} ms in kernels (by ${method}), ${fixed(runMs, 3)} ms a run`,
    ...limits.map(({device: kind, copyRate, arithmeticRate}) =>
      `${kind}: a copy reaches ${fixed(copyRate, 1)} GB/s, multiply-adds ${fixed(arithmeticRate, 1)} GFLOP/s`,
    ),
  ].join('\n');
}
