// The libraries come from another origin.
import './answer.js';

globalThis.use = async ({from, ...options}) => {
  const {load, tensor} = await import(`${from}node_modules/@gossamer/runtime/dist/runtime.js`);
  const {compile} = await import(`${from}node_modules/@gossamer/compiler/dist/compiler.js`);
  return globalThis.answer({load, tensor, compile}, options);
};
