'use client'; // rendered on the server as well, where the libraries are imported
import {useEffect} from 'react';
import {compile} from '@gossamer/compiler';
import {InferenceSession, Tensor} from '@gossamer/ort';
import {load, tensor} from '@gossamer/runtime';

const pixels = async () => new Float32Array(await (await fetch('/files/image')).arrayBuffer());

async function use({device, threads}) {
  const onnx = await (await fetch('/files/digits.onnx')).arrayBuffer();
  const model = await load(await compile(onnx, {target: device}), {device, threads});
  const {probabilities} = await model.run({image: tensor(await pixels(), [1, 1, 28, 28])});
  const values = Array.from(await probabilities.data());
  const session = await InferenceSession.create(onnx, {executionProviders: [device]});
  const results = await session.run({image: new Tensor('float32', await pixels(), [1, 1, 28, 28])});
  if (results.probabilities.data.some((value, at) => Math.abs(value - values[at]) > 1e-5)) throw new Error('the session gives other numbers');
  const {adapter, fallbacks} = model.report();
  return {values, adapter, fallbacks, refused: []};
}

export default function Digits() {
  useEffect(() => void (globalThis.use = use));
  return <p>{typeof load}</p>;
}
