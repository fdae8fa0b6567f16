/** Arithmetic of shapes, in elements; row-major. */
import {GossamerError, product, shapeText} from '../../runtime/src/values/types.ts';
import {atCaller} from './caller.ts';

export type Shape = readonly number[];

export const wrong = (message: string): GossamerError => atCaller(() => new GossamerError('input', message));

/** How many elements a shape has. */
export const getSize = product;

/** How far apart neighbours along each axis are. */
export function computeStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  for (let axis = shape.length - 1, stride = 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis] ?? 1;
  }
  return strides;
}

/** The place of an element among all, from its index. */
export const indexToPos = (index: Shape, strides: Shape): number =>
  index.reduce((sum, at, axis) => sum + at * (strides[axis] ?? 0), 0);

/** The index of the element at a place; inverse of indexToPos. */
export function posToIndex(pos: number, strides: Shape): number[] {
  return strides.map((stride) => {
    const at = Math.floor(pos / stride);
    pos -= at * stride;
    return at;
  });
}

export const compareShapes = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((extent, axis) => extent === b[axis]);

/** Whether one is the other with axes of extent 1 left out or added. */
export const checkEquivShapes = (a: Shape, b: Shape): boolean =>
  compareShapes(a.filter((extent) => extent !== 1), b.filter((extent) => extent !== 1));

/** The next index in place, the last axis first; false behind the last. */
export function incrementIndex(index: number[], shape: Shape): boolean {
  for (let axis = index.length - 1; axis >= 0; --axis) {
    index[axis] = (index[axis] ?? 0) + 1;
    if ((index[axis] ?? 0) < (shape[axis] ?? 1)) return true;
    index[axis] = 0;
  }
  return false;
}

/** The index before in place; false before the first. */
export function decrementIndex(index: number[], shape: Shape): boolean {
  for (let axis = index.length - 1; axis >= 0; --axis) {
    index[axis] = (index[axis] ?? 0) - 1;
    if ((index[axis] ?? 0) >= 0) return true;
    index[axis] = (shape[axis] ?? 1) - 1;
  }
  return false;
}

/** The shape that both broadcast to. Throws 'input' where there is none. */
export function broadcastShapes(a: Shape, b: Shape, what = 'broadcast'): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({length: rank}, (_, axis) => {
    const [left, right] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1];
    if (left !== right && left !== 1 && right !== 1) {
      throw wrong(`${what}: shapes ${shapeText(a)} and ${shapeText(b)} do not fit: ${left} and ${right} on axis ${axis}`);
    }
    return left === 1 ? right : left;
  });
}

/** An axis counted from the front. Throws 'input' for one that is not there. */
export function axisOf(axis: number, rank: number, what: string): number {
  const at = axis < 0 ? axis + rank : axis;
  if (Number.isInteger(at) && at >= 0 && (at < rank || (rank === 0 && at === 0))) return at;
  throw wrong(`${what}: axis ${axis} of a tensor of ${rank} axes`);
}

/** Checked extents. Throws 'input'. */
export function shapeOf(shape: Shape, what: string): readonly number[] {
  if (shape.every((extent) => Number.isSafeInteger(extent) && extent >= 0)) return shape;
  throw wrong(`${what}: ${shapeText(shape)} is not a shape`);
}

/** A shape with at most one -1, which is inferred from how many elements there are. Throws 'input'. */
export function inferShape(shape: Shape, size: number, what: string): number[] {
  const rest = product(shape.filter((extent) => extent !== -1));
  const made = shape.map((extent) => (extent === -1 ? (rest === 0 ? 0 : size / rest) : extent));
  const holes = shape.filter((extent) => extent === -1).length;
  if (holes > 1 || product(made) !== size || !made.every((extent) => Number.isInteger(extent) && extent >= 0)) {
    throw wrong(`${what}: ${size} elements do not make the shape ${shapeText(shape)}`);
  }
  return made;
}
