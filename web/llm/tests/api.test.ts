import assert from 'node:assert/strict';
import {test} from 'node:test';

import type {ChatCompletionChunk, ChatRequest, CompletionRequest} from '../src/index.ts';
import {APIError} from '../src/index.ts';
import {scripted, tokenizer} from './scripted.ts';

const messages = [{role: 'user', content: 'hello'}] as const;

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
const textOf = (chunks: readonly ChatCompletionChunk[], index = 0): string =>
  chunks.flatMap(({choices}) => choices).filter((choice) => choice.index === index).map(({delta}) => delta.content ?? '').join('');

test('an answer as OpenAI has it', async () => {
  const {llm, calls} = scripted(['the world, and all in it']);
  const answer = await llm.chat.completions.create({model: 'any', messages});
  assert.match(answer.id, /^chatcmpl-\w+$/);
  assert.ok(Math.abs(answer.created - Date.now() / 1000) < 60);
  const count = tokenizer.encode('the world, and all in it', {special: false}).length;
  const prompt = calls[0]?.prompt as readonly number[];
  assert.deepEqual({...answer, id: '', created: 0}, {
    id: '', object: 'chat.completion', created: 0, model: 'scripted',
    choices: [{index: 0, message: {role: 'assistant', content: 'the world, and all in it', refusal: null}, logprobs: null, finish_reason: 'stop'}],
    usage: {prompt_tokens: prompt.length, completion_tokens: count, total_tokens: prompt.length + count, prompt_tokens_details: {cached_tokens: 0}},
  });
  assert.equal(await llm.promptOf({messages}), '<|begin|><|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n');
  assert.deepEqual(prompt, tokenizer.encode(await llm.promptOf({messages}), {special: false}));
});

test('a stream gives the same text in pieces, the role first and the reason last', async () => {
  const {llm} = scripted(['hello wörld 🦎 and 語']);
  const chunks = await all(await llm.chat.completions.create({messages, stream: true, stream_options: {include_usage: true}}));
  assert.equal(textOf(chunks), 'hello wörld 🦎 and 語');
  for (const {choices} of chunks) assert.doesNotMatch(choices[0]?.delta.content ?? '', /\uFFFD|[\uD800-\uDBFF]$/);
  assert.deepEqual(chunks[0]?.choices, [{index: 0, delta: {role: 'assistant', content: ''}, logprobs: null, finish_reason: null}]);
  assert.deepEqual(chunks.at(-2)?.choices, [{index: 0, delta: {}, logprobs: null, finish_reason: 'stop'}]);
  assert.deepEqual(chunks.at(-1)?.choices, []);
  assert.ok((chunks.at(-1)?.usage?.completion_tokens ?? 0) > 10);
  assert.ok(chunks.slice(0, -1).every(({usage, object, id}) => usage === null && object === 'chat.completion.chunk' && id === chunks[0]?.id));
  const plain = await all(await llm.chat.completions.create({messages, stream: true}));
  assert.ok(plain.every((chunk) => !('usage' in chunk)));
});

test('stop strings begin and end within tokens, and are not said', async () => {
  const text = 'the and hello world in';
  const {llm} = scripted([text]);
  for (const [stop, wanted] of [
    ['lo wo', 'the and hel'],
    [['zzz', 'd h', 'hello'], 'the an'],
    ['e', 'th'],
    ['world in!', text],
    [text, ''],
  ] as const) {
    for (const stream of [false, true]) {
      const made = await llm.chat.completions.create({messages, stop, stream});
      const [said, reason] = Symbol.asyncIterator in made
        ? await all(made).then((chunks) => [textOf(chunks), chunks.at(-1)?.choices[0]?.finish_reason])
        : [made.choices[0]?.message.content, made.choices[0]?.finish_reason];
      assert.deepEqual([said, reason], [wanted, 'stop'], JSON.stringify(stop));
    }
  }
});

