import {load} from '@gossamer/llm';

const llm = await load('model');
const messages = [{role: 'user', content: 'hello world'}];
const {choices} = await llm.chat.completions.create({messages, max_tokens: 20, temperature: 0});
console.log(choices[0].message.content);
llm.dispose();
