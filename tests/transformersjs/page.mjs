// Answers cases in a page: `ask(options)` gives a function's answers by the names of cases. pages.mjs chooses the ONNX Runtime.
import * as library from '@huggingface/transformers';
import {asker} from './cases.mjs';

const refused = [];
globalThis.fetch = ((own) => (input, options) => {
  const address = new URL(input?.url ?? input, location.href);
  if (address.origin !== location.origin && address.protocol !== 'blob:' && address.protocol !== 'data:') refused.push(address.href);
  return own(input, options);
})(globalThis.fetch);
library.env.allowLocalModels = true;
library.env.allowRemoteModels = false;

/** Bytes that went to, from and within the memory of the GPU, other than by kernels. */
const moved = {written: 0, copied: 0, mapped: 0};
function counts(prototype, method, name, bytesOf) {
  const own = prototype[method];
  prototype[method] = function (...given) {
    moved[name] += bytesOf(this, given);
    return own.apply(this, given);
  };
}
counts(GPUQueue.prototype, 'writeBuffer', 'written', (_, [, , data, from = 0, size]) => (size ?? data.length - from) * (data.BYTES_PER_ELEMENT ?? 1));
counts(GPUCommandEncoder.prototype, 'copyBufferToBuffer', 'copied', (_, given) => given.at(-1));
counts(GPUBuffer.prototype, 'mapAsync', 'mapped', ({size}, [, from = 0, length]) => length ?? size - from);

/**
 * `count` greedy generations of so many tokens, which give the same text; `specialized`: shapes that were compiled for. `leak`: bytes that
 * each of them keeps, to test the test.
 */
let generator;
const leaked = [];
globalThis.generate = async ({folder, device, tokens, count, leak = 0}) => {
  library.env.localModelPath = folder;
  generator ??= await library.pipeline('text-generation', 'llama', {dtype: 'fp32', device});
  const texts = new Set();
  for (let at = 0; at < count; ++at) {
    const [{generated_text: text}] = await generator('In the morning the fog', {max_new_tokens: tokens, min_new_tokens: tokens, do_sample: false, repetition_penalty: 1.5});
    texts.add(text);
    if (leak > 0) leaked.push(new Uint8Array(leak).fill(1));
  }
  globalThis.gc();
  const specialized = Object.values(generator.model.sessions).flatMap((session) => session.specializedShapes);
  return {texts: [...texts], specialized};
};

const {onnx} = library.env.backends;
// onnxruntime-web's own files, which Transformers.js would fetch from a server of others.
if (!onnx.gossamer) onnx.wasm.wasmPaths = '/ort/';

/** `fresh`: models are compiled again. */
globalThis.ask = async ({folder, names, fresh, threads, ...options}) => {
  if (threads) onnx.wasm.numThreads = threads;
  if (fresh && onnx.gossamer) onnx.gossamer.cache = false;
  library.env.localModelPath = folder;
  const ask = asker(library, options);
  const answers = {};
  for (const name of names) {
    const before = {...moved};
    answers[name] = await ask(name);
    answers[name].moved = Object.fromEntries(Object.entries(moved).map(([key, bytes]) => [key, bytes - before[key]]));
  }
  return {answers, refused};
};