test('max_tokens and the end of the context end an answer for its length', async () => {
  const {llm, calls} = scripted(['a b c d e f g h'.repeat(60)]);
  for (const limit of [{max_tokens: 3}, {max_completion_tokens: 3}]) {
    const {choices, usage} = await llm.chat.completions.create({messages, ...limit});
    assert.deepEqual([choices[0]?.finish_reason, usage.completion_tokens], ['length', 3]);
  }
  const {choices, usage} = await llm.chat.completions.create({messages});
  assert.deepEqual([choices[0]?.finish_reason, usage.total_tokens], ['length', llm.contextLength]);
  await llm.completions.create({prompt: 'a'});
  assert.equal(calls.at(-1)?.options.maxTokens, 16);
});

test('sampling: of the request, of the model, and by default', async () => {
  const {llm, calls} = scripted(['a']);
  await llm.chat.completions.create({messages, seed: 5, n: 2, top_p: 0.5, min_p: 0.1, presence_penalty: 1, frequency_penalty: -1, repetition_penalty: 1.1, temperature: null});
  await llm.chat.completions.create({messages, temperature: 0, top_k: -1});
  const [first, second, third] = calls.map(({options}) => options);
  assert.deepEqual(
    {...first, signal: 0, stopTokens: 0, maxTokens: 0, cache: 0},
    {signal: 0, cache: 0, stopTokens: 0, maxTokens: 0, temperature: 0.8, topP: 0.5, minP: 0.1, topK: 40, presencePenalty: 1, frequencyPenalty: -1, repetitionPenalty: 1.1, seed: 5},
  );
  assert.equal(second?.seed, 6);
  assert.deepEqual([third?.temperature, third?.topK, third?.seed], [0, undefined, undefined]);
});

test('several choices, in streams too', async () => {
  const {llm} = scripted(['one', 'and', 'world']);
  const {choices} = await llm.chat.completions.create({messages, n: 3});
  assert.deepEqual(choices.map(({index, message}) => [index, message.content]), [[0, 'one'], [1, 'and'], [2, 'world']]);
  const chunks = await all(await llm.chat.completions.create({messages, n: 3, stream: true}));
  assert.deepEqual([0, 1, 2].map((index) => textOf(chunks, index)), ['one', 'and', 'world']);
});

test('calls of tools, and texts that only look like them', async () => {
  const tools = [{type: 'function', function: {name: 'weather', parameters: {type: 'object'}}}] as const;
  const call = '<tool_call>\n{"name": "weather", "arguments": {"place": "Rom"}}\n</tool_call>';
  const {llm, calls} = scripted([`in the ${call}\n${call}`]);
  const {choices: [choice]} = await llm.chat.completions.create({messages, tools});
  assert.equal(choice?.finish_reason, 'tool_calls');
  assert.equal(choice?.message.content, 'in the \n');
  const made = choice?.message.tool_calls ?? [];
  assert.deepEqual(made.map(({type, function: f}) => [type, f]), Array(2).fill(['function', {name: 'weather', arguments: '{"place":"Rom"}'}]));
  assert.notEqual(made[0]?.id, made[1]?.id);
  assert.match(tokenizer.decode(calls[0]?.prompt ?? []), /"name": "weather"/);
  const chunks = await all(await llm.chat.completions.create({messages, tools, stream: true}));
  assert.deepEqual(chunks.flatMap(({choices: [each]}) => each?.delta.tool_calls ?? []).map(({index, function: f}) => [index, f.name]), [[0, 'weather'], [1, 'weather']]);
  assert.equal(textOf(chunks), 'in the \n');
  assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'tool_calls');
  // The answer of the tool.
  const more = [...messages, {role: 'assistant', content: null, tool_calls: made.slice(0, 1)}, {role: 'tool', tool_call_id: made[0]?.id ?? '', content: '21'}] as const;
  assert.match(await llm.promptOf({messages: more}), /<tool_call>\n\{"name": "weather", "arguments": \{"place": "Rom"\}\}\n<\/tool_call><\|im_end\|>\n<\|im_start\|>tool\n21/);
  // Without tools it is text.
  for (const request of [{messages}, {messages, tools, tool_choice: 'none'}] as const) {
    const plain = await llm.chat.completions.create(request);
    assert.deepEqual([plain.choices[0]?.message.content, plain.choices[0]?.finish_reason], [`in the ${call}\n${call}`, 'stop']);
  }
  for (const text of ['<tool_call>{"name": </tool_call> and', '<tool_call>hello', '<tool_', '<tool_call>{"id": 3}</tool_call>']) {
    const odd = await scripted([text]).llm.chat.completions.create({messages, tools});
    assert.deepEqual([odd.choices[0]?.message.content, odd.choices[0]?.finish_reason], [text, 'stop']);
  }
  // Some models end their turn with the call.
  const open = await scripted([call.replace('</tool_call>', '')]).llm.chat.completions.create({messages, tools});
  assert.deepEqual([open.choices[0]?.message.content, open.choices[0]?.message.tool_calls?.length], [null, 1]);
});

