// onnxruntime-web, one of its bundles. Its threads are set once a page.
import {at} from '../places.mjs';
import {decodeOnnxRuntime, locations} from './decoding.mjs';

export const TYPES = {f32: 'float32', i64: 'int64', i32: 'int32', i8: 'int8', u8: 'uint8', bool: 'bool'};

export async function open({bundle, provider, threads, graph, model: {decoding}}) {
  const dist = at('peers/onnxruntime-web/dist/');
  const imported = await import(`${dist}${bundle}`);
  const ort = imported.InferenceSession ? imported : imported.default;
  ort.env.wasm.wasmPaths = dist;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = 'error';
  const begin = performance.now();
  const file = await graph.file();
  const making = graph.served ? 0 : performance.now() - begin;
  const preferredOutputLocation = decoding && provider === 'webgpu' ? locations(graph) : undefined;
  const session = await ort.InferenceSession.create(file, {executionProviders: [provider], preferredOutputLocation});
  if (decoding) return {making, ...decodeOnnxRuntime(session, ort, graph, decoding)};
  const feeds = Object.fromEntries(graph.inputs.map(({name, type, data, shape}) => [name, new ort.Tensor(TYPES[type], data, shape)]));
  return {
    making,
    run: async () => {
      const out = await session.run(feeds);
      const read = await Promise.all(graph.outputs.map(({name}) => out[name].getData()));
      for (const each of Object.values(out)) each.dispose();
      return read;
    },
    close: () => session.release(),
  };
}
