// LiteRT.js on the .tflite files that the benchmark writes. Its threads are set once a page.
import {imageChannelsLast} from '../../models/channels_last.mjs';
import {imageOf} from '../../models/networks.mjs';
import {tfliteFile} from '../../models/tflite_file.mjs';
import {at} from '../places.mjs';

export async function open({device, threads, model, graph}) {
  // Bare: the frame's import map says where it is.
  const {loadLiteRt, loadAndCompile, Tensor} = await import('@litertjs/core');
  await loadLiteRt(at('peers/@litertjs/core/wasm/'), {threads: threads > 1});
  const begin = performance.now();
  const net = model.net();
  const made = graph.served ? undefined : tfliteFile(net);
  const making = performance.now() - begin;
  const session = await loadAndCompile(made ?? (await graph.tflite()), {accelerator: device, ...(device === 'wasm' ? {cpuOptions: {numThreads: threads}} : {})});
  const {shape} = net.layers[0];
  const image = imageChannelsLast(imageOf(net), shape);
  return {
    making,
    run: async () => {
      const input = new Tensor(image, [1, shape[1], shape[2], shape[0]]);
      const out = await session.run(input);
      const first = Array.isArray(out) ? out[0] : Object.values(out)[0];
      const values = device === 'wasm' ? first.toTypedArray().slice() : (await first.data()).slice();
      first.delete();
      if (!input.deleted) input.delete();
      return [values];
    },
    close: () => session.delete(),
  };
}
