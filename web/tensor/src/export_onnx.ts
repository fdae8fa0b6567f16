/** A module as an ONNX model. */
import type {Traced} from '../../compiler/src/recorder.ts';
import {encode} from '../../runtime/src/values/encoding.ts';
import {shapeText} from '../../runtime/src/values/types.ts';
import {Core} from './core.ts';
import {apart, synchronize} from './execution.ts';
import type {Module} from './nn/module.ts';
import {getRecorder, leafOf, recordError, type Stored, Value} from './recording.ts';
import {optionsOf} from './options.ts';
import {wrong} from './shape.ts';
import {Tensor} from './tensor.ts';
import {traced} from './tracing.ts';

/** By the name or place of an input, names of axes, or axes to be named after the input. */
export type DynamicAxes = Readonly<Record<string | number, Readonly<Record<number, string>> | readonly number[]>>;

export interface ExportOptions {
  readonly name?: string | undefined;
  readonly inputs?: readonly string[] | undefined;
  readonly outputs?: readonly string[] | undefined;
  /** Axes of inputs that are dimensions of the model. */
  readonly dynamicAxes?: DynamicAxes | undefined;
  /** As the module is for training: dropout drops, other elements in each run, and normalisations take statistics of the batch. */
  readonly training?: boolean | undefined;
  /**
   * The same, and the gradients of the first output, a loss, by all parameters that require them are outputs, too: 'weight.grad'
   * (ai.onnx.preview.training's Gradient). Parameters are inputs then, whose defaults they are (`keepInputs` of compile()).
   */
  readonly gradients?: boolean | undefined;
}

const NO_NAMES = undefined as readonly string[] | undefined;

/** Extents of inputs that are one dimension. */
interface Dim {
  readonly name: string;
  readonly extent: number;
  readonly places: [port: number, axis: number][];
}

/** Each once, though several axes have its name. */
function dimsOf(dynamic: DynamicAxes, given: readonly Tensor[], inputs: readonly string[], outputs: readonly string[]): Dim[] {
  const refuse = (what: string): Error => wrong(`exportOnnx: dynamicAxes: ${what}`);
  const made = new Map<string, Dim>();
  for (const [which, axes] of Object.entries(dynamic)) {
    const port = inputs.includes(which) ? inputs.indexOf(which) : Number(which);
    const shape = given[port]?.shape;
    if (!shape) {
      if (outputs.includes(which)) continue; // their shapes follow
      throw refuse(`there is no input '${which}'; there are ${inputs.join(', ')}`);
    }
    const named = Array.isArray(axes) ? (axes as number[]).map((axis) => [axis, `${inputs[port]}_${axis}`] as const) : Object.entries(axes as Record<number, string>);
    for (const [axis, name] of named) {
      const place = Number(axis) < 0 ? Number(axis) + shape.length : Number(axis);
      const extent = shape[place];
      if (extent === undefined) throw refuse(`input '${inputs[port]}' of shape ${shapeText(shape)} has no axis ${axis}`);
      const dim = made.get(name) ?? {name, extent, places: []};
      if (dim.extent !== extent) throw refuse(`'${name}' is ${dim.extent} and ${extent}`);
      made.set(name, dim);
      dim.places.push([port, place]);
    }
  }
  return [...made.values()];
}

/**
 * Extents to trace with, a list a dimension: other ones for each of them, far apart, so that what follows from them is seen. A module
 * may take multiples only, or none larger than it was given.
 */
function* choices(dims: readonly Dim[]): Generator<number[][]> {
  const given = dims.map(({extent}) => Math.max(extent, 2));
  yield given.map((each, at) => [each, (2 + at) * each, (3 + 2 * at) * each + 1]);
  yield given.map((each, at) => [each, (2 + at) * each, (3 + 2 * at) * each]);
  if (given.every((each, at) => each - 2 * at > 4)) yield given.map((each, at) => [each, each - 1 - at, each - 2 - 2 * at]);
  yield given.map((each, at) => [each, each + 1 + at, each + 3 + 2 * at]);
}

/** What a module computes of tensors of these shapes. */
interface Trace {
  readonly places: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly program: number;
  readonly feeds: readonly number[];
}

/** What a module gives, also of lists in lists. */
function tensorsOf(made: unknown): Tensor[] {
  if (made instanceof Core) return [made as Tensor];
  if (typeof made !== 'object' || made === null) throw wrong('exportOnnx: the module gives other things than tensors');
  return Object.values(made).flatMap(tensorsOf);
}

