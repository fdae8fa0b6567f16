/** Shapes and costs depend on dimensions: their expressions, evaluated and as text. */
import type {Expr} from './document.ts';

export type Dims = ReadonlyMap<string, number>;

const bool = (value: boolean): number => (value ? 1 : 0);

const BINARY: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0 ? 0 : Math.trunc(a / b)),
  rem: (a, b) => (b === 0 ? 0 : a % b),
  '//': (a, b) => (b === 0 ? 0 : Math.floor(a / b)),
  '%': (a, b) => (b === 0 ? 0 : a - b * Math.floor(a / b)),
  min: Math.min,
  max: Math.max,
  pow: Math.pow,
  ldexp: (a, b) => a * 2 ** b,
  '==': (a, b) => bool(a === b),
  '!=': (a, b) => bool(a !== b),
  '<': (a, b) => bool(a < b),
  '<=': (a, b) => bool(a <= b),
  '>': (a, b) => bool(a > b),
  '>=': (a, b) => bool(a >= b),
  '&&': (a, b) => bool(a !== 0 && b !== 0),
  '||': (a, b) => bool(a !== 0 || b !== 0),
  '^^': (a, b) => bool((a !== 0) !== (b !== 0)),
};

const roundEven = (a: number): number => {
  const near = Math.round(a);
  return Math.abs(a - Math.trunc(a)) === 0.5 && near % 2 !== 0 ? near - 1 : near;
};

const UNARY: Readonly<Record<string, (a: number) => number>> = {
  '-': (a) => -a,
  '!': (a) => bool(a === 0),
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  round: roundEven,
  trunc: Math.trunc,
  sqrt: Math.sqrt,
  exp: Math.exp,
  log: Math.log,
};

/** Undefined where a dimension is missing, or the value is known in a run only. */
export function evaluate(expr: Expr, dims: Dims): number | undefined {
  if (typeof expr === 'number') return expr;
  if (typeof expr === 'string') return dims.get(expr);
  if (expr === null) return undefined;
  const [op, ...operands] = expr;
  const values = operands.map((each) => evaluate(each, dims));
  const [a, b, c] = values;
  if (op === '?') return a === undefined ? undefined : a !== 0 ? b : c;
  if (values.includes(undefined) || a === undefined) return undefined;
  return b === undefined ? UNARY[op]?.(a) : BINARY[op]?.(a, b);
}

const WORDS = new Set(['min', 'max', 'pow', 'rem', 'ldexp']);
const PRODUCTS = new Set(['*', '/', '//', '%']);

function strength(expr: Expr): number {
  if (!Array.isArray(expr)) return 9;
  const [op, , second] = expr as unknown as readonly [string, Expr, Expr?];
  if (op === '?') return 0;
  if (second === undefined || WORDS.has(op)) return 8;
  if (PRODUCTS.has(op)) return 6;
  return op === '+' || op === '-' ? 5 : 3;
}

/** As people write it: 4 * batch + 1. */
export function print(expr: Expr): string {
  if (expr === null) return '?';
  if (!Array.isArray(expr)) return String(expr);
  const [op, a = null, b, c] = expr as unknown as readonly [string, Expr?, Expr?, Expr?];
  if (op === '?') return `${print(a)} ? ${print(b ?? null)} : ${print(c ?? null)}`;
  if (b === undefined) return op.length > 1 ? `${op}(${print(a)})` : `${op}${print(a)}`;
  if (WORDS.has(op)) return `${op}(${print(a)}, ${print(b)})`;
  const own = strength(expr);
  const inside = (each: Expr, least: number): string => (strength(each) < least ? `(${print(each)})` : print(each));
  return `${inside(a, own)} ${op} ${inside(b, own + 1)}`;
}

/** [1, batch, 8]; with numbers where the dimensions are given. */
export function shapeText(shape: readonly Expr[] | undefined, dims: Dims): string {
  if (!shape) return '[unknown]';
  return `[${shape.map((extent) => evaluate(extent, dims) ?? print(extent)).join(', ')}]`;
}

/** Undefined where an extent is not known. */
export const elementsOf = (shape: readonly Expr[] | undefined, dims: Dims): number | undefined =>
  shape?.reduce<number | undefined>((product, extent) => {
    const value = evaluate(extent, dims);
    return product === undefined || value === undefined ? undefined : product * value;
  }, 1);