test('completions of texts and tokens', async () => {
  const {llm, calls} = scripted([' world', ' and']);
  const one = await llm.completions.create({prompt: 'hello'});
  assert.deepEqual({...one, id: '', created: 0}, {
    id: '', object: 'text_completion', created: 0, model: 'scripted', choices: [{index: 0, text: ' world', logprobs: null, finish_reason: 'stop'}],
    usage: {prompt_tokens: 2, completion_tokens: 1, total_tokens: 3, prompt_tokens_details: {cached_tokens: 0}},
  });
  const ids = tokenizer.encode('hello');
  assert.deepEqual(calls[0]?.prompt, ids);
  const echoed = await llm.completions.create({prompt: ids, echo: true});
  assert.equal(echoed.choices[0]?.text, 'hello and');
  const several = await llm.completions.create({prompt: ['a', 'b'], n: 2});
  assert.deepEqual(several.choices.map(({index, text}) => [index, text]), [[0, ' world'], [1, ' and'], [2, ' world'], [3, ' and']]);
  const lists = await llm.completions.create({prompt: [ids, ids], stream: true, stream_options: {include_usage: true}});
  const chunks = await all(lists);
  assert.deepEqual(chunks.flatMap(({choices: [choice]}) => (choice?.text ? [choice.text] : [])), [' world', ' and']);
  assert.deepEqual(chunks.at(-1)?.usage, {prompt_tokens: 4, completion_tokens: 2, total_tokens: 6, prompt_tokens_details: {cached_tokens: 0}});
});

test('biases are those of the run time; the best of several completions, by the mean of their tokens', async () => {
  const {llm, calls} = scripted(['hello', ' and', ' world', 'the']);
  await llm.chat.completions.create({messages, logit_bias: {5: -100, 299: 2.5}});
  assert.deepEqual(calls[0]?.options.logitBias, {5: -100, 299: 2.5});
  const made = scripted(['a', 'b', 'c', 'd'], {logprobs: [-3, -1, -2, -1.5]});
  const {choices, usage} = await made.llm.completions.create({prompt: ['x', 'y'], n: 1, best_of: 2});
  assert.deepEqual(choices.map(({index, text, logprobs}) => [index, text, logprobs]), [[0, 'b', null], [1, 'd', null]]);
  assert.equal(usage?.completion_tokens, 4);
  const two = await made.llm.completions.create({prompt: 'x', n: 2, best_of: 4, logprobs: 0, echo: true});
  assert.deepEqual(two.choices.map(({index, text, logprobs}) => [index, text, logprobs?.token_logprobs]), [[0, 'xb', [-1]], [1, 'xd', [-1.5]]]);
});

