/** Copies of callers' arrays, in memory of earlier ones: fresh memory is made ready page by page, which takes longer than the copy. */
import type {TensorData} from '../../runtime/src/values/types.ts';

/** Bytes from which that counts, and up to which memory is kept. */
const [LEAST, LARGEST] = [2 ** 16, 2 ** 26];
const MOST = 4;

/** Those of copyOf() that are in use. */
const made = new WeakSet<object>();
const spare: TensorData[] = [];

export function copyOf(data: TensorData): TensorData {
  const {length, constructor: type, byteLength} = data;
  if (byteLength < LEAST || byteLength > LARGEST) return data.slice();
  const at = spare.findIndex((each) => each.length === length && each.constructor === type);
  const copy = spare.splice(at, at < 0 ? 0 : 1)[0];
  copy?.set(data as never);
  const found = copy ?? data.slice();
  made.add(found);
  return found;
}

/** Nobody reads it any more. Of what copyOf() did not make nothing is kept. */
export function giveUp(data: unknown): void {
  if (made.delete(data as object) && spare.push(data as TensorData) > MOST) spare.shift();
}
