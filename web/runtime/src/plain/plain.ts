/** Feeds without a shape or an element type: what run() loads when values come as plain arrays. */
import type {Part} from '../session/feeds.ts';
import type {ValuePort} from '../session/ports.ts';
import {arrayOf, type StringTensor, tensor, type Tensor} from '../values/tensor.ts';
import {GossamerError, product, shapeText} from '../values/types.ts';

type Extent = number | string;
/** Values in row-major order. `shape`: as nesting or the caller gives it. */
interface Values {
  readonly values: ArrayLike<unknown>;
  readonly shape?: readonly number[] | undefined;
}

/** What the user is told about one input. */
class Named {
  readonly port: ValuePort;
  readonly extents: readonly Extent[];
  constructor(port: ValuePort) {
    this.port = port;
    this.extents = port.shape as readonly Extent[];
  }
  get wanted(): string {
    return `${this.port.dtype} ${shapeText(this.extents)}`;
  }
  wrong(what: string): GossamerError {
    return new GossamerError('input', `input "${this.port.name}" wants ${this.wanted}; ${what}`);
  }
}

const tagOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1);

/** Array elements in order, with the shape that their nesting has. */
function flatten(named: Named, given: readonly unknown[]): Values {
  const shape = [given.length];
  let level = given;
  while (level.length > 0) {
    const inner = level.filter((each) => Array.isArray(each) || ArrayBuffer.isView(each)) as ArrayLike<unknown>[];
    const length = inner[0]?.length;
    if (length === undefined) break;
    if (inner.length < level.length || inner.some((each) => each.length !== length)) {
      throw named.wrong(`the arrays at depth ${shape.length} differ in length: give each the same number of elements`);
    }
    shape.push(length);
    level = inner.flatMap((each) => Array.from(each));
  }
  return {values: level, shape: shape.length > 1 ? shape : undefined};
}

/** The values of a feed that is neither a tensor nor an output. */
function valuesOf(named: Named, feed: unknown): Values {
  if (['number', 'bigint', 'boolean', 'string'].includes(typeof feed)) return {values: [feed]};
  if (Array.isArray(feed)) return flatten(named, feed);
  if (ArrayBuffer.isView(feed) && 'length' in feed) return {values: feed as unknown as ArrayLike<unknown>};
  const {data, shape} = (feed ?? {}) as {data?: unknown; shape?: unknown};
  if (data !== undefined && Array.isArray(shape) && typeof data !== 'function') {
    return {...valuesOf(named, data), shape: shape as number[]};
  }
  const what = typeof feed === 'object' && feed !== null ? `a value of class ${tagOf(feed)}` : String(feed);
  const class_ = named.port.dtype === 'string' ? 'an array of strings' : `a ${arrayOf(named.port.dtype, 0)[Symbol.toStringTag]}`;
  throw named.wrong(`${what} was given: pass ${class_}, or tensor(data, ${shapeText(named.extents)}) with numbers for names`);
}

/** The values as the port's element type has them. Throws 'input' rather than convert one array class to another. */
function typed(named: Named, {values}: Values, shape: readonly number[]): Tensor | StringTensor {
  const {dtype} = named.port;
  if (values.length !== product(shape)) throw named.wrong(`shape ${shapeText(shape)} has ${product(shape)} elements, ${values.length} values were given`);
  if (dtype === 'string') {
    const other = Array.from(values).findIndex((each) => typeof each !== 'string');
    if (other >= 0) throw named.wrong(`element ${other} is ${String(values[other])}: pass an array of strings`);
    return tensor(Array.from(values) as string[], shape, dtype);
  }
  if (ArrayBuffer.isView(values)) {
    const wanted = arrayOf(dtype, 0)[Symbol.toStringTag];
    const has = tagOf(values);
    if (has !== wanted && `${has} ${dtype}` !== 'Float16Array f16' && `${has} ${dtype}` !== 'Uint8ClampedArray u8') {
      const by = wanted.startsWith('Big') ? ', BigInt' : has.startsWith('Big') ? ', Number' : '';
      throw named.wrong(`values of this type are a ${wanted}, not a ${has}: pass ${wanted}.from(values${by})`);
    }
  } else {
    const whole = /^[iu]/.test(dtype);
    const other = Array.from(values).findIndex((each) => !['number', 'bigint', 'boolean'].includes(typeof each) || (whole && typeof each === 'number' && !Number.isInteger(each)));
    if (other >= 0) throw named.wrong(`element ${other} is ${String(values[other])}: pass ${whole ? 'integers' : 'numbers'}`);
  }
  return tensor(values as ArrayLike<number>, shape, dtype);
}

