/** Random bits that programs make: other ones in each call, of one program. */
import {Core, uploaded} from './core.ts';
import {codeOf} from './dtype.ts';
import {words} from './random.ts';
import {constant, recordNode, type Recorded} from './recording.ts';
import {getSize, type Shape} from './shape.ts';

/** 32 bits of each place of a shape, hashed with a seed that is fed: the same numbers on every target. The hash is C. Wellons' lowbias32. */
export function randomBits<T extends Core>(shape: Shape, {device}: T): T {
  const node = (op: string, ...inputs: Recorded[]): Recorded => recordNode(op, inputs, op === 'Cast' ? {to: codeOf('u32')} : undefined)[0] as Recorded;
  const number = (value: number): Recorded => constant('u32', [], [value]);
  const places = node('Cast', node('Range', ...[0, getSize(shape), 1].map((each) => constant('i64', [], [each]))));
  const seed = new Core.type(uploaded('u32', [], Uint32Array.of(words(1)[0] ?? 0), device));
  let mixed = seed.apply('Add', [seed, node('Mul', places, number(0x9e3779b9))]);
  for (const [shift, factor] of [[16, 0x7feb352d], [15, 0x846ca68b], [16, 1]] as const) {
    const moved = mixed.apply('BitShift', [mixed, number(shift)], {direction: 'RIGHT'});
    const crossed = mixed.apply('BitwiseXor', [mixed, moved]);
    mixed = factor === 1 ? crossed : crossed.apply('Mul', [crossed, number(factor)]);
  }
  return mixed.apply('Reshape', [mixed, constant('i64', [shape.length], shape)], {allowzero: 1}) as T;
}
