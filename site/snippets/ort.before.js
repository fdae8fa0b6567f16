import * as ort from 'onnxruntime-web';

const session = await ort.InferenceSession.create('model.onnx', {executionProviders: ['wasm']});
const image = new ort.Tensor('float32', new Float32Array(784), [1, 1, 28, 28]);
const {probabilities} = await session.run({image});
console.log(probabilities.dims, probabilities.data);
