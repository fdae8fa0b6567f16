/** A model of random weights, compiled for wasm in Node. */
import assert from 'node:assert/strict';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {CONTEXT, genaiModel, tinyModel, tokens, writeTinyModel} from '../../../tests/llm/tiny_model.mjs';
import {compile} from '../../compiler/src/index.ts';
import {APIError, type ChatCompletion, type ChatRequest, load, type LoadOptions} from '../src/index.ts';
import {loadHere, type LocalModel} from '../src/local.ts';
import {tokenizer} from './scripted.ts';

const wasm = join(import.meta.dirname, '../../../../../web/llm/dist/compiler.wasm');
const skip = existsSync(wasm) ? false : 'compiler.wasm is not built (make web)';
const options: LoadOptions = {target: 'wasm', threads: 1, compilerWasm: pathToFileURL(wasm)};
const messages = [{role: 'user', content: 'hello world'}] as const;

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'llm-'));
  try {
    writeTinyModel(folder);
    await use(folder);
  } finally {
    rmSync(folder, {recursive: true});
  }
}

/** Draws of one seed. */
const DRAWN = {temperature: 1, seed: 4};

/** As generate() gives them. */
async function tokensOf(llm: LocalModel, prompt: readonly number[], most: number): Promise<number[]> {
  const ids: number[] = [];
  for await (const id of llm.model.generate(prompt, {...DRAWN, maxTokens: most, stopTokens: [tokens['<|im_end|>'] as number]})) ids.push(id);
  return ids;
}

test('a folder answers as generate() does, and streams the same', {skip}, () =>
  withFolder(async (folder) => {
    const stages = new Set<string>();
    using llm = await loadHere(folder, {...options, onProgress: ({stage}) => stages.add(stage)});
    assert.deepEqual([llm.contextLength, (await llm.report()).device], [CONTEXT, 'wasm']);
    assert.match(folder, new RegExp(`/${llm.name}$`));
    assert.ok(['files', 'compile', 'upload'].every((stage) => stages.has(stage)), [...stages].join());
    const prompt = tokenizer.encode(await llm.promptOf({messages}), {special: false});
    const ids = await tokensOf(llm, prompt, 40);
    assert.ok(new Set(ids).size > 5, ids.join());
    const request = {messages, ...DRAWN, top_k: -1, max_tokens: 40};
    const {choices: [choice], usage} = await llm.chat.completions.create(request);
    assert.equal(choice?.message.content, await llm.decode(ids));
    assert.equal(usage.completion_tokens, ids.length);
    let said = '';
    for await (const {choices: [each]} of await llm.chat.completions.create({...request, stream: true})) said += each?.delta.content ?? '';
    assert.equal(said, choice?.message.content);
    const likely = await llm.completions.create({prompt: 'hello', temperature: 0, logprobs: 5, max_tokens: 6});
    const {token_logprobs: each = [], top_logprobs: tops = []} = likely.choices[0]?.logprobs ?? {};
    assert.equal(each.length, 6);
    for (const [at, logprob] of each.entries()) assert.ok(logprob <= 0 && Math.max(...Object.values(tops[at] ?? {})) === logprob, String(logprob));
    // The same after a stop string.
    const stop = said.slice(9, 12);
    const stopped = await llm.chat.completions.create({...request, stop});
    assert.equal(stopped.choices[0]?.message.content, said.slice(0, said.indexOf(stop)));
  }));

