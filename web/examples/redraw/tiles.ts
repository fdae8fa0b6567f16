/** A plane of any size for what takes squares of one size. */

/** Places of tiles of `side` that cover `extent`, each but the outermost losing `margin` at its edges: what it is good for. */
export function tiles(extent: number, side: number, margin: number): {begin: number; from: number; to: number}[] {
  const made: {begin: number; from: number; to: number}[] = [];
  for (let from = 0; from < extent; ) {
    const begin = Math.max(0, Math.min(from === 0 ? 0 : from - margin, extent - side));
    const to = begin + side >= extent ? extent : begin + side - margin;
    made.push({begin, from, to});
    from = to;
  }
  return made;
}

/** A square part of a plane; beyond its edge the nearest values go on. */
export function cut(plane: Float32Array, width: number, height: number, left: number, top: number, side: number): Float32Array {
  const made = new Float32Array(side * side);
  for (let y = 0; y < side; ++y) {
    const row = Math.min(top + y, height - 1) * width;
    for (let x = 0; x < side; ++x) made[y * side + x] = plane[row + Math.min(left + x, width - 1)] as number;
  }
  return made;
}

export interface Tiling {
  /** Of the squares. */
  readonly side: number;
  /** How many times larger results are. */
  readonly scale: number;
  /** How far a result is from the values that it depends on. */
  readonly margin: number;
}

/** What `run` makes of the plane, square by square; `told` hears how much is done, 0 to 1. */
export async function byTiles(
  plane: Float32Array,
  width: number,
  height: number,
  {side, scale, margin}: Tiling,
  run: (part: Float32Array) => Promise<Float32Array>,
  told: (share: number) => Promise<void>,
): Promise<Float32Array> {
  const made = new Float32Array(scale * scale * plane.length);
  const [rows, columns] = [tiles(height, side, margin), tiles(width, side, margin)];
  let done = 0;
  for (const row of rows) {
    for (const column of columns) {
      const large = await run(cut(plane, width, height, column.begin, row.begin, side));
      for (let y = scale * row.from; y < scale * row.to; ++y) {
        const from = scale * side * (y - scale * row.begin) - scale * column.begin;
        made.set(large.subarray(from + scale * column.from, from + scale * column.to), y * scale * width + scale * column.from);
      }
      await told(++done / (rows.length * columns.length));
    }
  }
  return made;
}
