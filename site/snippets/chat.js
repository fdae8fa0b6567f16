import {load} from '@gossamer/llm';

const llm = await load('SmolLM2-135M-Instruct/', {onProgress: ({stage, done, total}) => console.log(stage, done / total)});
const messages = [{role: 'user', content: 'Why is the sky blue?'}];

const stream = await llm.chat.completions.create({messages, max_tokens: 200, stream: true});
for await (const {choices} of stream) show(choices[0]?.delta.content ?? '');

function show(piece) {
  document.body.append(piece);
}
