/**
 * What composed functions are written with, as python/gossamer/composed/prelude.py has it. Arithmetic is of tensors, numbers or lists, as
 * in Python; types are those of the functions' declarations.
 */
/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment,
   @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return */
import {checkClasses as check} from '../places.ts';
import {Core, type Operand, tidy} from '../core.ts';
import {type DType, isFloat as isFloatType} from '../dtype.ts';
import type {Layout, PadMode} from '../layout.ts';
import {optionsOf} from '../options.ts';
import type {PerAxis} from '../products.ts';
import {uniform as drawn} from '../random.ts';
import {randomBits} from '../random_bits.ts';
import {type Attributes, constant as recorded, Floats, integers, recordNode, type Recorded, Value} from '../recording.ts';
import {axisOf as axisIn, broadcastShapes as broadcast, getSize, type Shape, wrong as problem} from '../shape.ts';

export type {Axes} from '../reductions.ts';
export type {PerAxis};
export {Floats, integers};

/** How far the rows of two tensors are from each other. */
export type Distance = (a: any, b: any) => any;

export interface Extremes<T> {
  readonly min: T;
  readonly max: T;
}

/** A function that knows its options. */
export interface Known {
  /** Throws 'input' for options that it does not have, in what follows so many tensors. */
  check(given: readonly unknown[], tensors?: number): void;
}

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

export const wrong = (where: string, message: string): Error => problem(`${camelCase(where)}: ${message}`);

/** A function of `count` arguments (-1: any) and options, whose intermediate tensors go at once. */
export function composed(name: string, count: number, known: Record<string, unknown>, body: (...given: any[]) => any): any {
  const options = (given: readonly unknown[]): unknown[] => Object.values(optionsOf(name, known, given));
  const made = (...given: any[]): any => {
    if (count < 0) return tidy(() => body(...given));
    if (given.length < count) throw problem(`${name}: ${given.length} arguments; ${count} are needed`);
    return tidy(() => body(...given.slice(0, count), ...options(given.slice(count))));
  };
  made.check = (of: readonly unknown[], tensors = 1): void => void (count >= tensors && options(of.slice(count - tensors)));
  return made;
}

/** Gives a class methods under other names. */
export function aliases(type: {prototype: any}, names: Readonly<Record<string, string>>): void {
  for (const [alias, of] of Object.entries(names)) type.prototype[alias] = type.prototype[of];
}

/** Gives a class the functions of a module as methods. */
export function methods(type: {prototype: any}, of: Readonly<Record<string, (...given: any[]) => any>>): void {
  for (const [name, compute] of Object.entries(of)) {
    type.prototype[name] = function (this: any, ...given: any[]) {
      return compute(this, ...given);
    };
  }
}

const FALSE = (): boolean => false;
const NONE = 'isCuda isIpu isMaia isMeta isMkldnn isMps isMtia isNested isQuantized isSparse isSparseCsr isVulkan isXla isXpu';
const NEVER = 'isComplex isConj isDistributed isInference isNeg isPinned isShared';

/** What no tensor is, which PyTorch's programs ask. */
export function predicates(type: {prototype: any}): void {
  for (const name of NONE.split(' ')) Object.defineProperty(type.prototype, name, {get: FALSE, configurable: true});
  for (const name of NEVER.split(' ')) type.prototype[name] = FALSE;
}

const MOVES = new Set(['squeeze', 'unsqueeze', 't', 'transpose', 'swapaxes', 'swapdims']);

/** Gives a class forms in place of methods: under their names with an underscore at the end. */
export function inPlace(type: {prototype: any}, names: readonly string[]): void {
  for (const name of names.flatMap((each) => each.split(' '))) {
    type.prototype[`${name}_`] = function (this: any, ...given: any[]) {
      return this.become(this[name](...given), `${name}_`, MOVES.has(name));
    };
  }
}

export const become = (x: any, made: any, name: string): any => x.become(made, camelCase(name));
export const draw = (count: number): number[] => [...drawn(count)];
export const isTensor = (value: unknown): boolean => value instanceof Core;
export const isNumber = (value: unknown): boolean => typeof value === 'number';
export const isFloat = (x: Core): boolean => isFloatType(x.dtype);
export const floating = (x: Core): any => (isFloat(x) ? x : x.cast('f32'));
export const axisOf = (x: Core, dim: number, what: string): number => axisIn(dim, x.ndim, camelCase(what));
export const axesOf = (x: Core, dim: number | Shape | null | undefined, what: string): number[] =>
  dim === undefined || dim === null ? [...x.shape.keys()] : [dim].flat().map((axis) => axisOf(x, axis, what));
