/** onnxruntime-web's InferenceSession on a model that Gossamer compiled. A bundle of its own, which the first create() fetches. */
import type {ComputeDevice, DeviceTensor, Feed, Model, Output} from '../../runtime/src/index.ts';
import {type DType, GossamerError, shapeText} from '../../runtime/src/values/types.ts';
import {contentOf, forget, packageOf, prepare, type Wanted} from './compiled.ts';
import {dtypeOf, elementTypeOf, fromRunTime, isElementType, toRunTime} from './element_types.ts';
import type {Known} from './known.ts';
import {externalFiles, filesNextTo, modelBytes} from './model_bytes.ts';
import {overridable, type Port, weightFiles} from './signature.ts';
import {InferenceSession} from './inference_session.ts';
import {defaultsOf} from './options.ts';
import {providersOf, Refusals} from './providers.ts';
import type {SessionOptions, TensorValueMetadata} from './session_options.ts';
import {type Runnable, type Shapes, specializing} from './specialized.ts';
import {Tensor} from './tensor.ts';
import type {DataLocation} from './tensor_options.ts';

/** What another library's tensor has as well. */
type Given = Pick<Tensor, 'type' | 'dims' | 'data' | 'location'> & {readonly gpuBuffer?: unknown};

type Feeds = Readonly<Record<string, Given>>;
type Results = Record<string, Tensor>;
type ValueMetadata = TensorValueMetadata;

/** Trouble of one device, which another may not have. */
const OF_DEVICE = ['unsupported', 'kernel', 'out-of-memory', 'lost'];

const described = ({name, dtype, shape}: Port): string => `"${name}": ${elementTypeOf(dtype)}${shape ? shapeText(shape) : ' of any shape'}`;

const metadataOf = ({name, dtype, shape = []}: Port): ValueMetadata => ({
  name,
  isTensor: true,
  type: elementTypeOf(dtype),
  // Empty, as onnxruntime has it where there is no name.
  shape: shape.map((extent) => (extent === '?' ? '' : extent)),
});

/** A model's source. */
type Source = Omit<Wanted, 'known' | 'onKernel' | 'target'>;

async function load(device: ComputeDevice, source: Source, known: Known): Promise<Model> {
  const {backend} = device.home;
  const prepared: (() => void)[] = [];
  // The device builds kernels while the next ones are compiled.
  const onKernel: Wanted['onKernel'] = backend.prepare && ((kernel) => prepared.push(backend.prepare?.(kernel) as () => void));
  const wanted = {...source, target: device.kind, known, onKernel};
  const runTime = await import('../../runtime/src/index.ts');
  try {
    return await runTime.load(await packageOf(wanted), {device});
  } catch (problem) {
    if (!(problem instanceof Error && (problem as {code?: string}).code === 'damaged')) throw problem;
    await forget(wanted);
    return await runTime.load(await packageOf(wanted), {device});
  } finally {
    for (const release of prepared) release();
  }
}

/** Feeds as they are now, for a run that begins later. */
const copied = (feeds: Feeds): Feeds =>
  Object.fromEntries(
    Object.entries(feeds).map(([name, feed]) => {
      if ((feed instanceof Tensor && feed.kept) || feed?.location === 'gpu-buffer' || !(feed?.data as unknown)) return [name, feed];
      return [name, {type: feed.type, dims: feed.dims.slice(), location: feed.location, data: feed.data.slice()}];
    }),
  );

