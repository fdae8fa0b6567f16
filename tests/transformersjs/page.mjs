// Answers cases in a page: `ask(options)` gives a function's answers by the names of cases. The bundle takes @gossamer/ort for onnxruntime-web.
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

globalThis.ask = async ({folder, names, ...options}) => {
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
