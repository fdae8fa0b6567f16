/** How the types of src/package/manifest.def are read. manifest_table.ts has the fields. */
import {ANY, type Fields, NAME, type Num} from './fields.ts';
import {type DType, isDType} from '../values/types.ts';

/** How many entries each list of the manifest has, and other limits: of the plan, devices, depth of steps. */
export type Bounds = Readonly<Record<string, number>>;
export type Read<T> = (from: Fields, key: string | number, bounds: Bounds) => T;
/** What reads each field of an object; optional ones may be undefined. */
export type Rows<T> = {readonly [K in keyof T]-?: Read<T[K] | (object extends Pick<T, K> ? undefined : never)>};

/** Numbers of ranges and scalars have 32 bits. */
const INT = 2 ** 31;
const DEEPEST = 256;

export const text: Read<string> = (from, key) => from.text(key);
export const plain: Read<string> = (from, key) => {
  const name = from.text(key);
  return NAME.test(name) ? name : from.wrong(key, 'a plain name');
};
export const flag: Read<boolean> = (from, key) => {
  const value = from.has(key) && from.value(key);
  return typeof value === 'boolean' ? value : from.wrong(key, 'true or false');
};
export const dtype: Read<DType> = (from, key) => {
  const value = from.value(key);
  return isDType(value) ? value : from.wrong(key, 'a known element type');
};
export const count = (least: number, most: number): Read<number> => (from, key) => from.count(key, most + 1, least);
export const size: Read<number> = (from, key) => from.count(key);
/** The place of an entry of a list; `more` is 1 where its length will do as well. */
export const index = (of: string, more = 0): Read<number> => (from, key, bounds) => from.count(key, (bounds[of] ?? 0) + more);

/** A number, or a value of the plan. */
const numberIn = (below?: number, least?: number): Read<Num> => (from, key, {values}) =>
  typeof from.value(key) === 'object' ? {plan: from.fields(key).count('plan', values)} : from.count(key, below, least);
export const number = numberIn();
export const range = numberIn(INT);
export const scalar = numberIn(INT, -INT);
export const integer = numberIn(ANY, -ANY);

export const list = <T>(read: Read<T>): Read<T[]> => (from, key, bounds) =>
  from.list(key, (items, at) => read(items, at, bounds));
export const pair = (of: string, more?: number): Read<[number, number]> => (from, key, bounds) =>
  from.list(key, (items, at) => index(of, more)(items, at, bounds), 2) as [number, number];
/** Inputs have names of dimensions, outputs values of the plan. */
export const extents: Read<(Num | string)[]> = list((items, at, bounds) =>
  bounds['fed'] && typeof items.value(at) === 'string' ? items.text(at) : number(items, at, bounds),
);
export const sets: Read<(readonly [number, Num])[]> = list((items, at, bounds) => {
  const [pair] = items.list(at, (each) => each, 2) as [Fields, Fields];
  return [index('dims')(pair, 0, bounds), integer(pair, 1, bounds)];
});

export function readRows<T>(from: Fields, rows: Rows<T>, bounds: Bounds): T {
  const fields: Partial<T> = {};
  for (const key in rows) {
    const value = rows[key](from, key, bounds);
    if (value !== undefined) fields[key] = value;
  }
  return fields as T;
}
/** `given`: limits of these alone. */
export const record = <T>(rows: Rows<T>, given?: Bounds): Read<T> => (from, key, bounds) =>
  readRows(from.fields(key), rows, {...bounds, ...given});
export const records = <T>(rows: Rows<T>, given?: Bounds): Read<T[]> => list(record(rows, given));

export const or = <T, U = undefined>(read: Read<T>, absent?: U): Read<T | U> => (from, key, bounds) =>
  from.has(key) ? read(from, key, bounds) : (absent as U);
/** Of slots in textures, or of the others. */
export const when = <T>(textures: boolean, read: Read<T>): Read<T | undefined> => (from, key, bounds) =>
  (Boolean(bounds['textures']) && from.value('device') !== 1) === textures ? read(from, key, bounds) : undefined;

/** A list of steps, of which the first field says what they are. */
export const stepsOf = <T>(kinds: () => readonly Rows<T>[]): Read<T[]> => (from, key, bounds) => {
  const {depth = 0} = bounds;
  if (!from.has(key)) from.wrong(key, 'a list of steps');
  if (depth > DEEPEST) from.wrong(key, `at most ${DEEPEST} steps deep`);
  return from.list(key, (items, at) => {
    const step = items.fields(at);
    const kind = kinds().find((rows) => step.has(Object.keys(rows)[0] as string));
    return kind ? readRows(step, kind, {...bounds, depth: depth + 1}) : step.wrong('*', 'a step that this run time knows');
  });
};
