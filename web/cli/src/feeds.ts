/** Values for a model's inputs, from files. */
import {type DType, type Feed, type StringTensor, tensor, type Tensor} from '@gossamer/runtime';
import type {Command} from 'commander';
import {Option} from 'commander';
import {real, whole} from './compile_options.ts';
import {Failure} from './failure.ts';
import {type ImageOptions, isPicture, pictureTensor} from './pictures.ts';
import {readFor} from './tensor_files.ts';

export interface Port {
  readonly name: string;
  readonly dtype: DType | 'string';
  /** Numbers, and names of open dimensions; undefined: of any rank. */
  readonly shape: readonly (number | string)[] | undefined;
}

export interface Group {
  readonly name: string;
  readonly kind: 'optional' | 'sequence';
  readonly inputs?: readonly [first: number, count: number];
}

export function addImageOptions(command: Command): void {
  const numbers = (name: string) => (text: string): number[] => text.split(',').map(real(name));
  command
    .option('--mean <numbers>', 'images: subtracted from the scaled bytes, one or one per channel (default: 0; ImageNet\'s for floats of 3 channels without --mean, --std and --scale)', numbers('--mean'))
    .option('--std <numbers>', 'images: divisor, one or one per channel (default: 1, or ImageNet\'s as for --mean)', numbers('--std'))
    .option('--scale <number>', 'images: factor of the bytes before --mean and --std (default: 1/255 for floats, 1 for integers)', real('--scale'))
    .addOption(new Option('--layout <axes>', 'images: axes of the input').choices(['nchw', 'nhwc']))
    .option('--height <pixels>', 'images: where the model leaves it open', whole('--height', 1, 2 ** 14))
    .option('--width <pixels>', 'images: where the model leaves it open', whole('--width', 1, 2 ** 14));
}

/** NAME=FILE, where NAME is that of an input. */
const fileOf = (given: string, name: string): string | undefined => (given.startsWith(`${name}=`) ? given.slice(name.length + 1) : undefined);

/** Files for each input that `given` names, in order. */
export const filesOf = (given: readonly string[], name: string): string[] => given.flatMap((each) => fileOf(each, name) ?? []);

/** Halves, and zeros where they are not floats. Open dimensions are `dims`, or 1. */
export function madeUp({dtype, shape = []}: Port, dims: Readonly<Record<string, number>> = {}): StringTensor | Tensor {
  const extents = shape.map((extent) => (typeof extent === 'number' ? extent : (dims[extent] ?? 1)));
  const count = extents.reduce((product, extent) => product * extent, 1);
  if (dtype === 'string') return tensor(new Array<string>(count).fill('a'), extents);
  return tensor(new Float32Array(count).fill(/^b?f\d+$/.test(dtype) ? 0.5 : 0), extents, dtype);
}

const textOf = ({dtype, shape}: Port): string => `${dtype}[${shape?.map((extent) => (typeof extent === 'number' ? extent : '?')).join(', ') ?? '...'}]`;

interface Given {
  readonly inputs: readonly string[];
  readonly image: ImageOptions;
  /** What an input is that no file is given for; undefined: that is an error. */
  readonly instead: ((port: Port) => Tensor | StringTensor) | undefined;
  /** Inputs that a run may leave out. */
  readonly defaults: ReadonlySet<string>;
}

/** Names of the inputs that a run may leave out. */
export const defaultsOf = ({inputs}: {readonly inputs: readonly {readonly name: string; readonly value?: unknown}[]}): ReadonlySet<string> =>
  new Set(inputs.filter(({value}) => value !== undefined).map(({name}) => name));

/** Throws a Failure. */
export async function readFeeds(ports: readonly Port[], groups: readonly Group[], {inputs, image, instead, defaults}: Given): Promise<Record<string, Feed>> {
  const sequences = groups.filter((group) => group.kind === 'sequence' && group.inputs);
  const parts = new Map(sequences.flatMap(({name, inputs: [first, count] = [0, 0]}) => ports.slice(first, first + count).map((port, at) => [port.name, {name, at}] as const)));
  const names = [...ports.filter(({name}) => !parts.has(name)).map(({name}) => name), ...sequences.map(({name}) => name)];
  // A model of one input needs no name.
  const isUnnamed = (given: string): boolean => ports.length === 1 && !given.includes('=');
  for (const given of inputs) {
    if (isUnnamed(given) || names.some((name) => fileOf(given, name) !== undefined)) continue;
    throw new Failure(`--input ${given}`, 'names no input of the model', `it has ${names.join(', ')}`);
  }
  const read = async (file: string, port: Port): Promise<Tensor | StringTensor> =>
    isPicture(file) ? pictureTensor(file, {...port, shape: port.shape ?? []}, image) : readFor(file, port.dtype);
  const feeds: Record<string, Feed> = {};
  for (const port of ports) {
    const part = parts.get(port.name);
    const files = part ? filesOf(inputs, part.name) : [...filesOf(inputs, port.name), ...inputs.filter(isUnnamed)];
    const file = files.at(part ? part.at : -1);
    if (file === undefined && defaults.has(port.name)) continue;
    if (file === undefined && !instead) {
      throw new Failure(`input "${part?.name ?? port.name}"`, 'is not given', `--input ${part?.name ?? port.name}=FILE${part ? ', for each element of the sequence' : `; it is ${textOf(port)}`}`);
    }
    const value = file === undefined ? (instead as (port: Port) => Tensor)(port) : await read(file, port);
    if (part) feeds[part.name] = [...((feeds[part.name] as Tensor[] | undefined) ?? []), value];
    else feeds[port.name] = value;
  }
  // An empty sequence.
  for (const {name, inputs: [, count] = [0, 0]} of sequences) if (count === 0) feeds[name] = [];
  return feeds;
}
