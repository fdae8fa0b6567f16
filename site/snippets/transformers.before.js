import {pipeline} from '@huggingface/transformers';

const generator = await pipeline('text-generation', 'model');
const messages = [{role: 'user', content: 'hello world'}];
const [{generated_text}] = await generator(messages, {max_new_tokens: 20, do_sample: false});
console.log(generated_text.at(-1).content);