test('the next turn computes what is new', {skip}, async () => {
  using llm = await loadHere(tinyModel(), {...options, threads: 1});
  using fresh = await loadHere(tinyModel(), {...options, threads: 1});
  let fed = 0;
  const run = llm.model.run.bind(llm.model);
  llm.model.run = (feeds, ...more) => {
    fed += (feeds['input_ids'] as {shape: readonly number[]}).shape[1] as number;
    return run(feeds, ...more);
  };
  const greedy = {temperature: 0, max_tokens: 8} as const;
  const chat = (of: LocalModel, turn: ChatRequest['messages'], more = {}): Promise<ChatCompletion> => of.chat.completions.create({messages: turn, ...greedy, ...more});
  const first = await chat(llm, messages);
  const turn = [...messages, {role: 'assistant', content: first.choices[0]?.message.content ?? ''}, {role: 'user', content: 'more'}] as const;
  const wanted = await chat(fresh, turn);
  fed = 0;
  const second = await chat(llm, turn);
  assert.equal(second.choices[0]?.message.content, wanted.choices[0]?.message.content);
  assert.equal(wanted.usage.prompt_tokens_details.cached_tokens, 0);
  const {prompt_tokens: prompt, completion_tokens: said, prompt_tokens_details: {cached_tokens: cached}} = second.usage;
  assert.ok(cached >= first.usage.prompt_tokens && cached < prompt, `${cached} of ${prompt}`);
  assert.ok(fed <= prompt - cached + said, `${fed} tokens were fed`);
  // The second of two answers has the prompt of the first.
  fed = 0;
  const two = await chat(llm, messages, {n: 2});
  assert.equal(two.choices[0]?.message.content, two.choices[1]?.message.content);
  assert.ok(fed <= two.usage.prompt_tokens + 1 + two.usage.completion_tokens, `${fed} tokens were fed`);
});

test('an abort ends a generation that never waits for a device', {skip}, async () => {
  using llm = await loadHere(tinyModel(), {...options, threads: 1});
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 0);
  // Its runs are calls of functions: without pauses, no timer or message would arrive before the end.
  const created = llm.completions.create({prompt: 'a', max_tokens: CONTEXT, n: 40}, {signal: abort.signal});
  await assert.rejects(created, {name: 'AbortError'});
});

test('one seed, one text; the end of the context; calls at once', {skip}, () =>
  withFolder(async (folder) => {
    using llm = await load(pathToFileURL(folder), {...options, name: 'tiny'});
    const text = async (seed: number): Promise<string> => (await llm.completions.create({prompt: 'the', seed, temperature: 1, max_tokens: 24})).choices[0]?.text ?? '';
    const [a, b, c] = await Promise.all([text(1), text(2), text(1)]);
    assert.equal(a, c);
    assert.notEqual(a, b);
    const two = await llm.completions.create({prompt: 'the', seed: 1, n: 2, temperature: 1, max_tokens: 24});
    assert.deepEqual(two.choices.map(({text}) => text), [a, b]);
    const {choices: [choice], usage, model} = await llm.completions.create({prompt: 'and', max_tokens: 1000, seed: 3, temperature: 1});
    if (choice?.finish_reason === 'length') assert.equal(usage?.total_tokens, CONTEXT);
    assert.equal(model, 'tiny');
    await assert.rejects(llm.completions.create({prompt: 'x'.repeat(CONTEXT)}), {status: 400, code: 'context_length_exceeded'});
    await assert.rejects(llm.completions.create({prompt: [1, 5000]}), {status: 400, param: 'prompt'});
    const stop = new AbortController();
    const stream = await llm.chat.completions.create({messages, stream: true, max_tokens: 100}, {signal: stop.signal});
    await assert.rejects(async () => {
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) stop.abort();
    }, {name: 'AbortError'});
    assert.equal(await text(1), a);
    llm.dispose();
    await assert.rejects(llm.completions.create({prompt: 'the'}), (problem) => problem instanceof APIError && problem.status === 500);
  }));

