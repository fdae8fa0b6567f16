import {load, tensor} from '@gossamer/runtime';
import {compile} from '@gossamer/compiler';
import {InferenceSession, Tensor} from '@gossamer/ort';

const pixels = async () => new Float32Array(await (await fetch('/files/image')).arrayBuffer());

/** The same numbers by each of the packages that run models. */
globalThis.use = async ({device, threads}) => {
  const onnx = await (await fetch('/files/digits.onnx')).arrayBuffer();
  const model = await load(await compile(onnx, {target: device}), {device, threads});
  const {probabilities} = await model.run({image: tensor(await pixels(), [1, 1, 28, 28])});
  const values = Array.from(await probabilities.data());
  const {adapter, fallbacks} = model.report();
  const session = await InferenceSession.create(onnx, {executionProviders: [device]});
  const results = await session.run({image: new Tensor('float32', await pixels(), [1, 1, 28, 28])});
  if (results.probabilities.data.some((value, at) => Math.abs(value - values[at]) > 1e-5)) throw new Error('the session gives other numbers');
  return {values, adapter, fallbacks, refused: []};
};
