// The answer of a model on WebGPU, by both packages, as one line of JSON: node main.mjs FOLDER
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {InferenceSession, Tensor} from '@gossamer/ort';
import {openDevice} from '@gossamer/runtime';

const [folder] = process.argv.slice(2);
const bytes = readFileSync(path.join(folder, 'image'));
const image = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const session = await InferenceSession.create(path.join(folder, 'digits.onnx'), {executionProviders: ['webgpu'], preferredOutputLocation: 'gpu-buffer'});
const {probabilities} = await session.run({image: new Tensor('float32', image, [1, 1, 28, 28])});
const {adapter} = await openDevice('webgpu');
console.log(JSON.stringify({values: Array.from(await probabilities.getData()), location: probabilities.location, adapter}));
// The program ends by itself.