export class Session extends InferenceSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly ValueMetadata[];
  readonly outputMetadata: readonly ValueMetadata[];
  readonly #device: ComputeDevice;
  readonly #locations: ReadonlyMap<string, DataLocation>;
  readonly #model: Runnable;
  /** Inputs with a default, and what the model is compiled from again when a feed overrides one; undefined: it has none. */
  readonly #defaults: {readonly names: readonly string[]; readonly source: Source} | undefined;
  /** With those inputs open that were fed, by their names. */
  readonly #opened = new Map<string, Promise<Runnable>>();
  #released = false;

  constructor(device: ComputeDevice, model: Runnable, locations: ReadonlyMap<string, DataLocation>, source: Source) {
    super();
    const names = overridable(source.model);
    this.#defaults = names.length > 0 ? {names, source} : undefined;
    this.#device = device;
    this.#model = model;
    this.#locations = locations;
    this.inputNames = model.inputs.map(({name}) => name);
    this.outputNames = model.outputs.map(({name}) => name);
    this.inputMetadata = model.inputs.map(metadataOf);
    this.outputMetadata = model.outputs.map(metadataOf);
  }

  /** Shapes of feeds that came so often that they have a model of their own (env.gossamer.specializeAfter). */
  get specializedShapes(): readonly Shapes[] {
    return this.#model.specializedShapes;
  }

  async run(feeds: Feeds, ...rest: unknown[]): Promise<Results> {
    if (this.#released) throw new Error('the session was released: create another');
    if (typeof feeds !== 'object' || feeds === null || feeds instanceof Tensor || Array.isArray(feeds)) {
      throw new TypeError(`session.run: feeds is an object of tensors by the names of the inputs (${this.inputNames.join(', ')})`);
    }
    const fetches = this.#fetches(rest);
    const fed = this.#defaults?.names.filter((name) => Object.hasOwn(feeds, name)) ?? [];
    // Feeds are taken at the call, the model is there later.
    const taken = fed.length > 0 ? copied(feeds) : feeds;
    const model = fed.length > 0 ? await this.#with(fed) : this.#model;
    const given = this.#given(model, taken);
    const wanted = Object.keys(fetches);
    const onGpu = wanted.filter((name) => this.#locations.has(name));
    const apart = onGpu.length > 0 || wanted.length < this.outputNames.length;
    const options = apart ? {fetches: wanted.filter((name) => !onGpu.includes(name)), location: Object.fromEntries(onGpu.map((name) => [name, 'device'] as const))} : undefined;
    const outputs = await this.#ran(() => model.run(given, options));
    for (const [name, output] of Object.entries(outputs)) if (!Object.hasOwn(fetches, name)) output.dispose();
    const made = wanted.map(async (name) => [name, await this.#result(outputs[name] as Output, onGpu.includes(name), fetches[name])] as const);
    return Object.fromEntries(await this.#ran(() => Promise.all(made)));
  }

  /** By the names of wanted outputs, tensors that are to have them. */
  #fetches([first, second]: readonly unknown[]): Readonly<Record<string, Tensor | null>> {
    const all = Object.fromEntries(this.outputNames.map((name) => [name, null]));
    const isOptions = first === undefined || (typeof first === 'object' && first !== null && !Array.isArray(first) && second === undefined && !Object.keys(first).some((name) => this.outputNames.includes(name)));
    if (isOptions && Object.keys(first ?? {}).every((name) => !((first as Record<string, unknown>)[name] instanceof Tensor))) return all;
    if (typeof first !== 'object' || first === null || first instanceof Tensor) throw new TypeError('session.run: fetches are a list of names, or an object by the names of outputs');
    const fetches: Record<string, Tensor | null> = Array.isArray(first) ? Object.fromEntries((first as string[]).map((name) => [name, null])) : {...(first as Record<string, Tensor | null>)};
    for (const name of Object.keys(fetches)) {
      if (!this.outputNames.includes(name)) throw new Error(`session.run: the model has no output "${name}"; it has ${this.outputNames.join(', ')}`);
    }
    if (Object.keys(fetches).length === 0) throw new Error('session.run: fetches are empty: name an output, or leave them out for all');
    return fetches;
  }

  /** The model with these inputs open, compiled when it is first needed. */
  #with(fed: readonly string[]): Promise<Runnable> {
    const key = JSON.stringify(fed);
    const {source} = this.#defaults as {source: Source};
    const made = this.#opened.get(key) ?? specializing(source.model, (known) => load(this.#device, source, {...known, keepInputs: fed}), fed);
    this.#opened.set(key, made);
    made.catch(() => this.#opened.delete(key));
    return made;
  }

  #given(model: Runnable, feeds: Feeds): Record<string, Feed> {
    const takes = `the model takes ${model.inputs.map(described).join('; ')}`;
    for (const name of Object.keys(feeds)) if (!model.inputs.some((port) => port.name === name)) throw new Error(`session.run: there is no input "${name}"; ${takes}`);
    return Object.fromEntries(
      model.inputs.map((port) => {
        const tensor = feeds[port.name];
        if (!tensor) throw new Error(`session.run: input "${port.name}" is missing in feeds; ${takes}`);
        return [port.name, this.#feed(port, tensor)] as const;
      }),
    );
  }

  #feed(port: Port, tensor: Given): Feed {
    const {type, dims} = tensor;
    if (!isElementType(type) || !Array.isArray(dims)) throw new TypeError(`session.run: the feed of ${described(port)} is not a Tensor: pass new Tensor('${elementTypeOf(port.dtype)}', data, dims)`);
    const ranked = port.shape ?? dims.map(() => '?');
    const right = dtypeOf(type) === port.dtype && dims.length === ranked.length;
    if (!right || ranked.some((extent, at) => typeof extent === 'number' && extent !== dims[at])) {
      throw new Error(`session.run: input ${described(port)} was given ${type}${shapeText(dims as number[])}`);
    }
    const shape = dims as readonly number[];
    const dtype = dtypeOf(type) as DType;
    const kept = tensor instanceof Tensor ? tensor.kept : undefined;
    // As it lies there, if nobody set other dims since.
    if (kept && kept.shape.length === shape.length && kept.shape.every((extent, at) => extent === shape[at])) return kept;
    if (kept) return {name: port.name, dtype, shape, data: () => kept.data(), dispose: () => undefined, [Symbol.dispose]: () => undefined};
    if (tensor.location === 'gpu-buffer') return this.#device.fromBuffer(tensor.gpuBuffer as GPUBuffer, {dtype, shape});
    const size = shape.reduce((all, extent) => all * extent, 1);
    return {dtype, shape, data: toRunTime(type, tensor.data, size)};
  }

  async #ran<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (problem) {
      if (problem instanceof GossamerError && problem.code === 'lost') throw new Error(`${problem.message}: create the session again`, {cause: problem});
      throw problem;
    }
  }

  async #result(output: Output, onGpu: boolean, into: Tensor | null | undefined): Promise<Tensor> {
    const type = elementTypeOf(output.dtype);
    const {shape} = output;
    if (onGpu) {
      const kept = output as DeviceTensor;
      if (into) throw new Error(`session.run: output "${output.name}" stays on the GPU, so it cannot be put into a tensor: fetch it by its name`);
      return Tensor.at(type, [...shape], {location: 'gpu-buffer', kept, read: async () => fromRunTime(type, await kept.data()) as never, release: () => kept.dispose()});
    }
    const data = fromRunTime(type, await output.data());
    if (!into) return Tensor.at(type, [...shape], {location: 'cpu', data: data});
    if (into.type !== type || into.dims.length !== shape.length || into.dims.some((extent, at) => extent !== shape[at])) {
      throw new Error(`session.run: output "${output.name}" is ${type}${shapeText(shape)}, the tensor for it ${into.type}${shapeText(into.dims)}`);
    }
    if (Array.isArray(into.data)) into.data.splice(0, data.length, ...(data as string[]));
    else (into.data as Float32Array).set(data as Float32Array);
    return into;
  }

  release(): Promise<void> {
    this.#released = true;
    this.#model.dispose();
    for (const model of this.#opened.values()) void model.then((each) => each.dispose(), () => undefined);
    return Promise.resolve();
  }

  startProfiling(): void {
    // As onnxruntime-web does where the provider has no profiler.
  }

  endProfiling(): void {
    // See startProfiling.
  }
}

