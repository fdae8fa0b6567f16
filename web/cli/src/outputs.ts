/** What a run gave: as lines, as JSON, as files. */
import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Output, Tensor, TensorData} from '@gossamer/runtime';
import {writeNpy} from '../../runtime/page/npy.ts';
import type {Group} from './feeds.ts';
import {numberText, short} from './numbers.ts';

export interface Values {
  readonly name: string;
  readonly dtype: Output['dtype'];
  readonly shape: readonly number[];
  readonly data: TensorData | readonly string[];
}

const SHOWN = 16;
const isFloat = (dtype: string): boolean => /^b?f\d/.test(dtype);

const isText = (data: Values['data']): data is readonly string[] => Array.isArray(data);

/** Values of the first output as probabilities: as they are, other scores through a softmax. */
function probabilities(scores: readonly number[]): number[] {
  const isDistribution = scores.every((score) => score >= 0) && Math.abs(scores.reduce((sum, score) => sum + score, 0) - 1) < 1e-3;
  if (isDistribution) return [...scores];
  const best = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const powers = scores.map((score) => Math.exp(score - best));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

export interface Class {
  readonly class: number;
  readonly label: string;
  readonly probability: number;
  readonly score: number;
}

/** The `top` best classes of an output. */
export function classesOf({data}: Values, labels: readonly string[], top: number): Class[] {
  const scores = Array.from(data as ArrayLike<number | bigint>, Number);
  const chances = probabilities(scores);
  const order = scores.map((_, at) => at).sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
  return order.slice(0, top).map((at) => ({class: at, label: labels[at] ?? `class ${at}`, probability: chances[at] as number, score: scores[at] as number}));
}

export const classLine = ({probability, label}: Class): string => `${(100 * probability).toFixed(2).padStart(6)}%  ${label}`;

/** The name, the first values, and what all are like. */
export function lineOf({name, dtype, shape, data}: Values): string {
  let line = `${name}: ${dtype}[${shape.join(', ')}]`;
  if (isText(data)) return line + data.slice(0, SHOWN).map((text) => ` "${text}"`).join('') + (data.length > SHOWN ? ' ...' : '');
  const isWhole = !isFloat(dtype);
  for (const value of data.subarray(0, SHOWN)) line += ` ${numberText(value, isWhole)}`;
  if (data.length <= SHOWN) return line;
  let [low, high, sum] = [Infinity, -Infinity, 0];
  for (const each of data) {
    const value = Number(each);
    if (value < low) low = value;
    if (value > high) high = value;
    sum += value;
  }
  return `${line} ... (min ${numberText(low, isWhole)}, max ${numberText(high, isWhole)}, mean ${short(sum / data.length)})`;
}

/** Optional outputs that are nothing, and sequences without elements. */
export const emptyLines = (groups: readonly (Group & {readonly outputs?: readonly [number, number]})[]): string[] =>
  groups.filter(({outputs}) => outputs?.[1] === 0).map(({name, kind}) => `${name}: ${kind === 'sequence' ? 'a sequence without elements' : 'nothing'}`);

/** JSON with NaN and Infinity, as the native command writes it. */
export function jsonOf(ms: number, classes: readonly Class[] | undefined, outputs: readonly Values[]): string {
  const list = ({data}: Values): string => (isText(data) ? JSON.stringify(data) : `[${data.join(',')}]`);
  const texts = outputs.map((output) => `{"name":${JSON.stringify(output.name)},"dtype":"${output.dtype}","shape":[${output.shape.join(',')}],"data":${list(output)}}`);
  return `{"ms":${ms}${classes ? `,"classes":${JSON.stringify(classes)}` : ''},"outputs":[${texts.join(',')}]}`;
}

/** Strings in arrays, one level an axis. */
function nested(data: readonly string[], [extent, ...rest]: readonly number[]): unknown {
  if (extent === undefined) return data[0];
  const size = data.length / (extent || 1);
  return Array.from({length: extent}, (_, at) => nested(data.slice(at * size, (at + 1) * size), rest));
}

/** NAME.npy, or NAME.json for strings. */
export async function save(folder: string, outputs: readonly Values[]): Promise<void> {
  await mkdir(folder, {recursive: true});
  for (const {name, dtype, shape, data} of outputs) {
    const place = join(folder, name.replaceAll('/', '_'));
    if (isText(data)) await writeFile(`${place}.json`, JSON.stringify(nested(data, shape)));
    else await writeFile(`${place}.npy`, writeNpy({data, shape, dtype} as Tensor));
  }
}