test('log-probabilities, of which a stream gives all', async () => {
  const {llm} = scripted(['é the']);
  const {choices: [choice]} = await llm.chat.completions.create({messages, logprobs: true, top_logprobs: 2});
  const [first, second, third] = choice?.logprobs?.content ?? [];
  assert.deepEqual(first, {token: '\uFFFD', logprob: -0.5, bytes: [0xc3], top_logprobs: [{token: '\uFFFD', logprob: -0.5, bytes: [0xc3]}, {token: 'a', logprob: -1, bytes: [0x61]}]});
  assert.deepEqual([second?.bytes, third?.token, third?.bytes], [[0xa9], ' the', [...' the'].map((each) => each.charCodeAt(0))]);
  const chunks = await all(await llm.chat.completions.create({messages, logprobs: true, top_logprobs: 2, stream: true}));
  assert.deepEqual(chunks.flatMap(({choices: [each]}) => each?.logprobs?.content ?? []), choice?.logprobs?.content);
  assert.equal((await llm.chat.completions.create({messages})).choices[0]?.logprobs, null);
  const wanted = {tokens: ['\uFFFD', '\uFFFD', ' the'], token_logprobs: [-0.5, -0.5, -0.5], text_offset: [5, 6, 7]};
  const text = await llm.completions.create({prompt: 'hello', logprobs: 1, echo: true});
  assert.deepEqual(text.choices[0]?.logprobs, {...wanted, top_logprobs: [{'\uFFFD': -0.5}, {'\uFFFD': -0.5}, {' the': -0.5}]});
  const parts = await all(await llm.completions.create({prompt: 'hello', logprobs: 0, echo: true, stream: true}));
  assert.deepEqual(parts.flatMap(({choices: [each]}) => each?.logprobs?.tokens ?? []), wanted.tokens);
  assert.deepEqual(parts.flatMap(({choices: [each]}) => each?.logprobs?.text_offset ?? []), wanted.text_offset);
});

test('calls wait for each other, streams that nobody reads do not block', async () => {
  const {llm, calls} = scripted(['the', 'and', 'hello']);
  const unread = await llm.chat.completions.create({messages, stream: true});
  const [second, third] = await Promise.all([llm.chat.completions.create({messages}), llm.chat.completions.create({messages})]);
  assert.deepEqual([second, third].map(({choices}) => choices[0]?.message.content), ['and', 'hello']);
  assert.equal(textOf(await all(unread)), 'the');
  assert.equal(calls.length, 3);
});

test('an abort ends a call, a stream, and a call that waits', async () => {
  const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
  const {llm} = scripted(['the and the and the and the and'], {wait: tick});
  const stop = new AbortController();
  const stream = await llm.chat.completions.create({messages, stream: true}, {signal: stop.signal});
  const waiting = new AbortController();
  const rejected = assert.rejects(llm.chat.completions.create({messages}, {signal: waiting.signal}), {name: 'AbortError'});
  waiting.abort();
  await rejected;
  let said = '';
  await assert.rejects(async () => {
    for await (const {choices} of stream) {
      said += choices[0]?.delta.content ?? '';
      if (said.length > 3) stop.abort();
    }
  }, {name: 'AbortError'});
  assert.match(said, /^the/);
  await assert.rejects(llm.chat.completions.create({messages}, {signal: AbortSignal.abort()}), {name: 'AbortError'});
  // A loop that is left ends the generation.
  const left = await llm.chat.completions.create({messages, stream: true});
  for await (const chunk of left) if (chunk.choices[0]?.delta.content) break;
  assert.equal(left.controller.signal.aborted, true);
  assert.equal((await llm.chat.completions.create({messages, max_tokens: 1})).choices[0]?.message.content, 'the');
});

