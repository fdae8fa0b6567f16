/** Pictures as others would have drawn them: turned, sheared, scaled and moved a little, anew each time. */

const SIDE = 28;
const MIDDLE = (SIDE - 1) / 2;

/** Writes a distorted picture, 0 to 1, of the bytes from `from` on to `to` in `out`; reads between pixels linearly. */
export function distort(pixels: Uint8Array, from: number, random: () => number, out: Float32Array, to: number): void {
  const spread = (range: number): number => (random() - 0.5) * range;
  const [angle, scale, shear, dx, dy] = [spread(0.5), 1 + spread(0.25), spread(0.3), spread(4), spread(4)];
  const [cos, sin] = [Math.cos(angle) / scale, Math.sin(angle) / scale];
  const pixel = (x: number, y: number): number =>
    x >= 0 && x < SIDE && y >= 0 && y < SIDE ? (pixels[from + y * SIDE + x] as number) : 0;
  for (let y = 0; y < SIDE; ++y) {
    for (let x = 0; x < SIDE; ++x) {
      const [u, v] = [x - MIDDLE - dx, y - MIDDLE - dy];
      const [px, py] = [cos * u - sin * v + shear * v + MIDDLE, sin * u + cos * v + MIDDLE];
      const [left, top] = [Math.floor(px), Math.floor(py)];
      const [wx, wy] = [px - left, py - top];
      const above = pixel(left, top) * (1 - wx) + pixel(left + 1, top) * wx;
      const below = pixel(left, top + 1) * (1 - wx) + pixel(left + 1, top + 1) * wx;
      out[to + y * SIDE + x] = (above * (1 - wy) + below * wy) / 255;
    }
  }
}
