import {load} from '@gossamer/runtime';

const model = await load('model/', {device: 'wasm'});
const {probabilities} = await model.run({image: new Float32Array(784)});
console.log(probabilities.shape, await probabilities.data());
model.dispose();
