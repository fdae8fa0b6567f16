/** Reading JSON that may hold anything: every field is checked once and named where it is wrong. */
import {GossamerError} from '../values/types.ts';

/** A number known now, or the index of a value that the plan function computes. */
export type Num = number | {readonly plan: number};

/** A file of a package, or a folder of several: plain, so that it can only lie where it is looked for. */
export const NAME = /^\w[\w.-]{0,127}$/;

/** Beyond what a double counts exactly. */
export const ANY = 2 ** 53;

/** The fields of an object, or the items of a list; says where in the file something is not as it must be. */
export class Fields {
  readonly #json: Readonly<Record<string | number, unknown>>;
  readonly #where: string;
  constructor(json: unknown, where: string, list = false) {
    if (typeof json !== 'object' || json === null || Array.isArray(json) !== list) {
      throw new GossamerError('damaged', `${where} is not ${list ? 'a list' : 'an object'}`);
    }
    this.#json = json as Readonly<Record<string | number, unknown>>;
    this.#where = where;
  }
  #at(key: string | number): string {
    return typeof key === 'string' ? `${this.#where}.${key}` : `${this.#where}[${key}]`;
  }
  wrong(key: string | number, wanted: string): never {
    throw new GossamerError('damaged', `${this.#at(key)} is not ${wanted}`);
  }
  has(key: string | number): boolean {
    return this.#json[key] !== undefined;
  }
  value(key: string | number): unknown {
    return this.#json[key];
  }
  text(key: string | number): string {
    const value = this.#json[key];
    if (typeof value !== 'string') this.wrong(key, 'a string');
    return value;
  }
  /** A folder below, as plain names. */
  folder(key: string): string {
    const names = this.text(key).replace(/^\.\//, '').replace(/\/$/, '').split('/');
    if (!names.every((name) => NAME.test(name))) this.wrong(key, 'a folder below');
    return `${names.join('/')}/`;
  }
  /** An integer in [least, below). */
  count(key: string | number, below = ANY, least = 0): number {
    const value = this.#json[key] as number;
    if (!Number.isSafeInteger(value) || value < least || value >= below) {
      this.wrong(key, below === ANY ? 'an integer in range' : `in [${least}, ${below})`);
    }
    return value + 0; // no -0
  }
  fields(key: string | number): Fields {
    return new Fields(this.#json[key], this.#at(key));
  }
  /** A list, absent meaning empty; `length` is how many items it must have. */
  list<T>(key: string | number, each: (items: Fields, at: number) => T, length?: number): T[] {
    const {[key]: value = []} = this.#json;
    const items = new Fields(value, this.#at(key), true);
    const all = value as unknown[];
    if (length !== undefined && all.length !== length) this.wrong(key, `${length} items long`);
    return all.map((_, at) => each(items, at));
  }
}