/** `learnt`: what gradients of the first output are computed by, too. */
function trace(module: Module, given: readonly Tensor[], shapes: readonly (readonly number[])[], learnt: readonly Tensor[]): Trace {
  const recorder = getRecorder();
  const places = given.map(({dtype, device}, at) => new Tensor(new Value(recorder.leaf(dtype, shapes[at] ?? []), device, false)));
  const state = module.buffers().map((buffer) => [buffer, buffer.value.hold()] as const);
  const outputs = apart(() => {
    let made: Tensor[];
    try {
      made = tensorsOf(traced(learnt.length > 0, () => module.forward(...places) as unknown));
    } finally {
      // Statistics that moved are where they were.
      for (const [buffer, before] of state) {
        if (buffer.value === before) before.release();
        else buffer.assign(before);
      }
    }
    const [loss] = made;
    if (!loss || !learnt[0]) return made;
    if (loss.size !== 1) throw wrong(`exportOnnx: gradients: the first output has shape ${shapeText(loss.shape)}; a loss is one number`);
    const gradients = recorder.gradient(loss.value.recorded, learnt.map(({value}) => value.recorded));
    return [...made, ...gradients.map((each) => new Tensor(new Value(each, loss.device, false)))];
  });
  return {places, outputs, ...recorder.plan(outputs.map(({value}) => value.id), false)};
}

const TRACES = [0, 1, 2];

/** One trace where there are no dimensions; else three, with the extents of the dimensions. */
function tracesOf(module: Module, given: readonly Tensor[], dims: readonly Dim[], learnt: readonly Tensor[]): [traces: Trace[], extents: number[][]] {
  if (dims.length === 0) return [[trace(module, given, given.map(({shape}) => shape), learnt)], []];
  let problem: unknown;
  for (const extents of choices(dims)) {
    const shapes = TRACES.map((at) => given.map(({shape}, port) =>
      shape.map((extent, axis) => {
        const dim = dims.findIndex(({places}) => places.some((place) => place[0] === port && place[1] === axis));
        return extents[dim]?.[at] ?? extent;
      })));
    try {
      return [shapes.map((each) => trace(module, given, each, learnt)), extents];
    } catch (error) {
      problem ??= recordError('exportOnnx: dynamicAxes', error);
    }
  }
  throw problem;
}

/** As exportOnnx() of onnx_model.ts. */
export async function exportOnnx(module: Module, inputs: readonly Tensor[], given: ExportOptions): Promise<Uint8Array> {
  const known = {name: 'module', inputs: NO_NAMES, outputs: NO_NAMES, dynamicAxes: {} as DynamicAxes, training: false, gradients: false};
  const options = optionsOf('exportOnnx', known, [given], {inputNames: 'inputs', outputNames: 'outputs'});
  const names = inputs.map((_, at) => options.inputs?.[at] ?? `x${at}`);
  const dims = dimsOf(options.dynamicAxes, inputs, names, options.outputs ?? []);
  // Parameters that are still to be computed would be exported as how they are.
  await synchronize();
  const modes = module.modules().map((each) => [each, each.training] as const);
  module.train(options.training || options.gradients);
  const named = options.gradients ? module.namedParameters().filter(([, {requiresGrad}]) => requiresGrad) : [];
  if (options.gradients && !named[0]) throw wrong('exportOnnx: gradients: the module has no parameters that require them');
  let traces: Trace[];
  let extents: number[][];
  try {
    [traces, extents] = tracesOf(module, inputs, dims, named.map(([, each]) => each));
  } finally {
    for (const [each, training] of modes) each.training = training;
  }
  try {
    const [first] = traces as [Trace];
    if (traces.some(({feeds, outputs}) => feeds.length !== first.feeds.length || outputs.length !== first.outputs.length)) {
      throw wrong('exportOnnx: what is computed depends on the extents in other ways than shapes do: export it without dynamicAxes');
    }
    const parameters = module.namedParameters();
    const held = new Map([...parameters, ...module.namedBuffers()].map(([name, {value}]) => [value.id, name] as const));
    const learnt = new Set(parameters.map(([, {value}]) => value.id));
    const ids = first.places.map(({value}) => value.id);
    // Reading begins before any wait, since tensors that forward() made may be let go of.
    const feeds = await Promise.all(first.feeds.map(async (id, at): Promise<Traced['feeds'][number]> => {
      const name = held.get(id) ?? `w${at}`;
      if (ids.includes(id)) return {name, learnt: false, elements: []};
      const all = traces.map((each) => each.feeds[at] as number);
      const leaves = (all.every((each) => each === id) ? [id] : all).map(leafOf);
      const isLearnt = learnt.has(id) || leaves[0]?.tracked === true;
      const elements = await Promise.all(leaves.map(async ({stored, dtype}) => encode(await (stored as Stored).read(), dtype)));
      return {name, learnt: isLearnt, elements};
    }));
    return getRecorder().traced({
      name: options.name,
      programs: traces.map(({program}) => program),
      ports: inputs.map(({dtype, shape}, at) => ({name: names[at] ?? '', dtype, shape, feed: first.feeds.indexOf(ids[at] ?? -1)})),
      feeds,
      outputs: first.outputs.map((_, at) => {
        const gradient = named[at - first.outputs.length + named.length];
        return gradient ? `${gradient[0]}.grad` : options.outputs?.[at] ?? `y${at}`;
      }),
      opensParameters: options.gradients,
      dims: dims.map(({name, places}, at) => ({name, places, extents: extents[at] ?? []})),
    });
  } catch (problem) {
    throw recordError('exportOnnx', problem);
  } finally {
    traces.forEach(({places}) => places.forEach((place) => place.dispose()));
  }
}