test('bad requests are errors of status 400 that name the argument', async () => {
  const {llm} = scripted(['a']);
  const tools = [{type: 'function', function: {name: 'f'}}];
  const wrong: readonly (readonly [object, string | null, RegExp])[] = [
    [{}, 'messages', /You must provide 'messages'/],
    [{messages: []}, 'messages', /empty/],
    [{messages: 'hello'}, 'messages', /must be an array/],
    [{messages: ['hello']}, 'messages[0]', /must be an object/],
    [{messages: [{role: 'robot', content: ''}]}, 'messages[0].role', /one of system/],
    [{messages: [{role: 'user'}]}, 'messages[0].content', /string/],
    [{messages: [{role: 'user', content: [{type: 'image_url', image_url: {url: ''}}]}]}, 'messages[0].content', /text only/],
    [{messages: [{role: 'tool', content: ''}]}, 'messages[0].tool_call_id', /call/],
    [{messages: [...messages, {role: 'system', content: 'x'}]}, 'messages', /refuses the messages: .*speaks first/],
    [{messages, wat: 1}, 'wat', /^Unrecognized request argument supplied: wat$/],
    [{messages, temperature: '1'}, 'temperature', /a number of 0 to 2/],
    [{messages, temperature: 3}, 'temperature', /0 to 2/],
    [{messages, top_p: NaN}, 'top_p', /0 to 1/],
    [{messages, n: 0}, 'n', /integer of 1 to 128/],
    [{messages, max_tokens: 1.5}, 'max_tokens', /integer/],
    [{messages, seed: 'x'}, 'seed', /integer/],
    [{messages, stop: ['a', 3]}, 'stop', /strings/],
    [{messages, stop: ''}, 'stop', /empty/],
    [{messages, stream: 'yes'}, 'stream', /boolean/],
    [{messages, stream_options: {include_usage: true}}, 'stream_options', /stream/],
    [{messages, logit_bias: {1: 101}}, 'logit_bias', /tokens to numbers of -100 to 100/],
    [{messages, logit_bias: {a: 1}}, 'logit_bias', /tokens to numbers/],
    [{messages, logit_bias: {1: '1'}}, 'logit_bias', /tokens to numbers/],
    [{messages, logit_bias: {300: 1}}, 'logit_bias', /Invalid token 300 .* 0 to 299/],
    [{messages, top_logprobs: 2}, 'top_logprobs', /when 'logprobs' is true/],
    [{messages, logprobs: 1}, 'logprobs', /boolean/],
    [{messages, response_format: {type: 'xml'}}, 'response_format', /It must be \{type: "text"\}, .*json_schema/],
    [{messages, response_format: {type: 'json_schema', json_schema: {schema: {}}}}, 'response_format', /name/],
    [{messages, response_format: {type: 'json_schema', json_schema: {name: 'a b', schema: {}}}}, 'response_format', /letters, digits/],
    [{messages, response_format: {type: 'json_schema', json_schema: {name: 'a', schema: {contains: {}}}}}, 'response_format', /not supported: contains/],
    [{messages, response_format: {type: 'json_schema', json_schema: {name: 'a', schema: {type: 'integer', minimum: 1, maximum: 0}}}}, 'response_format', /no text meets it/],
    [{messages, response_format: {type: 'regex', pattern: 'a{3,2}'}, stream: true}, 'response_format', /greater number first/],
    [{messages, response_format: {type: 'grammar', grammar: ''}}, 'response_format', /no rule "root"/],
    [{messages, tool_choice: 'required'}, 'tool_choice', /when 'tools' are specified/],
    [{messages, tools, tool_choice: 'must'}, 'tool_choice', /"required" or/],
    [{messages, tools, tool_choice: {type: 'function', function: {name: 'other'}}}, 'tool_choice', /no function "other"/],
    [{messages, tools: [{type: 'function', function: {name: 'f', strict: true, parameters: {type: 'object', properties: {a: {}}}}}]}, 'tools', /"f": with "strict"/],
    [{messages, tools: [{name: 'f'}]}, 'tools[0]', /function/],
    [{messages: [{role: 'user', content: 'word '.repeat(200)}]}, 'messages', /maximum context length is 400 tokens. However, your messages resulted in \d+ tokens/],
  ];
  for (const [request, param, message] of wrong) {
    await assert.rejects(llm.chat.completions.create(request as ChatRequest), (problem) => {
      assert.ok(problem instanceof APIError, String(problem));
      assert.match(problem.message, message);
      assert.deepEqual([problem.status, problem.type, problem.param], [400, 'invalid_request_error', param]);
      assert.equal(problem.toJSON().error.message, problem.message);
      return true;
    });
  }
  for (const [request, param] of [[{}, 'prompt'], [{prompt: []}, 'prompt'], [{prompt: [1, 'a']}, 'prompt'], [{prompt: [-1]}, 'prompt'], [{prompt: 'a', suffix: 'b'}, 'suffix'], [{prompt: 'a', n: 2, best_of: 1}, 'best_of'], [{prompt: 'a', best_of: 2, stream: true}, 'best_of'], [{prompt: 'a', best_of: 0}, 'best_of'], [{prompt: 'a', logit_bias: [1]}, 'logit_bias'], [{prompt: 'a', messages}, 'messages'], [{prompt: 'a', logprobs: 21}, 'logprobs']] as const) {
    await assert.rejects(llm.completions.create(request as unknown as CompletionRequest), {name: 'APIError', param});
  }
});
