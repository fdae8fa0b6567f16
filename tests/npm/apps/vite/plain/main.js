// A page that does not tune: its bundle has one compiler.
import {InferenceSession, Tensor} from '@gossamer/ort';

globalThis.use = async (address) => {
  const session = await InferenceSession.create(address);
  return session.run({image: new Tensor('float32', new Float32Array(784), [1, 1, 28, 28])});
};
