/** What a model keeps on its device from run to run: caches of keys and values, weights in training. */
import {areParts, type Feed} from '../session/feeds.ts';
import type {Home} from '../devices/home.ts';
import type {Manifest} from '../package/manifest.ts';
import {type ValuePort, valuePorts} from '../session/ports.ts';
import {arrayOf, type Output, tensor, type Tensor} from '../values/tensor.ts';
import {type DType, GossamerError, product} from '../values/types.ts';
import {type ComputeDevice, deviceOf, type DeviceTensor} from './device_tensor.ts';
import type {Location, RunOptions} from './run_options.ts';

/** Input to output: what the output was is the input of the next run. True: by name, past... and present... */
export type StatePairs = true | Readonly<Record<string, string>>;

type Feeds = Readonly<Record<string, Feed>>;
type Run = (feeds: Feeds, options: RunOptions) => Promise<Record<string, unknown>>;

const wrong = (message: string): GossamerError => new GossamerError('input', message);

function pairsOf(inputs: readonly ValuePort[], outputs: readonly ValuePort[], wanted: StatePairs): Map<string, string> {
  const found = new Map<string, string>(wanted === true ? [] : Object.entries(wanted));
  if (wanted === true) {
    for (const {name} of inputs) {
      const next = name.replace(/^past(_key_values)?/, 'present');
      if (next !== name && outputs.some((port) => port.name === next)) found.set(name, next);
    }
    if (found.size === 0) throw wrong('the model has no inputs past... with outputs present...: say which are state');
  }
  for (const [name, next] of found) {
    const input = inputs.find((port) => port.name === name);
    const output = outputs.find((port) => port.name === next);
    if (!input) throw wrong(`the model has no input "${name}" that could be state`);
    if (!output) throw wrong(`the model has no output "${next}" that could continue "${name}"`);
    const [has, wants] = [output, input].map(({dtype, shape}) => `${dtype} of ${shape.length} axes`);
    if (has !== wants || input.dtype === 'string') throw wrong(`state "${name}" is ${wants}, "${next}" is ${has}`);
  }
  if (new Set(found.values()).size < found.size) throw wrong('an output continues one input of the state');
  return found;
}

interface Stateful {
  readonly parts: {readonly manifest: Manifest; readonly home: Home};
  compute(feeds: Feeds, options: RunOptions): Promise<Record<string, unknown>>;
}

/** Throws 'input' if these are not pairs. */
export function stateOf(model: Stateful, pairs: StatePairs, rows?: number): State {
  const {manifest, home} = model.parts;
  return new State(manifest, pairs, deviceOf(home), (feeds, options) => model.compute(feeds, {...options, rows}));
}

/** The state of a model. Runs on it are done one after the other. */
export class State {
  readonly #inputs: readonly ValuePort[];
  readonly #outputs: readonly ValuePort[];
  readonly #pairs: ReadonlyMap<string, string>;
  readonly #device: ComputeDevice;
  readonly #run: Run;
  readonly #tensors = new Map<string, DeviceTensor>();
  #last: Promise<unknown> = Promise.resolve();

  /** @internal Use load() with `state`. Throws 'input'. */
  constructor({inputs, outputs}: Manifest, wanted: StatePairs, device: ComputeDevice, run: Run) {
    this.#inputs = valuePorts(inputs);
    this.#outputs = valuePorts(outputs);
    this.#pairs = pairsOf(this.#inputs, this.#outputs, wanted);
    this.#device = device;
    this.#run = run;
  }

  /** The inputs that are state. */
  get names(): string[] {
    return [...this.#pairs.keys()];
  }

  /** What the next run begins with; undefined: zeros, of length 0 along axes that nothing else tells. It stays the state's. */
  get(name: string): DeviceTensor | undefined {
    this.#known(name);
    return this.#tensors.get(name);
  }

  /** From here on the next run begins with this: a tensor that is the state's, or a copy of one on the host. Throws 'input'. */
  set(name: string, value: DeviceTensor | Tensor): void {
    this.#known(name);
    const mine = 'device' in value ? value : this.#device.tensor(value.data, value);
    this.#tensors.get(name)?.dispose();
    this.#tensors.set(name, mine);
  }

  /** Back to the beginning. */
  reset(): void {
    this.#tensors.forEach((each) => each.dispose());
    this.#tensors.clear();
  }

  #known(name: string): void {
    if (!this.#pairs.has(name)) throw wrong(`"${name}" is no state of the model; ${this.names.join(', ')} are`);
  }

  /** @internal One run, which leaves the state to the next; if it fails, the state is as it was. */
  run(feeds: Feeds, options: RunOptions = {}): Promise<Record<string, unknown>> {
    const mine = this.#last.then(() => this.#step(feeds, options));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #step(feeds: Feeds, {fetches, location = 'host', donate = []}: RunOptions): Promise<Record<string, unknown>> {
    // What begins at length 0 takes the other lengths from feeds, so these need shapes first.
    const told: Feeds = areParts(feeds)
      ? feeds
      : (await import('../plain/plain.ts')).asTensors(this.#inputs, {...Object.fromEntries(this.#tensors), ...feeds});
    const all: Record<string, Feed> = {...told};
    const places: Record<string, Location> =
      typeof location === 'object'
        ? {...location}
        : Object.fromEntries(this.#outputs.map(({name}) => [name, fetches?.includes(name) ? 'host' : location]));
    const begun: DeviceTensor[] = [];
    for (const [name, next] of this.#pairs) {
      if (name in feeds) throw wrong(`input "${name}" is state: state.set() gives it a value`);
      let mine = this.#tensors.get(name);
      if (!mine) begun.push((mine = this.#beginning(name, told)));
      all[name] = mine;
      places[next] = 'device';
    }
    const running = this.#run(all, {fetches, donate, location: places});
    const out = await running.finally(() => begun.forEach((each) => each.dispose()));
    for (const [name, next] of this.#pairs) {
      this.#tensors.get(name)?.dispose();
      this.#tensors.set(name, out[next] as DeviceTensor);
    }
    const next = new Set(this.#pairs.values());
    return Object.fromEntries(Object.entries(out).filter(([name]) => !next.has(name)));
  }

  #beginning(name: string, feeds: Feeds): DeviceTensor {
    const {shape, dtype} = this.#inputs.find((port) => port.name === name) as ValuePort;
    const known = new Map<unknown, number>();
    for (const port of this.#inputs) {
      const given = feeds[port.name] as Output | undefined;
      port.shape.forEach((extent, axis) => {
        const has = given?.shape?.[axis];
        if (has !== undefined) known.set(extent, has);
      });
    }
    const extents = shape.map((extent) => (typeof extent === 'number' ? extent : (known.get(extent) ?? 0)));
    const values = arrayOf(dtype as DType, product(extents)) as Float32Array;
    return this.#device.put(tensor(values, extents, dtype as DType));
  }
}
