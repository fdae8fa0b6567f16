/** Checking what a model is fed with. */
import {isOnDevice, type OnDevice} from './bindings.ts';
import type {Manifest} from '../package/manifest.ts';
import {type ValuePort, valuePorts} from './ports.ts';
import {packStrings} from '../values/strings.ts';
import {arrayOf, type Output, type StringTensor, type Tensor} from '../values/tensor.ts';
import {about, GossamerError, LARGEST, product, shapeText, type TensorData, within} from '../values/types.ts';

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

export const signature = (port: ValuePort): string =>
  `${port.dtype} ${shapeText(port.shape.map((extent) => (typeof extent === 'object' ? '?' : extent)))}`;

const wrong = (message: string): GossamerError => new GossamerError('input', message);

/** A tensor, or an output of a run of any model; one on the device stays there. */
export type Part = Tensor | StringTensor | Output;

/** Values alone, in row-major order: the input says the type, and the shape where their number leaves one open dimension. */
export type Plain =
  | TensorData | number | bigint | boolean | string
  | readonly Plain[]
  | {readonly data: TensorData | readonly Plain[]; readonly shape: readonly number[]};

/** The same, with values at hand or on the device. */
export type Flat = Readonly<Record<string, Tensor | StringTensor | OnDevice>>;

/** One of them; an array of them for a sequence; nothing for an optional that holds nothing. */
export type Feed = Part | Plain | readonly (Part | Plain)[] | undefined;

const isPart = (feed: unknown): boolean => {
  const {dtype, shape} = (feed ?? {}) as Partial<Part>;
  return typeof dtype === 'string' && Array.isArray(shape);
};

/** Whether all are tensors or outputs; a missing one is for orderFeeds to tell. */
export const areParts = (feeds: Readonly<Record<string, unknown>>): feeds is Readonly<Record<string, Part>> =>
  Object.values(feeds).every((feed) => feed === undefined || isPart(feed));

/** The arrays' own copies. */
export function copied(feed: unknown): unknown {
  if (Array.isArray(feed)) return feed.map(copied);
  if (ArrayBuffer.isView(feed)) return (feed as Float32Array).slice();
  const {data, shape} = (feed ?? {}) as Partial<Tensor>;
  return data && shape && !isPart(feed) ? {...(feed as Tensor), data: copied(data)} : feed;
}

/** Each tensor under the name of its input. Throws 'input'. */
export function spread(
  {groups, inputs}: Manifest,
  feeds: Readonly<Record<string, Feed>>,
): Readonly<Record<string, unknown>> {
  if (typeof feeds !== 'object' || feeds === null || Symbol.iterator in feeds || isPart(feeds)) {
    throw wrong(`run() takes an object of values by the names of the inputs: {${inputs[0]?.name ?? ''}: ...}`);
  }
  const flat: Record<string, unknown> = {...feeds};
  const ports = valuePorts(inputs);
  for (const {name, inputs: part} of groups) {
    if (!part) continue;
    const given = [flat[name] ?? []].flat();
    delete flat[name];
    if (given.length !== part[1]) {
      throw wrong(`input "${name}" takes ${part[1]} tensors, as compiled; ${given.length} are given`);
    }
    given.forEach((feed, at) => (flat[ports[part[0] + at]?.name ?? ''] = feed));
  }
  return flat;
}

/** Whether all values are there, so that no output has to be waited for. */
export const isFlat = (feeds: Readonly<Record<string, Part>>): feeds is Flat =>
  Object.values(feeds).every((feed?: Part) => typeof feed?.data !== 'function' || isOnDevice(feed));

/** The tensor with its own copy of the values; what can't be copied stays for the checks. */
export function take<T extends Tensor | StringTensor>(feed: T): T {
  try {
    const data = ((feed as T | undefined)?.data as {slice?: () => T['data']} | undefined)?.slice?.();
    return data ? {...feed, data, shape: feed.shape.slice()} : feed;
  } catch (problem) {
    throw about(`a feed of ${shapeText(feed.shape)}`, problem);
  }
}

