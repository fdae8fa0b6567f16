// Gossamer in the page: a package that is served, or compiled here by compiler.wasm.
import {at} from '../places.mjs';

async function compileHere({edition, device, graph, relaxedSimd}) {
  const {compile} = await import(at(`${edition}/compiler/compiler.js`));
  return compile(await graph.file(), {target: device, ...(device === 'wasm' ? {relaxedSimd} : {})});
}

export async function open({edition, device, threads, graph, folder, relaxedSimd = true}) {
  const {load, tensor} = await import(at(`${edition}/runtime/runtime.js`));
  const begin = performance.now();
  const source = folder ? at(folder) : await compileHere({edition, device, graph, relaxedSimd});
  const compiled = performance.now();
  const model = await load(source, {device, threads, strict: false});
  const feeds = Object.fromEntries(graph.inputs.map(({name, data, shape}) => [name, tensor(data, shape)]));
  const {adapter, fallbacks} = model.report();
  return {
    adapter,
    ...(folder ? {} : {compile: compiled - begin}),
    ...(fallbacks?.length ? {note: fallbacks.map(({what}) => what).join(', ')} : {}),
    run: async () => {
      const out = await model.run(feeds);
      return Promise.all(graph.outputs.map(({name}) => out[name].data()));
    },
    close: () => model.dispose(),
  };
}
