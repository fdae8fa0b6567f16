import digits from './digits.onnx';

globalThis.use = async ({device}) => {
  if (!crossOriginIsolated) throw new Error('the server sends no headers for threads');
  const model = await digits.load({device});
  const image = new Float32Array(await (await fetch('/files/image')).arrayBuffer());
  const {probabilities} = await model.run({image});
  const {adapter, fallbacks} = model.report();
  return {values: Array.from(await probabilities.data()), adapter, fallbacks, refused: []};
};
