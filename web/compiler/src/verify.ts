/**
 * A model compared with itself: what its kernels make on its device, and what the same model makes in wasm with every
 * stage a kernel of its own. Wrong results of a GPU are silent; this finds the first kernel that gives them.
 */
import type {Files} from '../../runtime/src/index.ts';
import type {Difference, Model, Verdict, VerifyOptions} from '../../runtime/src/session/model.ts';
import type {LoadOptions} from '../../runtime/src/session/load.ts';
import type {Output} from '../../runtime/src/values/tensor.ts';
import type {TensorData} from '../../runtime/src/values/types.ts';

export type Load = (files: Files, options: LoadOptions) => Promise<Model>;
/** The same model as it is, and unfused for wasm; tensors that kernels make are outputs of both. */
export type CompileBoth = () => Promise<{readonly exposed: Files; readonly reference: Files}>;

type Values = Record<string, Output>;

/** The largest difference, as a part of the largest magnitude; not-a-number must meet its like. */
function compare(name: string, expected: TensorData, actual: TensorData): Difference {
  let largest = 0;
  for (let at = 0; at < expected.length; ++at) {
    const value = Math.abs(Number(expected[at]));
    if (value > largest && value !== Infinity) largest = value;
  }
  let worst: Difference = {tensor: name, error: 0, at: 0, expected: NaN, actual: NaN, kernel: '', origin: ''};
  for (let at = 0; at < expected.length; ++at) {
    const [want, got] = [Number(expected[at]), Number(actual[at])];
    const same = want === got || (Number.isNaN(want) && Number.isNaN(got));
    const off = same ? 0 : Math.abs(want - got) / (largest || 1);
    const error = Number.isNaN(off) ? Infinity : off;
    if (error > worst.error) worst = {...worst, error, at, expected: want, actual: got};
  }
  return worst;
}

/** By output: when it is made, and the kernel that does. */
function makers({parts: {manifest}}: Model): Map<string, {order: number; kernel: string; origin: string}> {
  const made = new Map<number, {order: number; kernel: string; origin: string}>();
  for (const [order, {kernel, tensors, origin}] of manifest.run.entries()) {
    const {name = '', writes = 1} = manifest.kernels[kernel] ?? {};
    for (const tensor of tensors.slice(-writes)) {
      if (!made.has(tensor)) made.set(tensor, {order, kernel: name, origin});
    }
  }
  const none = {order: -1, kernel: '', origin: ''};
  return new Map(manifest.outputs.map(({name, tensor}) => [name, made.get(tensor) ?? none]));
}

export async function differences(tested: Values, reference: Values, names: readonly string[]): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const name of names) {
    const [actual, expected] = [tested[name], reference[name]];
    if (!actual || !expected || String(actual.shape) !== String(expected.shape)) continue;
    found.push(compare(name, await expected.data<TensorData>(), await actual.data<TensorData>()));
  }
  return found;
}

export async function verify(
  load: Load,
  compileBoth: CompileBoth,
  model: Model,
  feeds: Parameters<Model['run']>[0],
  {tolerance = 1e-3}: VerifyOptions = {},
): Promise<Verdict> {
  const {exposed, reference} = await compileBoth();
  using tested = await load(exposed, {device: model.report().device});
  using other = await load(reference, {device: 'wasm'});
  const expected = (await other.run(feeds)) as Values;
  const made = makers(tested);
  const order = (name: string): number => made.get(name)?.order ?? -1;
  const names = tested.outputs.map(({name}) => name).sort((a, b) => order(a) - order(b));
  const kernels = (await differences((await tested.run(feeds)) as Values, expected, names)).map(
    (each): Difference => ({...each, ...made.get(each.tensor)}),
  );
  const outputs = await differences(await model.run(feeds), expected, model.outputs.map(({name}) => name));
  const wrong = ({error}: Difference): boolean => error > tolerance;
  return {
    ok: ![...kernels, ...outputs].some(wrong),
    compared: kernels.length,
    first: kernels.find(wrong),
    outputs,
  };
}
