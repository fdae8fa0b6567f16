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
library.env.localModelPath = '/models/';

globalThis.ask = async ({names, ...options}) => {
  const ask = asker(library, options);
  const answers = {};
  for (const name of names) answers[name] = await ask(name);
  return {answers, refused};
};
