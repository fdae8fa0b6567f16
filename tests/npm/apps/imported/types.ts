// Names of inputs and outputs are known: a wrong one does not compile.
import digits from './digits.onnx';

const model = await digits.load({device: 'wasm'});
const {probabilities} = await model.run({image: new Float32Array(784)});
// @ts-expect-error -- there is no such input
await model.run({picture: new Float32Array(784)});
export const values = await probabilities.data<Float32Array>();