export const where = (condition: any, a: any, b: any): any => condition.choose(condition, a, b);
export const cat = ([first, ...rest]: any[], dim = 0): any => (rest[0] ? first.concat(rest, dim) : first);
export const stack = (parts: any[], dim = 0): any => cat(parts.map((part) => part.unsqueeze(dim)), dim);
export const broadcastShapes = (...shapes: Shape[]): readonly number[] => shapes.reduce((a, b) => broadcast(a, b));
export const checkClasses = (target: Core, classes: number, ignored: number, what: string): void => check(target, classes, ignored, camelCase(what));

const tensorIn = (inputs: readonly Operand[]): Core => inputs.find((each) => each instanceof Core) as Core;
export const nodes = (op: string, inputs: readonly Operand[], attributes: Attributes | undefined, outputs: number): any[] =>
  tensorIn(inputs).applyAll(op, inputs, attributes, outputs);
export const node = (op: string, inputs: readonly Operand[], attributes?: Attributes): any => nodes(op, inputs, attributes, 1)[0];

/** Part of the program, where x is. */
const placed = (x: Core, made: Recorded): any => x.make(new Value(made, x.device, false));
export const constant = (x: Core, values: number[], shape: Shape, dtype: DType): any =>
  placed(x, recordNode('Identity', [recorded(dtype, shape, values)])[0] as Recorded);
/** As i64, which some operators want of places. */
export const wide = (x: any): any => x.cast('i64');
/** Places are i32 here. */
export const iota = (x: Core, count: number): any => placed(x, recordNode('Range', [0, count, 1].map((each) => recorded('i32', [], [each])))[0] as Recorded);
export const padded = (x: Layout, pads: Shape, mode?: PadMode, value?: number): any => x.padLast(pads, mode, value);
export const spread = (given: PerAxis, rank: number): number[] => (typeof given === 'number' ? new Array<number>(rank).fill(given) : [...given]);
export const floats = spread;
export const uniform = (x: Layout, shape: Shape): any => randomBits(shape, x).bitwiseRightShift(8).cast('f32').mul(2 ** -24);

type Way = (a: any, b: any) => any;
/** Of tensors by a method, of numbers by a function; `swapped`: the method with a tensor on the right alone. */
const either = (method: string, numbers: Way, swapped: Way = (a, b) => b[method](a)): Way => (a, b) =>
  a instanceof Core ? (a as any)[method](b) : b instanceof Core ? swapped(a, b) : numbers(a, b);
const full = (like: any, value: number): any => like.number(value, like.common(value));

export const add = either('add', (a, b) => (Array.isArray(a) ? [...(a as unknown[]), ...(b as unknown[])] : a + b));
export const sub = either('sub', (a, b) => a - b, (a, b) => b.neg().add(a));
export const mul = either('mul', (a, b) => (Array.isArray(a) ? Array.from({length: b}, () => a as unknown[]).flat() : a * b));
export const div = either('div', (a, b) => a / b, (a, b) => b.reciprocal().mul(a));
export const pow = either('pow', (a, b) => a ** b, (a, b) => b.apply('Pow', [full(b, a), b]));
export const floorDiv = either('floorDivide', (a, b) => Math.floor(a / b));
export const mod = either('remainder', (a, b) => a - b * Math.floor(a / b));
export const and = either('logicalAnd', (a, b) => a && b);
export const or = either('logicalOr', (a, b) => a || b);
export const eq = either('eq', (a, b) => (Array.isArray(a) ? String(a) === String(b) : a === b));
export const ne: Way = (a, b) => (a instanceof Core || b instanceof Core ? eq(a, b).logicalNot() : !eq(a, b));
export const lt = either('lt', (a, b) => a < b, (a, b) => b.gt(a));
export const le = either('le', (a, b) => a <= b, (a, b) => b.ge(a));
export const gt = either('gt', (a, b) => a > b, (a, b) => b.lt(a));
export const ge = either('ge', (a, b) => a >= b, (a, b) => b.le(a));
export const neg = (a: any): any => (a instanceof Core ? (a as any).neg() : -a);

export const product = getSize;
export const len = (list: {readonly length: number}): number => list.length;
export const sum = (list: Shape): number => list.reduce((all, each) => all + each, 0);
export const range = (from: number, to?: number, step = 1): number[] => {
  const [first, end] = to === undefined ? [0, from] : [from, to];
  return Array.from({length: Math.max(0, Math.ceil((end - first) / step))}, (_, at) => first + at * step);
};
export const enumerate = (list: readonly any[]): [number, any][] => list.map((each, at) => [at, each]);
export const zip = (...lists: (readonly any[])[]): any[][] =>
  range(Math.min(...lists.map(len))).map((at) => lists.map((list) => list[at]));
export const item = (of: any, at: any): any => (Array.isArray(of) ? of.at(at) : of[at]);
export const has = (of: any, what: any): boolean => (Array.isArray(of) ? of.includes(what) : Object.hasOwn(of, what));
