/** Where the outputs of a run go. */
import type {Ends} from '../session/bindings.ts';
import type {Manifest} from '../package/manifest.ts';
import {GossamerError} from '../values/types.ts';
import {deviceOf} from './device_tensor.ts';

export interface RunOptions {
  /**
   * Names of the outputs whose values are read in the run's own submission; default: all that do not stay on the device.
   * The others keep memory of their own until they are read, by data(), or disposed of.
   */
  readonly fetches?: readonly string[] | undefined;
  /**
   * 'device': outputs are DeviceTensors, feeds of other runs at once; run() does not wait until they are computed. For all
   * but `fetches`, or by name. Strings are on the host always.
   */
  readonly location?: Location | Readonly<Record<string, Location>> | undefined;
  /** Names of inputs whose DeviceTensor is given away: gone for the caller, so that the run may write where it lies. */
  readonly donate?: readonly string[] | undefined;
  /** How many rows states that grow have room for at least, where they stay on the device (`state` of the compiler). */
  readonly rows?: number | undefined;
}

export type Location = 'host' | 'device';

/** Throws 'input' for names that the model does not have. */
export function endsOf({inputs, outputs, groups}: Manifest, {fetches, location = 'host', donate = [], rows}: RunOptions): Ends {
  const wrong = (what: string, name: string): never => {
    throw new GossamerError('input', `the model has no ${what} "${name}"`);
  };
  // By each output, the names that it goes by; none where it is part of strings.
  const ports = outputs.map((port, at) => (port.strings || outputs[at - 1]?.strings ? [] : [port.name]));
  const known = new Set(outputs.map(({name}) => name));
  const values = ports.filter((_, at) => !outputs[at - 1]?.strings);
  for (const {name, outputs: [first, count] = [0, 0]} of groups) {
    known.add(name);
    for (const names of values.slice(first, first + count)) names.push(name);
  }
  const asked = typeof location === 'string' ? undefined : location;
  for (const name of [...(fetches ?? []), ...Object.keys(asked ?? {})]) if (!known.has(name)) wrong('output', name);
  for (const name of donate) if (!inputs.some((port) => port.name === name)) wrong('input', name);
  const once: boolean[] = [];
  const stay = ports.map((names, at) => {
    const fetched = !fetches || names.some((name) => fetches.includes(name));
    const named = asked ? names.map((name) => asked[name]).find((place) => place) : fetches && fetched ? 'host' : (location as Location);
    if (named && !/^(host|device)$/.test(named)) wrong('location', named);
    once[at] = named !== 'device' && !fetched;
    return names.length > 0 && (once[at] || named === 'device');
  });
  return {keeper: deviceOf, stay, once, given: donate, rows, any: stay.includes(true), key: stay.map(Number).join('')};
}
