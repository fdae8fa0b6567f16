// Gossamer in the page: a package that is served, or compiled here by compiler.wasm.
import {at} from '../places.mjs';
import {decodeGossamer} from './decoding.mjs';

/** A function of i8x16.relaxed_swizzle: not every browser has relaxed SIMD. */
const RELAXED = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11];

async function compileHere({edition, device, graph, model: {decoding}}) {
  const {compile} = await import(at(`${edition}/compiler/compiler.js`));
  const more = device === 'wasm' ? {relaxedSimd: WebAssembly.validate(Uint8Array.from(RELAXED))} : {};
  return compile(await graph.file(), {target: device, state: decoding !== undefined, ...more});
}

export async function open({edition, device, threads, model: row, graph, folder}) {
  if (row.training) return (await import('./tensor.mjs')).open({edition, device, threads, model: row});
  const {load, tensor} = await import(at(`${edition}/runtime/runtime.js`));
  const begin = performance.now();
  const source = folder ? at(folder) : await compileHere({edition, device, graph, model: row});
  const compiled = performance.now();
  const model = await load(source, {device, threads, strict: false, ...(row.decoding ? {state: graph.state, stateRows: row.decoding.most} : {})});
  const feeds = Object.fromEntries(graph.inputs.map(({name, data, shape}) => [name, tensor(data, shape)]));
  const {adapter, fallbacks} = model.report();
  const run = async () => {
    const out = await model.run(feeds);
    return Promise.all(graph.outputs.map(({name}) => out[name].data()));
  };
  return {
    adapter,
    ...(folder ? {} : {compile: compiled - begin}),
    ...(fallbacks?.length ? {note: fallbacks.map(({what}) => what).join(', ')} : {}),
    ...(row.decoding ? decodeGossamer(model, tensor, graph, row.decoding) : {run, close: () => model.dispose()}),
  };
}
