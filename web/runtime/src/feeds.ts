/** Checking what a model is fed with. */
import type {Manifest} from './manifest.ts';
import {packStrings, type ValuePort, valuePorts} from './strings.ts';
import type {StringTensor, Tensor} from './tensor.ts';
import {GossamerError, product, shapeText} from './types.ts';

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

export const signature = (port: ValuePort): string =>
  `${port.dtype} ${shapeText(port.shape.map((extent) => (typeof extent === 'object' ? '?' : extent)))}`;

const wrong = (message: string): GossamerError => new GossamerError('input', message);

/** The feeds in the order of the inputs. Throws 'input'. */
export function orderFeeds(
  manifest: Manifest,
  feeds: Readonly<Record<string, Tensor | StringTensor>>,
): Tensor[] {
  const ports = valuePorts(manifest.inputs);
  const known = ports.map((port) => port.name);
  const stranger = Object.keys(feeds).find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw wrong(`the model has no input "${stranger}"; it has ${quoted(known)}`);
  }
  return ports.flatMap((port) => {
    const feed = feeds[port.name];
    if (!feed) throw wrong(`input "${port.name}" is missing: it wants ${signature(port)}`);
    const has = `${feed.dtype} ${shapeText(feed.shape)}`;
    const fits =
      feed.dtype === port.dtype &&
      feed.shape.length === port.shape.length &&
      port.shape.every((extent, axis) => typeof extent !== 'number' || feed.shape[axis] === extent);
    if (!fits) throw wrong(`input "${port.name}" wants ${signature(port)}, the tensor is ${has}`);
    if (feed.data.length !== product(feed.shape)) {
      throw wrong(
        `input "${port.name}": shape ${shapeText(feed.shape)} has ${product(feed.shape)} elements, ` +
          `the data has ${feed.data.length}`,
      );
    }
    return feed.dtype === 'string' ? packStrings(feed) : feed;
  });
}

/** The value of each dimension, after checking that all inputs agree on it; 0 for variables. Throws 'input'. */
export function readDims(manifest: Manifest, feeds: readonly Tensor[]): number[] {
  const values = new Map<string, {value: number; input: string}>();
  const dims = manifest.dims.map(({name, input, axis}) => {
    if (input === undefined) return 0;
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
