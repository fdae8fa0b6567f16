/** A module as an ONNX model. */
import {encode} from '../../runtime/src/encoding.ts';
import {Core} from './core.ts';
import {synchronize} from './execution.ts';
import type {Module} from './nn/module.ts';
import {getRecorder, leafOf, type Stored, Value} from './recording.ts';
import {optionsOf} from './options.ts';
import {wrong} from './shape.ts';
import {Tensor} from './tensor.ts';
import {traced} from './tracing.ts';

export interface ExportOptions {
  readonly name?: string | undefined;
  readonly inputs?: readonly string[] | undefined;
  readonly outputs?: readonly string[] | undefined;
}

const NO_NAMES = undefined as readonly string[] | undefined;

/** As exportOnnx() of onnx_model.ts. */
export async function exportOnnx(module: Module, inputs: readonly Tensor[], given: ExportOptions): Promise<Uint8Array> {
  const options = optionsOf('exportOnnx', {name: 'module', inputs: NO_NAMES, outputs: NO_NAMES}, [given]);
  // Parameters that are still to be computed would be exported as how they are.
  await synchronize();
  const recorder = getRecorder();
  const modes = module.modules().map((each) => [each, each.training] as const);
  const places = inputs.map(({dtype, shape, device}) => new Tensor(new Value(recorder.leaf(dtype, shape), device, false)));
  module.eval();
  try {
    const made = traced(false, () => module.forward(...places) as Tensor | readonly Tensor[]);
    const outputs: Tensor[] = made instanceof Tensor ? [made] : [...made];
    if (!outputs.every((each) => each instanceof Core)) throw wrong('exportOnnx: the module gives other things than tensors');
    const {program, feeds} = recorder.plan(outputs.map(({value}) => value.id), false);
    const parameters = module.namedParameters();
    const held = new Map([...parameters, ...module.namedBuffers()].map(([name, {value}]) => [value.id, name] as const));
    const learnt = new Set(parameters.map(([, {value}]) => value.id));
    const names = new Map(places.map(({value}, at) => [value.id, options.inputs?.[at] ?? `x${at}`]));
    // Reading begins before any wait, since tensors that forward() made may be let go of.
    const weights = await Promise.all(feeds.map(async (id) => {
      if (names.has(id)) return undefined;
      const {stored, dtype} = leafOf(id);
      return encode(await (stored as Stored).read(), dtype);
    }));
    return recorder.model(program, {
      name: options.name,
      inputs: feeds.map((id, at) => names.get(id) ?? held.get(id) ?? `w${at}`),
      outputs: outputs.map((_, at) => options.outputs?.[at] ?? `y${at}`),
      weights,
      learnt: feeds.map((id) => learnt.has(id) || (!names.has(id) && leafOf(id).tracked)),
    });
  } finally {
    places.forEach((place) => place.dispose());
    for (const [each, training] of modes) each.training = training;
  }
}