test('files in memory, a compiled package, weights in another file', {skip}, () =>
  withFolder(async (folder) => {
    const files = tinyModel();
    const request = {prompt: 'hello', temperature: 0, max_tokens: 12};
    using llm = await load(Object.entries(files).map(([name, bytes]) => ({name: `tiny/${name}`, bytes})), options);
    const wanted = (await llm.completions.create(request)).choices[0]?.text;
    assert.equal(llm.name, 'model');

    const made = await compile(files['onnx/model.onnx'] as Uint8Array, {target: 'wasm', state: true, generate: true, wasm: pathToFileURL(wasm)});
    for (const [name, bytes] of made) writeFileSync(join(folder, name), bytes);
    rmSync(join(folder, 'onnx'), {recursive: true});
    using packed = await load(folder, {threads: 1});
    assert.equal((await packed.completions.create(request)).choices[0]?.text, wanted);
    const texts = Object.entries(files).filter(([name]) => !name.endsWith('.onnx'));
    using inMemory = await load(new Map([...texts, ...made]), {threads: 1});
    assert.equal((await inMemory.completions.create(request)).choices[0]?.text, wanted);

    // What the folder says is greedy choice.
    const greedy = {prompt: request.prompt, max_tokens: request.max_tokens};
    using genai = await load(genaiModel(), options);
    assert.equal((await genai.completions.create(greedy)).choices[0]?.text, wanted);
    const lacking = Object.fromEntries(Object.entries(genaiModel()).filter(([name]) => name !== 'logits.q.data'));
    await assert.rejects(load(lacking, options), {message: /decoder\.onnx of the given files keeps weights in logits\.q\.data, which is missing/});
  }));

test('a compiled model is kept while its files stay as they are', {skip}, () =>
  withFolder(async (folder) => {
    const cache = join(folder, 'kept');
    const loaded = async (more: LoadOptions = {}): Promise<readonly [boolean, string | undefined]> => {
      let compiled = false;
      using llm = await load(folder, {...options, cache, ...more, onProgress: ({stage}) => (compiled ||= stage === 'compile')});
      return [compiled, (await llm.completions.create({prompt: 'hello', temperature: 0, max_tokens: 8})).choices[0]?.text];
    };
    const [first, text] = await loaded();
    assert.equal(first, true);
    assert.deepEqual(await loaded(), [false, text]);
    assert.deepEqual(await loaded({file: 'onnx/model.onnx'}), [true, text]);
    assert.deepEqual(await loaded({cache: false}), [true, text]);
    const model = join(folder, 'onnx/model.onnx');
    utimesSync(model, 5, 5);
    assert.deepEqual(await loaded(), [true, text]);
    assert.deepEqual(await loaded(), [false, text]);
    // What was damaged there is compiled again.
    for (const name of readdirSync(cache)) {
      const bytes = readFileSync(join(cache, name));
      bytes.fill(0, bytes.length - 4096);
      writeFileSync(join(cache, name), bytes);
    }
    assert.deepEqual(await loaded(), [true, text]);
    assert.deepEqual(await loaded(), [false, text]);
    rmSync(model);
    await assert.rejects(loaded(), {message: /has none of/});
    await assert.rejects(loaded({cache: join(folder, 'config.json')}), {message: /^cache: the folder .* cannot be made: .*Name another one, or set it to false/});
  }));

test('a folder that lacks something says what', {skip}, () =>
  withFolder(async (folder) => {
    const rejects = (message: RegExp, more: LoadOptions = {}, from: Parameters<typeof load>[0] = folder): Promise<void> => assert.rejects(load(from, {...options, ...more}), {message});
    await rejects(/has none of wrong\.onnx; it has onnx\/model\.onnx/, {file: 'wrong.onnx'});
    await rejects(/has none of onnx\/model_q4\.onnx, model_q4\.onnx/, {dtype: 'q4'});
    await rejects(/contextLength is 500; this model reads 128 tokens/, {contextLength: 500});
    await rejects(/cannot be read: ENOENT/, {}, join(folder, 'no'));
    writeFileSync(join(folder, 'config.json'), '{"model_type":');
    await rejects(/config\.json of .* is not JSON/);
    writeFileSync(join(folder, 'config.json'), '{}');
    await rejects(/give `contextLength`/);
    using llm = await load(folder, {...options, contextLength: 64, chatTemplate: '{% for m in messages %}{{ m.content }}{% endfor %}'});
    assert.equal(await llm.promptOf({messages}), 'hello world');
    writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
    using plain = await load(folder, {...options, contextLength: 64});
    await assert.rejects(plain.chat.completions.create({messages}), {code: 'no_chat_template', status: 400});
    rmSync(join(folder, 'tokenizer.json'));
    await rejects(/has no tokenizer\.json/);
  }));
