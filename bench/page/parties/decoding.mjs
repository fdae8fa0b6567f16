// A token after another, its keys and values kept where the engine computes; the logits are read.
// Outputs are compared with the fourth token's, which depend on what was kept.
const COMPARED = 4;

/**
 * graph: the ids, then the caches, as inputs; the logits as its first output. reset(): the caches' first values, of `past`
 * tokens; step(ids): the logits. Gives run() and timed() of a party, in which each goes on behind the last.
 */
function oneByOne(graph, {past, most}, {reset, step, close}) {
  let length = Infinity;
  const token = async () => {
    if (length >= most) {
      await reset();
      length = past;
    }
    const ids = BigInt64Array.of(BigInt((length++ * 37 + 5) % 8192));
    const begin = performance.now();
    const logits = await step(ids);
    return {logits, wall: performance.now() - begin};
  };
  return {
    run: async () => {
      length = Infinity;
      let last;
      for (let count = 0; count < COMPARED; ++count) last = await token();
      return [last.logits];
    },
    timed: async () => ({wall: (await token()).wall}),
    close,
  };
}

/** model: loaded with the graph's state; of Gossamer. */
export function decodeGossamer(model, tensor, graph, decoding) {
  const [{name}, ...caches] = graph.inputs;
  return oneByOne(graph, decoding, {
    reset: () => caches.forEach((cache) => model.state.set(cache.name, tensor(cache.data, cache.shape))),
    step: async (ids) => (await model.run({[name]: tensor(ids, [1, 1])}))[graph.outputs[0].name].data(),
    close: () => model.dispose(),
  });
}

/** Where ONNX Runtime is to leave what it computes: caches in GPU buffers, logits on the host. */
export const locations = (graph) => Object.fromEntries(graph.outputs.map(({name}, at) => [name, at === 0 ? 'cpu' : 'gpu-buffer']));

/** session: of ONNX Runtime. */
export function decodeOnnxRuntime(session, ort, graph, decoding) {
  const [{name}, ...caches] = graph.inputs;
  let kept = {};
  return oneByOne(graph, decoding, {
    reset: () => {
      for (const each of Object.values(kept)) each.dispose();
      kept = Object.fromEntries(caches.map((cache) => [cache.name, new ort.Tensor('float32', cache.data, cache.shape)]));
    },
    step: async (ids) => {
      const out = await session.run({[name]: new ort.Tensor('int64', ids, [1, 1]), ...kept});
      for (const cache of caches) {
        kept[cache.name].dispose();
        kept[cache.name] = out[graph.state[cache.name]];
      }
      return out[graph.outputs[0].name].getData();
    },
    close: () => session.release(),
  });
}
