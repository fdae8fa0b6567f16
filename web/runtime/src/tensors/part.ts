import {GossamerError, product, shapeText} from '../values/types.ts';

/** A part of a tensor. */
export interface PartOptions {
  /** Indices along the first axes, of which negative ones count from the end: `[0, -1]` is the last row of the first matrix. */
  readonly at?: readonly number[] | undefined;
}

/** Elements of the part: all of them without `at`. Throws 'input' for an index that does not exist. */
export function rangeOf(shape: readonly number[], at: readonly number[] = []): {begin: number; count: number} {
  let begin = 0;
  for (const [axis, index] of at.entries()) {
    const extent = shape[axis] ?? 0;
    if (!Number.isInteger(index) || index < -extent || index >= extent) {
      throw new GossamerError('input', `there is no element [${at.join()}] in a tensor of shape ${shapeText(shape)}`);
    }
    begin = begin * extent + (index < 0 ? index + extent : index);
  }
  const count = product(shape.slice(at.length));
  return {begin: begin * count, count};
}