/** InferenceSession.create(). */
export async function create(given: readonly unknown[]): Promise<Session> {
  void prepare();
  const {bytes, rest} = await modelBytes(given);
  const options = defaultsOf(rest.find((each) => each !== undefined));
  const external = await filesNextTo(given[0], weightFiles(bytes), await externalFiles(options.externalData));
  const dims = {...options.freeDimensionOverrides, ...options.freeDimensionOverridesByName};
  const source = {model: bytes, external, content: contentOf(bytes, external), dims};
  const providers = providersOf(options.executionProviders, options.intraOpNumThreads);
  const refusals = new Refusals();
  for (const {name, open} of providers) {
    let device: ComputeDevice;
    try {
      device = await open();
    } catch (problem) {
      refusals.add(name, problem);
      continue;
    }
    try {
      return await createOn(device, source, options, providers.map((each) => each.name));
    } catch (problem) {
      if (!(problem instanceof Error && OF_DEVICE.includes((problem as {code?: string}).code ?? ''))) throw problem;
      refusals.add(name, problem);
    }
  }
  throw new Error(`InferenceSession.create: none of the execution providers can run the model: ${refusals.toString()}`);
}

async function createOn(device: ComputeDevice, given: Omit<Source, 'adapters' | 'state'>, {preferredOutputLocation: wanted}: SessionOptions, providers: readonly string[]): Promise<Session> {
  const locations = typeof wanted === 'string' ? [wanted] : Object.values(wanted ?? {});
  const {kind, home: {backend}} = device;
  const adapters = backend.software ? 'software' : 'hardware';
  const source: Source = {...given, adapters, state: kind === 'webgpu' && locations.includes('gpu-buffer')};
  const model = await specializing(source.model, (known) => load(device, source, known));
  try {
    const [group] = model.groups;
    if (group) throw new Error(`InferenceSession.create: "${group.name}" is ${group.kind === 'sequence' ? 'a sequence' : 'an optional'}; sessions have tensors alone, @gossamer/runtime has those`);
    const onGpu = new Map<string, DataLocation>();
    for (const {name} of model.outputs) {
      const location = typeof wanted === 'string' ? wanted : wanted && Object.hasOwn(wanted, name) ? wanted[name] : undefined;
      if (!location || location === 'cpu' || location === 'cpu-pinned') continue;
      if (location !== 'gpu-buffer') throw new Error(`preferredOutputLocation: "${location}" is none of 'cpu', 'cpu-pinned' and 'gpu-buffer'`);
      if (device.kind === 'webgpu') onGpu.set(name, location);
      else if (!providers.includes('webgpu')) throw new Error(`preferredOutputLocation: 'gpu-buffer' is for the execution provider 'webgpu', not for ${providers.join(', ')}`);
    }
    const unknown = wanted && typeof wanted === 'object' ? Object.keys(wanted).find((name) => !model.outputs.some((port) => port.name === name)) : undefined;
    if (unknown !== undefined) throw new Error(`preferredOutputLocation: the model has no output "${unknown}"; it has ${model.outputs.map(({name}) => name).join(', ')}`);
    return new Session(device, model, onGpu, source);
  } catch (problem) {
    model.dispose();
    throw problem;
  }
}
