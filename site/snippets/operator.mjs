import {readFile} from 'node:fs/promises';
import {compile, float, operator} from '@gossamer/compiler';
import {load} from '@gossamer/runtime';

const squaredSwish = operator({
  domain: 'com.example',
  name: 'SquaredSwish',
  inputs: ['x'],
  attributes: {alpha: float(1)},
  define: (call, {x}, {alpha}) => call('Mul', call('Mul', x, x), call('Sigmoid', call('Mul', x, alpha))),
});

const onnx = await readFile('swish.onnx'); // a model with a node com.example::SquaredSwish
const files = await compile(onnx, {target: 'wasm', operators: [squaredSwish]});
const model = await load(files);
const {y} = await model.run({x: [1, 2, 3]});
console.log(await y.data());
