/** Places of elements that are known when an operation is called: those out of range throw as in PyTorch. */
import type {Core} from './core.ts';
import {wrong} from './shape.ts';

/** Elements that are in the page's memory and were not computed. */
const known = (tensor: Core): ArrayLike<number | bigint> | undefined => tensor.value.stored?.host;

/** Throws 'input' where one that is known is not in [least, most) and is not `other`. */
function check(tensor: Core, least: number, most: number, other: number, message: (found: number) => string): void {
  const data = known(tensor);
  if (!data || tensor.dtype === 'bool') return;
  for (let at = 0; at < data.length; ++at) {
    const each = Number(data[at]);
    if ((each < least || each >= most) && each !== other) throw wrong(message(each));
  }
}

/** Places along an axis, from 0 or, where `negative`, also from the end. */
export function checkPlaces(what: string, places: Core, extent: number, axis: number, negative = false): void {
  const least = negative ? -extent : 0;
  check(places, least, extent, NaN, (each) => `${what}: place ${each} on axis ${axis}; ${extent > 0 ? `${least} to ${extent - 1} are allowed` : 'the axis is empty'}`);
}

/** Classes of a target, and one that is passed over. */
export function checkClasses(target: Core, classes: number, ignored: number, what: string): void {
  check(target, 0, classes, ignored, (each) => `${what}: the target ${each} is not a class; 0 to ${classes - 1} are allowed`);
}
