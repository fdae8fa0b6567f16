import {load} from '@gossamer/llm';

const llm = await load('SmolLM2-135M-Instruct/');
const schema = {type: 'object', properties: {city: {type: 'string'}, population: {type: 'integer'}}, required: ['city', 'population'], additionalProperties: false};
const answer = await llm.chat.completions.create({
  messages: [{role: 'user', content: 'Name a large city.'}],
  response_format: {type: 'json_schema', json_schema: {name: 'city', schema}},
  max_tokens: 60,
});
console.log(answer.choices[0].message.content);
