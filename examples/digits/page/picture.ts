/**
 * Turns pen strokes into the 28 x 28 picture that a model trained on MNIST expects.
 *
 * MNIST's digits fit a box of 20 x 20 pixels and lie with their centre of mass in the middle of
 * 28 x 28 (LeCun et al., http://yann.lecun.com/exdb/mnist/). Strokes are rendered at that size
 * directly, with a pen of fixed width, so that a digit may be drawn small or large.
 */

/** A place on the drawing area; x to the right, y down, in any unit. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The points that the pen went through between touching the paper and leaving it. */
export type Stroke = readonly Point[];

export const SIZE = 28;
const BOX = 20;
const PEN = 2.4;

interface Placement {
  readonly scale: number;
  readonly left: number;
  readonly top: number;
}

/** Places the box around all points in the middle of the picture. */
function fit(points: Stroke, smallest: number): Placement {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const {x, y} of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  const scale = (BOX - PEN) / Math.max(right - left, bottom - top, smallest);
  const middle = SIZE / 2;
  return {
    scale,
    left: middle - (scale * (left + right)) / 2,
    top: middle - (scale * (top + bottom)) / 2,
  };
}

/** Inks the pixels near the line from (ax, ay) to (bx, by), given in pixels. */
function inkLine(picture: Float32Array, ax: number, ay: number, bx: number, by: number): void {
  const reach = PEN / 2 + 0.5;
  const first = (low: number): number => Math.max(0, Math.floor(low - reach));
  const last = (high: number): number => Math.min(SIZE - 1, Math.ceil(high + reach));
  const [dx, dy] = [bx - ax, by - ay];
  const length = Math.max(dx * dx + dy * dy, 1e-12);
  for (let row = first(Math.min(ay, by)); row <= last(Math.max(ay, by)); ++row) {
    for (let column = first(Math.min(ax, bx)); column <= last(Math.max(ax, bx)); ++column) {
      const [px, py] = [column + 0.5 - ax, row + 0.5 - ay];
      const share = Math.min(1, Math.max(0, (px * dx + py * dy) / length));
      const distance = Math.hypot(px - share * dx, py - share * dy);
      const ink = Math.min(1, Math.max(0, reach - distance));
      const at = row * SIZE + column;
      picture[at] = Math.max(picture[at] ?? 0, ink);
    }
  }
}

function render(strokes: readonly Stroke[], {scale, left, top}: Placement): Float32Array {
  const picture = new Float32Array(SIZE * SIZE);
  for (const stroke of strokes) {
    let previous = stroke[0];
    for (const point of stroke) {
      const from = previous ?? point;
      inkLine(
        picture,
        scale * from.x + left,
        scale * from.y + top,
        scale * point.x + left,
        scale * point.y + top,
      );
      previous = point;
    }
  }
  return picture;
}

/** Where a picture's ink balances, in pixels from its upper left corner; undefined if blank. */
export function centreOfMass(picture: Float32Array): Point | undefined {
  let [mass, x, y] = [0, 0, 0];
  picture.forEach((ink, at) => {
    mass += ink;
    x += ink * ((at % SIZE) + 0.5);
    y += ink * (Math.floor(at / SIZE) + 0.5);
  });
  return mass > 0 ? {x: x / mass, y: y / mass} : undefined;
}

/**
 * The strokes as 28 x 28 values from 0 (paper) to 1 (ink), row by row.
 *
 * @param smallest the least extent, in the strokes' unit, that is blown up to the full box, so
 *   that a dot stays a dot.
 */
export function digitPicture(strokes: readonly Stroke[], smallest: number): Float32Array {
  const points = strokes.flat();
  if (points.length === 0) return new Float32Array(SIZE * SIZE);
  const placement = fit(points, smallest);
  const centre = centreOfMass(render(strokes, placement));
  if (centre === undefined) return new Float32Array(SIZE * SIZE);
  return render(strokes, {
    scale: placement.scale,
    left: placement.left + SIZE / 2 - centre.x,
    top: placement.top + SIZE / 2 - centre.y,
  });
}
