/** Launches as words in the kernels' memory, so that any thread on it can do them (Pool.compute). */
import type {Launch} from '../device.ts';

/** Where a table lies, and how many launches it has: kernels may have written over it. */
export type Table = readonly [address: number, count: number];

// How many launches are done, microseconds of the latest time; then a row for each, and behind the rows the arguments.
export const DONE_OF = 0;
export const MICROS = 1;
export const HEAD = 2;
// A row: kernel, bytes from the table to its arguments, range; how often it was shared, up to a limit, and the
// shortest of these times.
export const ROW = 5;
export const ARGS = 1;
export const RANGE = 2;
export const TRIED = 3;
export const LEAST = 4;

/** Microseconds of what has not happened yet, or took several threads. */
export const LONG = 2 ** 31 - 1;

/** The words of a table; `blockOf`: where a buffer lies; `first`: the number of the program's first kernel. */
export function tableOf(
  launches: readonly Launch[],
  blockOf: (buffer: Launch['buffers'][number]) => number,
  first = 0,
): Int32Array<ArrayBuffer> {
  const {length} = launches;
  const rows: number[] = [];
  const all: number[] = [];
  for (const {kernel, buffers, scalars, range} of launches) {
    rows.push(first + kernel, 4 * (HEAD + ROW * length + all.length), range, 0, LONG);
    all.push(...buffers.map(blockOf), ...scalars);
  }
  return Int32Array.of(length, LONG, ...rows, ...all);
}