/** The values of all feeds as they are now, those of outputs when they arrive; `toHost`: also of those on the device. */
export async function takeAll(feeds: Readonly<Record<string, Part>>, toHost: boolean): Promise<Flat> {
  const taken = Object.entries(feeds).map(async ([name, feed]): Promise<readonly [string, Flat[string]]> => {
    if (typeof (feed as Part | undefined)?.data !== 'function') return [name, take(feed as Tensor)] as const;
    if (!toHost && isOnDevice(feed)) return [name, feed] as const;
    const {dtype, shape} = feed;
    return [name, take({dtype, shape, data: await (feed as Output).data()} as Tensor)] as const;
  });
  return Object.fromEntries(await Promise.all(taken));
}

/** What belongs together, under one name. */
export function gather<T>({groups, outputs}: Manifest, results: readonly T[]): Record<string, unknown> {
  const ports = valuePorts(outputs);
  const named = new Map<string, unknown>(ports.map(({name}, at) => [name, results[at]]));
  for (const {name, kind, outputs: part} of groups) {
    if (!part) continue;
    const [first, count] = part;
    for (const port of ports.slice(first, first + count)) named.delete(port.name);
    named.set(name, kind === 'sequence' ? results.slice(first, first + count) : undefined);
  }
  return Object.fromEntries(named);
}

/** The feeds in the order of the inputs. Throws 'input'. */
export function orderFeeds(ports: ReadonlyMap<string, ValuePort>, feeds: Flat): (Tensor | OnDevice)[] {
  for (const name in feeds) {
    if (!ports.has(name)) throw wrong(`the model has no input "${name}"; it has ${quoted([...ports.keys()])} (an input with a default is compiled in, unless keepInputs of compile() or --keep-input names it)`);
  }
  return [...ports.values()].flatMap((port): Tensor | OnDevice | Tensor[] => {
    const feed = (Object.hasOwn(feeds, port.name) ? feeds[port.name] : undefined) ?? port.value;
    if (!feed) throw wrong(`input "${port.name}" is missing: it wants ${signature(port)}`);
    if (Array.isArray(feed)) throw wrong(`input "${port.name}" wants a tensor, not an array of them`);
    const fits =
      feed.dtype === port.dtype &&
      feed.shape.length === port.shape.length &&
      port.shape.every((extent, axis) => typeof extent !== 'number' || feed.shape[axis] === extent);
    feed.shape.forEach((extent) => within(extent, `an axis of input "${port.name}"`, LARGEST));
    if (!fits) {
      throw wrong(`input "${port.name}" wants ${signature(port)}, the tensor is ${feed.dtype} ${shapeText(feed.shape)}`);
    }
    if (isOnDevice(feed)) return feed;
    if (feed.data.length !== product(feed.shape)) {
      throw wrong(
        `input "${port.name}": shape ${shapeText(feed.shape)} has ${product(feed.shape)} elements, ` +
          `the data has ${feed.data.length}`,
      );
    }
    if (feed.dtype === 'string') return packStrings(feed, port.name);
    const wanted = arrayOf(feed.dtype, 0)[Symbol.toStringTag];
    if ((feed.data as object)[Symbol.toStringTag as keyof object] !== wanted) {
      throw wrong(`input "${port.name}": values of ${feed.dtype} are a ${wanted}, as tensor() makes it`);
    }
    return feed;
  });
}

/** The value of each dimension, after checking that all inputs agree on it; 0 for variables. Throws 'input'. */
export function readDims(manifest: Manifest, feeds: readonly {readonly shape: readonly number[]}[]): number[] {
  if (manifest.dims.length === 0) return [];
  const values = new Map<string, {value: number; input: string}>();
  const dims = manifest.dims.map(({name, input, axis, output}) => {
    if (input === undefined || output !== undefined) return 0;
    const value = feeds[input]?.shape[axis] ?? 0;
    values.set(name, {value, input: manifest.inputs[input]?.name ?? ''});
    return value;
  });
  manifest.inputs.forEach((port, input) => {
    port.shape.forEach((extent, axis) => {
      const name = typeof extent === 'string' ? extent : '';
      const known = values.get(name);
      const has = feeds[input]?.shape[axis];
      if (known && has !== known.value) {
        throw wrong(
          `input "${port.name}" has ${has} along axis ${axis} (${name}), ` +
            `input "${known.input}" has ${known.value}: its shape is ` +
            `${shapeText(feeds[input]?.shape ?? [])}, wanted ${signature(port)}`,
        );
      }
    });
  });
  return dims;
}
