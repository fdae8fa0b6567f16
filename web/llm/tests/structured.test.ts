/** A model of random weights, compiled for wasm in Node, whose answers have a form. */
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {tinyModel} from '../../../tests/llm/tiny_model.mjs';
import type {ChatCompletionChunk, Tool} from '../src/index.ts';
import {loadHere, type LocalModel} from '../src/local.ts';
import {type Form, forms} from './forms.ts';
import {problemOf} from './validate.ts';

const wasm = join(import.meta.dirname, '../../../../../web/llm/dist/compiler.wasm');
const skip = existsSync(wasm) ? false : 'compiler.wasm is not built (make web)';
const messages = [{role: 'user', content: 'hello'}] as const;
const ANSWERS = 1000;

const open = (): Promise<LocalModel> => loadHere(tinyModel({context: 1024}), {target: 'wasm', threads: 1, cache: false, compilerWasm: pathToFileURL(wasm)});

test(`${ANSWERS} of ${ANSWERS} answers of a model with random weights have the form that is asked for`, {skip}, async () => {
  using llm = await open();
  const all = Object.entries(forms).filter(([, {isBounded}]) => isBounded);
  const found = new Map<string, Set<string>>();
  for (let at = 0; at < ANSWERS; ++at) {
    const [name, {format, problemOf: check}] = all[at % all.length] as [string, Form];
    // Every other round by the likeliest tokens. Prompts differ.
    const drawn = Math.floor(at / all.length) % 2 ? {temperature: 1, top_k: -1, seed: at} : {temperature: 0};
    const {choices: [choice]} = await llm.completions.create({prompt: `hello ${at}`, response_format: format, max_tokens: 900, ...drawn});
    assert.equal(choice?.finish_reason, 'stop', `${name}: ${choice?.text}`);
    assert.equal(check(choice?.text ?? ''), undefined, name);
    found.set(name, (found.get(name) ?? new Set()).add(choice?.text ?? ''));
  }
  for (const [name, texts] of found) assert.ok(texts.size > 3, `${name}: ${[...texts].join(' | ')}`);
});

test('forms without an end are cut, and have the form where they end', {skip}, async () => {
  using llm = await open();
  let whole = 0;
  for (let seed = 0; seed < 60; ++seed) {
    const {choices: [choice]} = await llm.chat.completions.create({messages, response_format: {type: 'json_object'}, max_tokens: 300, temperature: 1, top_k: -1, seed});
    if (choice?.finish_reason === 'length') continue;
    assert.equal(choice?.finish_reason, 'stop');
    assert.equal(problemOf(JSON.parse(choice.message.content ?? ''), {type: 'object'}), undefined);
    ++whole;
  }
  assert.ok(whole > 10 && whole < 60, String(whole));
});

test('calls: required, of a name, of strict tools; streams, seeds, several answers', {skip}, async () => {
  using llm = await open();
  const parameters = {type: 'object', properties: {place: {type: 'string', maxLength: 8}, unit: {enum: ['C', 'F']}}, required: ['place', 'unit'], additionalProperties: false};
  const tools: Tool[] = [{type: 'function', function: {name: 'weather', parameters, strict: true}}, {type: 'function', function: {name: 'now'}}];
  const request = {messages, tools, temperature: 1, top_k: -1, max_tokens: 600};
  const check = (name: string | undefined, given: string | undefined): void => {
    assert.ok(name === 'weather' || name === 'now');
    assert.equal(problemOf(JSON.parse(given ?? ''), name === 'weather' ? parameters : {type: 'object', additionalProperties: false}), undefined);
  };
  const names = new Set<string | undefined>();
  for (let seed = 0; seed < 30; ++seed) {
    const {choices: [choice]} = await llm.chat.completions.create({...request, tool_choice: 'required', parallel_tool_calls: false, seed});
    assert.deepEqual([choice?.finish_reason, choice?.message.content, choice?.message.tool_calls?.length], ['tool_calls', null, 1]);
    for (const call of choice?.message.tool_calls ?? []) check(call.function.name, call.function.arguments);
    names.add(choice?.message.tool_calls?.[0]?.function.name);
    const {choices: [named]} = await llm.chat.completions.create({...request, tool_choice: {type: 'function', function: {name: 'weather'}}, seed});
    assert.equal(named?.message.tool_calls?.[0]?.function.name, 'weather');
    check('weather', named?.message.tool_calls?.[0]?.function.arguments);
  }
  assert.equal(names.size, 2);
  const response_format = {type: 'json_schema', json_schema: {name: 'size', strict: true, schema: {type: 'object', properties: {n: {type: 'integer', minimum: 0, maximum: 9999}}, required: ['n'], additionalProperties: false}}} as const;
  const two = await llm.chat.completions.create({messages, response_format, n: 2, seed: 3, temperature: 1});
  const again = await llm.chat.completions.create({messages, response_format, n: 2, seed: 3, temperature: 1});
  assert.deepEqual(two.choices, again.choices);
  for (const {message} of two.choices) assert.match(message.content ?? '', /^\{"n": \d{1,4}\}$/);
  const stream = await llm.chat.completions.create({messages, response_format, seed: 3, temperature: 1, stream: true, logprobs: true});
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  assert.equal(chunks.map(({choices: [choice]}) => choice?.delta.content ?? '').join(''), two.choices[0]?.message.content);
  const logprobs = chunks.flatMap(({choices: [choice]}) => choice?.logprobs?.content ?? []);
  assert.equal(logprobs.map(({token}) => token).join(''), two.choices[0]?.message.content);
  assert.ok(logprobs.every(({logprob}) => logprob < 0));
  const cut = await llm.chat.completions.create({messages, response_format, max_tokens: 3});
  assert.deepEqual([cut.choices[0]?.finish_reason, cut.usage.completion_tokens], ['length', 3]);
  await assert.rejects(llm.chat.completions.create({messages, response_format: {type: 'regex', pattern: '[]'}, stream: true}), {status: 400, param: 'response_format'});
  // Text without a form is as before.
  const plain = {messages, temperature: 1, seed: 5, max_tokens: 20};
  assert.equal((await llm.chat.completions.create(plain)).choices[0]?.message.content, (await llm.chat.completions.create({...plain, response_format: {type: 'text'}})).choices[0]?.message.content);
});
