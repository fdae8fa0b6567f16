/** Reading JSON that may hold anything: every field is checked once and named where it is wrong. */
import {type DType, GossamerError, isDType} from './types.ts';

/** A number known now, or the index of a value that the plan function computes. */
export type Num = number | {readonly plan: number};

/** Reads fields and says where in the manifest something is not as it must be. */
export class Fields {
  readonly #json: Record<string, unknown>;
  readonly #where: string;
  constructor(json: unknown, where: string) {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new GossamerError('damaged', `manifest.json: ${where} is not an object`);
    }
    this.#json = json as Record<string, unknown>;
    this.#where = where;
  }
  wrong(key: string, wanted: string): never {
    throw new GossamerError('damaged', `manifest.json: ${this.#where}.${key} is not ${wanted}`);
  }
  has(key: string): boolean {
    return this.#json[key] !== undefined;
  }
  text(key: string, otherwise?: string): string {
    const value = this.#json[key] ?? otherwise;
    return typeof value === 'string' ? value : this.wrong(key, 'a string');
  }
  /** An integer in [0, below). */
  count(key: string, below = Number.MAX_SAFE_INTEGER, otherwise?: number): number {
    const value = this.#json[key] ?? otherwise;
    return Number.isInteger(value) && (value as number) >= 0 && (value as number) < below
      ? (value as number)
      : this.wrong(key, below === Number.MAX_SAFE_INTEGER ? 'a count' : `in [0, ${below})`);
  }
  dtype(key: string): DType {
    const value = this.#json[key];
    return isDType(value) ? value : this.wrong(key, 'a known element type');
  }
  /** An array, absent meaning empty. */
  list<T>(key: string, each: (item: unknown, where: string) => T): T[] {
    const value = this.#json[key] ?? [];
    if (!Array.isArray(value)) return this.wrong(key, 'an array');
    return value.map((item, at) => each(item, `${this.#where}.${key}[${at}]`));
  }
  objects<T>(key: string, each: (fields: Fields) => T): T[] {
    return this.list(key, (item, where) => each(new Fields(item, where)));
  }
  value(key: string): unknown {
    return this.#json[key];
  }
}

function wrongNumber(where: string): never {
  throw new GossamerError('damaged', `manifest.json: ${where} is not a number or a plan value`);
}

export function readNumber(value: unknown, where: string, planValues: number): Num {
  if (Number.isSafeInteger(value)) return value as number;
  const index = (value as {plan?: unknown} | null | undefined)?.plan;
  if (Number.isInteger(index) && (index as number) >= 0 && (index as number) < planValues) {
    return {plan: index as number};
  }
  return wrongNumber(where);
}

/** An extent or size: never negative. */
export function readSize(value: unknown, where: string, planValues: number): Num {
  const size = readNumber(value, where, planValues);
  return typeof size === 'number' && size < 0 ? wrongNumber(where) : size;
}