/** The shape, where the number of elements decides what is open of it; undefined: more than one dimension is. Throws 'input'. */
function shapeOf(named: Named, count: number, known: ReadonlyMap<string, number>): number[] | undefined {
  const fixed = named.extents.map((extent) => (typeof extent === 'string' ? (known.get(extent) ?? extent) : extent));
  const open = fixed.filter((extent) => typeof extent === 'string');
  const rest = product(fixed.filter((extent) => typeof extent === 'number'));
  if (new Set(open).size > 1 || (open.length > 0 && rest === 0)) return undefined;
  // One name may stand along several axes.
  const extent = open.length > 0 ? Math.round((count / rest) ** (1 / open.length)) : 1;
  const shape = fixed.map((each) => (typeof each === 'string' ? extent : each));
  if (product(shape) === count) return shape;
  throw named.wrong(`${count} values were given, ${open.length === 0 ? `${rest} are needed` : `which no ${String(open[0])} makes`}: pass as many as its shape has`);
}

const nothing = (extents: readonly Extent[], known: ReadonlyMap<string, number>): string =>
  [...new Set(extents)].filter((extent) => typeof extent === 'string' && !known.has(extent)).join(', ');

/**
 * A tensor for each plain value: of the input's type, in its shape where this has one open dimension at most that no other feed
 * tells. Throws 'input' where more are open, and for values that fit no input.
 */
export function asTensors(inputs: readonly ValuePort[], given: Readonly<Record<string, unknown>>): Record<string, Part> {
  const known = new Map<string, number>();
  const learn = ({extents}: Named, shape: readonly number[]): void =>
    extents.forEach((extent, axis) => {
      const has = shape[axis];
      if (typeof extent === 'string' && has !== undefined && !known.has(extent)) known.set(extent, has);
    });
  const whole: Record<string, Part> = {};
  const left = new Map<Named, Values>();
  const ports = new Map(inputs.map((port) => [port.name, new Named(port)]));
  for (const [name, feed] of Object.entries(given)) {
    const named = ports.get(name);
    const {dtype, shape} = (feed ?? {}) as Partial<Part>;
    if (!named || feed === undefined || (typeof dtype === 'string' && Array.isArray(shape))) {
      whole[name] = feed as Part; // orderFeeds checks these
      if (named && shape) learn(named, shape);
      continue;
    }
    const values = valuesOf(named, feed);
    const rank = named.extents.length;
    // Rows of rows say their shape themselves, a flat array where the input is a vector.
    const told = values.shape ?? (rank === 1 && !ArrayBuffer.isView(values.values) ? [values.values.length] : undefined);
    if (told) {
      whole[name] = typed(named, values, told);
      learn(named, told);
    } else {
      left.set(named, values);
    }
  }
  // What one input's number of elements decides may be what another lacks.
  for (let before = -1; left.size > 0 && left.size !== before; ) {
    before = left.size;
    for (const [named, values] of left) {
      const shape = shapeOf(named, values.values.length, known);
      if (!shape) continue;
      whole[named.port.name] = typed(named, values, shape);
      learn(named, shape);
      left.delete(named);
    }
  }
  for (const [named, {values}] of left) {
    throw named.wrong(
      `the ${values.length} values do not tell ${nothing(named.extents, known) || 'its shape'}: ` +
        `pass tensor(data, ${shapeText(named.extents)}) or {data, shape}, with numbers for names`,
    );
  }
  return whole;
}
