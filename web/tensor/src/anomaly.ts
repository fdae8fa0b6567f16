/** NaN is looked for in what each operation gives, and the call that made the first one is named. */
import {atCaller} from './caller.ts';
import {codeOf} from './dtype.ts';
import {type Device, recordNode, type Recorded, Value} from './recording.ts';
import {isFloat} from './dtype.ts';
import {shapeText} from '../../runtime/src/values/types.ts';

export interface Anomaly {
  /** 1 where there is NaN, else 0. */
  readonly flag: Value;
  /** The call. */
  readonly where: Error;
  readonly what: string;
}

let watching = false;
let found: Anomaly[] = [];

/**
 * While on, operations are checked for NaN when they run, and what is read of a program in which there was one rejects with the
 * first: operator, shapes and the line of the user's code. It costs a reduction an operation. Returns what it was before.
 */
export function detectAnomaly(on = true): boolean {
  const before = watching;
  watching = on;
  return before;
}

/** Takes note of what an operation gave. */
export function watch(op: string, inputs: readonly (Recorded | null)[], outputs: readonly Recorded[], device: Device): void {
  if (!watching) return;
  for (const output of outputs) {
    if (!isFloat(output.dtype)) continue;
    const [nan] = recordNode('IsNaN', [output]);
    const [bytes] = recordNode('Cast', [nan as Recorded], {to: codeOf('i32')});
    const [flag] = recordNode('ReduceMax', [bytes as Recorded], {keepdims: 0});
    const shapes = inputs.map((input) => (input ? shapeText(input.shape) : 'nothing')).join(', ');
    const what = `${op}(${shapes}) gave NaN in a result of shape ${shapeText(output.shape)}`;
    found.push({flag: new Value(flag as Recorded, device, false), where: atCaller(() => new Error(what)), what});
  }
}

/** What was noted of a device since the last call. */
export function anomalies(device: Device): Anomaly[] {
  if (found.length === 0) return found;
  const mine = found.filter(({flag}) => flag.device === device);
  found = found.filter(({flag}) => flag.device !== device);
  return mine;
}
