/** Options as PyTorch takes them: by name, also as Python spells it, or by place. */
import {wrong} from './shape.ts';

/** `align_corners` of `alignCorners`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** Options by either name. */
export type Named<Options> = Options & {readonly [Name in keyof Options as SnakeCase<Name & string>]?: Options[Name]};

/** Options in an object, or `Places`: the first of them by place, in PyTorch's order. */
export type Given<Options, Places extends readonly unknown[] = []> =
  [options?: Named<Options> | undefined] | {[Place in keyof Places]: Places[Place] | undefined};

const isOptions = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** How many letters two words differ in. */
function distance(a: string, b: string): number {
  let row = Array.from({length: b.length + 1}, (_, at) => at);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      const other = (row[j - 1] as number) + Number(a[i - 1]?.toLowerCase() !== b[j - 1]?.toLowerCase());
      next.push(Math.min(other, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}

const SPOKEN: Readonly<Record<string, string>> = {boolean: 'true or false', number: 'a number', string: 'a string'};

/** Throws where the default is a number, a string or a boolean and the value is none. Of numbers there may be one an axis. */
function checkKind(where: string, name: string, value: unknown, usual: unknown): void {
  const kind = typeof usual;
  if (!SPOKEN[kind] || typeof value === kind || (kind === 'number' && typeof value === 'object')) return;
  throw wrong(`${where}: ${name} is ${String(value)}; it must be ${SPOKEN[kind]}`);
}

/**
 * The options of a call. `known`: all of them in PyTorch's order, with their defaults. `given`: values by place, or an object of options.
 * `other`: PyTorch's names where they are other ones. null and undefined stand for the default. Throws 'input' for an option that
 * there is not, and for one of another type than its default.
 */
export function optionsOf<Known extends object>(where: string, known: Known, given: readonly unknown[], other: Readonly<Record<string, string>> = {}): Known {
  const names = Object.keys(known);
  const made = {...known} as Record<string, unknown>;
  const set = (name: string, value: unknown): void => {
    if (value === undefined || value === null) return;
    checkKind(where, name, value, known[name as keyof Known]);
    made[name] = value;
  };
  given.forEach((value, place) => {
    if (!isOptions(value)) {
      const name = names[place];
      if (name === undefined && value !== undefined) throw wrong(`${where}: too many arguments; its options are ${names.join(', ')}`);
      if (name !== undefined) set(name, value);
      return;
    }
    for (const [spelled, each] of Object.entries(value)) {
      const camel = camelCase(spelled);
      const name = other[camel] ?? camel;
      if (!names.includes(name)) {
        const [nearest = ''] = names.toSorted((a, b) => distance(name, a) - distance(name, b));
        throw wrong(`${where}: there is no option '${spelled}'; did you mean '${nearest}'? There are ${names.join(', ')}`);
      }
      set(name, each);
    }
  });
  return made as Known;
}
