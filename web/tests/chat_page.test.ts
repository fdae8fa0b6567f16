// The page that chats: what it says before a download, answers as Node.js gives them, what can be done with them, and how it is used
// with a keyboard, a screen reader and a small window.
import assert from 'node:assert/strict';
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {CONTEXT, tinyModel, writeTinyModel} from '../../tests/llm/tiny_model.mjs';
import {Conversation} from '../examples/chat/conversation.ts';
import {type Device, needsOf} from '../examples/chat/findings.ts';
import {byPath, lookAt, modelAddress, type ModelFiles, sizesOf} from '../examples/chat/model_files.ts';
import {spokenLength} from '../examples/chat/speaker.ts';
import {partsOf} from '../examples/chat/thoughts.ts';
import {bytesText} from '../examples/chat/units.ts';
import {load} from '../llm/src/index.ts';
import {type Example, withExample} from './src/example.ts';
import {folder, type Server, text} from './src/server.ts';

const dist = join(import.meta.dirname, '../../../llm/dist');
const skip = existsSync(join(dist, 'llm.js')) && existsSync(join(dist, 'compiler.wasm')) ? false : '@gossamer/llm is not built (make web)';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Kept {
  readonly role: string;
  readonly content: string;
  readonly note?: string;
}

interface Chat {
  readonly server: Server;
  readonly open: (query?: string) => Promise<Example>;
  /** Files of models that were fetched since the last call. */
  readonly fetched: () => string[];
}

async function withChat(use: (chat: Chat) => Promise<void>): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'chat-page-'));
  writeTinyModel(join(work, 'tiny'));
  try {
    await withExample('chat', async ({server, open}) => {
      let names: string[] = [];
      const models = folder(work);
      server.put('/models', (rest, request, response) => {
        if (request.method === 'GET') names.push(basename(rest));
        response.setHeader('ETag', '"1"');
        return models(rest, request, response);
      });
      await use({server, open, fetched: () => [names, (names = [])][0] as string[]});
    });
  } finally {
    rmSync(work, {recursive: true});
  }
}

const turns = async ({page}: Example): Promise<Kept[]> => JSON.parse(String(await page.evaluate("localStorage.getItem('gossamer-chat')"))) as Kept[];

async function ready(example: Example): Promise<void> {
  await example.reach('found');
  await example.press('#load');
  await example.reach('ready');
}

/** Sends a message and resolves with the answer. */
async function asked(example: Example, question: string): Promise<Kept> {
  await example.forget();
  await example.enter('#message', question);
  await example.press('#send');
  await example.reach('ready');
  return (await turns(example)).at(-1) as Kept;
}

test('a conversation in the page is that of Node.js; answers can be made again, edited and stopped', {skip}, () =>
  withChat(async ({open, fetched}) => {
    using here = await load(tinyModel(), {target: 'wasm', threads: 1, cache: false, compilerWasm: pathToFileURL(join(dist, 'compiler.wasm'))});
    const said = async (...contents: string[]): Promise<string> => {
      const messages = contents.map((content, at) => ({role: at % 2 ? 'assistant' : 'user', content}) as const);
      return (await here.chat.completions.create({messages, temperature: 0, max_tokens: 12})).choices[0]?.message.content ?? '';
    };
    for (const target of ['wasm', 'webgpu']) {
      fetched();
      const example = await open(`model=models/tiny&target=${target}&temperature=0&max_tokens=12`);
      await example.reach('found');
      assert.match(await example.text('#found'), /Download\s+1\d\d KB, once/);
      // Sizes come without the model.
      assert.ok(!fetched().includes('model.onnx'));
      assert.ok(await example.page.evaluate("document.querySelector('#send').disabled"));
      await ready(example);
      assert.match(await example.text('#status'), new RegExp(`^tiny runs on ${target}, `));
      const first = await asked(example, 'hello world');
      assert.equal(first.content, await said('hello world'), target);
      assert.match(first.note ?? '', /^12 tokens in [\d.]+ s; cut off/);
      const second = await asked(example, 'and');
      assert.equal(second.content, await said('hello world', first.content, 'and'), target);
      assert.match(await example.text('.meters'), new RegExp(`\\d+ of ${CONTEXT} tokens[^]*tokens/s[^]*tokens/s[^]*[KM]B`));
      assert.ok((await example.page.evaluate("document.querySelector('#used').value") as number) > 30);

      // Again, from the first answer on.
      await example.forget();
      await example.press('.assistant button[aria-label="Answer 2 again"]');
      await example.reach('ready');
      assert.deepEqual((await turns(example)).map(({content}) => content), ['hello world', first.content]);

      // An edited message replaces what came after it.
      await example.press('.user button');
      await example.enter('.user textarea', 'the');
      await example.forget();
      await example.press('.user form [type=submit]');
      await example.reach('ready');
      assert.deepEqual((await turns(example)).map(({content}) => content), ['the', await said('the')]);

      // Escape stops an answer; what was said stays.
      await example.enter('#max_tokens', '');
      await example.page.evaluate(`new MutationObserver(() => {
        if (document.querySelector('.assistant[aria-busy] .text')?.textContent) document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));
      }).observe(document.querySelector('#messages'), {subtree: true, childList: true})`);
      let stopped: Kept | undefined;
      // So small a model may have said everything before the first frame.
      for (let tries = 0; tries < 6 && stopped?.note !== 'stopped'; ++tries) {
        await example.press('#new');
        stopped = await asked(example, 'a');
      }
      assert.equal(stopped?.note, 'stopped');
      assert.ok(stopped.content.length > 0);
      await example.page.close();
    }
  }));

test('conversation and settings outlive the page; a compiled model is kept, and deleted by a button', {skip}, () =>
  withChat(async ({open, fetched}) => {
    const example = await open('model=models/tiny&target=wasm');
    await example.reach('found');
    await example.enter('#temperature', 0);
    await example.enter('#max_tokens', 4);
    await example.enter('#system', 'a');
    await ready(example);
    const {content} = await asked(example, 'hello');
    fetched();
    await example.page.goto(String(await example.page.evaluate('location.href')));
    assert.equal(await example.page.evaluate("document.querySelector('#system').value"), 'a');
    assert.equal((await turns(example)).length, 2);
    await ready(example);
    assert.ok(!fetched().includes('model.onnx'));
    assert.match(await example.text('#status'), /kept from the last visit/);
    assert.equal((await asked(example, 'hello')).content.length > 0, true);
    await example.forget();
    await example.press('.assistant button[aria-label="Answer 2 again"]');
    await example.reach('ready');
    assert.equal((await turns(example))[1]?.content, content);

    await example.press('#kept-panel summary');
    await example.page.waitFor("/^1 compiled model with weights: /.test(document.querySelector('#kept').textContent)");
    await example.press('#forget');
    await example.page.waitFor("document.querySelector('#kept').textContent.startsWith('No compiled models')");
    assert.equal(await example.page.evaluate("caches.has('gossamer-compiled')"), false);
    await example.press('#new');
    assert.deepEqual(await turns(example), []);

    // Files of the user's instead of an address. A long conversation loses its beginning.
    await example.page.choose('#folder', Object.entries(tinyModel()).map(([name, bytes]) => ({name: basename(name), bytes})));
    await example.reach('found');
    assert.match(await example.text('#load'), /^Read 1\d\d KB and load$/);
    await ready(example);
    for (let at = 0; at < 6; ++at) await asked(example, 'the world and the world and the world');
    assert.match((await turns(example)).at(-1)?.note ?? '', /the first \d+ messages no longer fit the context/);
  }));

test('what is missing is said before the download', {skip}, () =>
  withChat(async ({server, open, fetched}) => {
    // As if `make chat-model` had been run.
    server.put('/chat-model', folder(join(import.meta.dirname, 'none')));
    server.put('/chat-model/config.json', text(JSON.stringify({max_position_embeddings: 5}), 'application/json'));
    const example = await open();
    await example.reach('idle');
    await example.page.waitFor("!document.querySelector('#own-row').hidden");
    await example.press('#own');
    await example.reach('found');
    assert.equal(await example.text('#found-name'), 'Small model of this project');
    assert.match(await example.text('#findings'), /no tokenizer\.json/);
    await example.page.evaluate('navigator.gpu.requestAdapter = async () => null');
    await example.enter('#address', 'models/tiny');
    await example.press('#by-address button');
    await example.reach('found');
    assert.match(await example.text('#findings'), /On the CPU, because WebGPU finds no GPU here/);
    await example.enter('#target', 'webgpu');
    assert.match(await example.text('#findings'), /The target is webgpu, but WebGPU finds no GPU here \(no adapter\)\. Choose wasm/);
    assert.ok(await example.page.evaluate("document.querySelector('#load').disabled"));
    await example.enter('#target', 'wasm');
    await example.enter('#context', 4 * CONTEXT);
    assert.match(await example.text('#findings'), new RegExp(`set to ${4 * CONTEXT} tokens, and this model reads ${CONTEXT} at most`));
    assert.ok(!fetched().includes('model.onnx'));
    await example.enter('#address', 'models/none');
    await example.press('#by-address button');
    await example.page.waitFor("document.querySelector('#findings').textContent.includes('no tokenizer.json')");
  }));

/** Texts that a model may write to do harm. */
const HOSTILE = `<think>It wants <b>harm</b>.</think>
# Title

<img src=x onerror="window.harmed = true"><script>window.harmed = true</script> ![a picture](https://example.com/x.png)

[click](javascript:window.harmed=true) and [fine](https://example.com/)

| a | b |
|---|---|
| 1 | **2** |

- [x] done

\`\`\`js
const long = '${'x'.repeat(300)}';
\`\`\`

${'word'.repeat(100)}`;

test('answers are shown as Markdown that can do nothing; no violations of axe, no overflow, light and dark', {skip}, () =>
  withChat(async ({open}) => {
    const example = await open();
    await example.page.evaluate(`localStorage.setItem('gossamer-chat', ${JSON.stringify(JSON.stringify([{role: 'user', content: '<b>hello</b>'}, {role: 'assistant', content: HOSTILE, note: '9 tokens'}]))})`);
    await example.page.goto(`${String(await example.page.evaluate('location.href'))}model=models/tiny`);
    await example.reach('found');
    const found = await example.page.evaluate(`({
      tags: [...new Set([...document.querySelectorAll('.markdown *')].map(({localName}) => localName))].sort(),
      links: [...document.querySelectorAll('.markdown a')].map((link) => [link.getAttribute('href'), link.rel]),
      harmed: window.harmed ?? false,
      asked: document.querySelector('.user .text').innerHTML,
    })`);
    assert.deepEqual(found, {
      tags: ['a', 'code', 'h3', 'li', 'p', 'pre', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
      links: [['https://example.com/x.png', 'noopener noreferrer'], [null, 'noopener noreferrer'], ['https://example.com/', 'noopener noreferrer']],
      harmed: false,
      asked: '&lt;b&gt;hello&lt;/b&gt;',
    });
    for (const each of ['#settings', '#kept-panel']) await example.press(`${each} summary`);
    await example.page.evaluate(`${axe}; 0`);
    const check = async (what: string): Promise<void> => {
      for (const [width, height] of [[1280, 800], [390, 844]] as const) {
        for (const isDark of [false, true]) {
          await example.page.appear({width, height, isDark});
          const violations = (await example.page.evaluate(
            'axe.run().then(({violations}) => violations.map(({id, nodes}) => [id, ...nodes.map(({html, failureSummary}) => `${html} ${failureSummary}`)]))',
          )) as string[][];
          assert.deepEqual(violations, [], `${what}, ${width} px, ${isDark ? 'dark' : 'light'}`);
          assert.equal(await example.page.evaluate('document.documentElement.scrollWidth'), width, what);
          await example.screenshot(`chat-${what}-${width}-${isDark ? 'dark' : 'light'}`);
        }
      }
    };
    await check('found');
    await ready(example);
    await example.press('#new');
    await asked(example, 'hello world');
    // Screen readers hear the answer; the focus stays where the next message is written.
    assert.ok((await example.text('#spoken')).length > 0);
    assert.equal(await example.page.evaluate('document.activeElement.id'), 'message');
    await example.press('.user button');
    assert.equal(await example.page.evaluate("document.activeElement.ariaLabel"), 'Message 1');
    await check('answered');
  }));

const FILES: ModelFiles = {
  from: 'https://example.com/m/', name: 'm', hasTokenizer: true, hasTemplate: true, compiled: undefined, context: 4096,
  weights: [{dtype: 'q4f16', file: 'onnx/model_q4f16.onnx', bytes: 1e9}],
  sizes: {layers: 24, keys: 512, words: 150_000, hidden: 1024},
};
const DEVICE: Device = {gpu: {name: 'gpu', hasF16: true, largestBuffer: 128 * 2 ** 20}, memory: 8 * 2 ** 30, room: 1e10, isIsolated: true};

test('needs of a model against a device', () => {
  const needs = (files: Partial<ModelFiles>, device: Partial<Device>, target = '', context?: number): ReturnType<typeof needsOf> =>
    needsOf({...FILES, ...files}, {weights: FILES.weights[0], target, context}, {...DEVICE, ...device});
  const found = (...given: Parameters<typeof needs>): string => needs(...given).findings.map((each) => `${each.kind}: ${each.text}`).join('\n');
  assert.deepEqual(needs({words: 1} as Partial<ModelFiles>, {}).download, 1e9);
  assert.equal(needs({}, {}).cache, 2 * 24 * 512 * 4096 * 4);
  const gpu = {name: 'gpu', hasF16: false, largestBuffer: 1e9};
  assert.equal(found({}, {gpu: {...gpu, hasF16: true}}), '');
  assert.match(found({}, {gpu}), /^note: The GPU has no shader-f16\. This model runs without it/);
  assert.match(found({compiled: {target: 'webgpu', needs: ['webgpu-f16'], bytes: 5}}, {gpu}), /^stop: The GPU has no shader-f16, which this compiled model needs/);
  assert.match(found({}, {}), /^warning: The table of tokens has about 307 MB, and the GPU allows 134 MB/);
  assert.match(found({}, {gpu: {...gpu, hasF16: true, largestBuffer: 4e6}}), /^stop: Each layer keeps 8\.39 MB for 4096 tokens, and the GPU allows 4\.00 MB in one buffer\. Set the context to 1953 tokens/);
  assert.match(found({}, {memory: 1e9, gpu: {...gpu, hasF16: true}}), /^warning: About 1\.40 GB of memory are needed/);
  assert.match(found({weights: []}, {}), /^stop: There is no ONNX file/);
  assert.match(found({hasTemplate: false}, {}), /^stop: There is no chat template/);
  assert.match(found({}, {isIsolated: false}, 'wasm'), /^note: One thread only/);
  assert.match(found({}, {room: 1e6}, 'wasm'), /^warning: The compiled model will not be kept/);
  assert.equal(needs({}, {gpu: 'none'}).target, 'wasm');
});

test('a GGUF file is a model by itself', async () => {
  const file = new File([new Uint8Array(12)], 'small.Q4_0.gguf');
  const chosen = await lookAt(byPath([[file.name, file]]));
  assert.deepEqual([chosen.name, chosen.weights, chosen.compiled], ['small.Q4_0', [{file: file.name, dtype: undefined, bytes: 12}], undefined]);
  const {download, findings} = needsOf(chosen, {weights: chosen.weights[0], target: 'wasm', context: undefined}, {gpu: 'none', memory: undefined, room: undefined, isIsolated: true});
  assert.deepEqual([download, findings], [12, []]);
  const bytes = new File([new Uint8Array(1600)], 'model.safetensors');
  assert.deepEqual((await lookAt(new Map([['model.safetensors', bytes]]))).weights.map(({dtype, bytes: size, memory}) => [dtype, size, memory]), [['q4', 1600, 450], ['q8', 1600, 850], ['fp16', 1600, 1600]]);
  assert.equal(modelAddress('https://huggingface.co/owner/name/blob/main/small.gguf', 'http://x/'), 'https://huggingface.co/owner/name/resolve/main/small.gguf');
  assert.equal(modelAddress('models/Small.GGUF', 'http://x/chat.html'), 'http://x/models/Small.GGUF');
});

test('addresses, folders and sizes', () => {
  assert.equal(modelAddress('https://huggingface.co/owner/name', 'http://x/'), 'https://huggingface.co/owner/name/resolve/main/');
  assert.equal(modelAddress(' https://huggingface.co/owner/name/tree/v2 ', 'http://x/'), 'https://huggingface.co/owner/name/resolve/v2/');
  assert.equal(modelAddress('models/a', 'http://x/chat.html?b=1'), 'http://x/models/a/');
  assert.throws(() => modelAddress('file:///a', 'http://x/'), /https is expected/);
  const file = new File([], 'a');
  assert.deepEqual([...byPath([['m/config.json', file], ['m/onnx/model.onnx', file]]).keys()], ['config.json', 'onnx/model.onnx']);
  assert.deepEqual([...byPath([['m/config.json', file], ['tokenizer.json', file]]).keys()], ['m/config.json', 'tokenizer.json']);
  assert.deepEqual(sizesOf({hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2, num_hidden_layers: 3, vocab_size: 9}), {layers: 3, keys: 32, words: 9, hidden: 64});
  assert.deepEqual(sizesOf({n_embd: 8, n_head: 2, n_layer: 1, vocab_size: 5}), {layers: 1, keys: 8, words: 5, hidden: 8});
  assert.equal(sizesOf({}), undefined);
  assert.deepEqual([999, 12_345_678, 1.5e9].map(bytesText), ['1 KB', '12.3 MB', '1.50 GB']);
});

test('conversations and what is read aloud', () => {
  const kept = new Map([['gossamer-chat', '{"not": "turns"}']]);
  const store = {getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value)};
  const conversation = new Conversation(store);
  assert.deepEqual(conversation.turns, []);
  conversation.ask('a');
  conversation.answer('', 'failed');
  conversation.ask('b');
  conversation.answer('c');
  assert.deepEqual(conversation.messages(''), [{role: 'user', content: 'a'}, {role: 'user', content: 'b'}, {role: 'assistant', content: 'c'}]);
  assert.equal(conversation.nextQuestion(0), 2);
  assert.equal(conversation.nextQuestion(2), undefined);
  assert.deepEqual(conversation.messages('s', 2).map(({role}) => role), ['system', 'user', 'assistant']);
  assert.equal(new Conversation(store).turns.length, 4);
  conversation.edit(0, 'd');
  assert.deepEqual(conversation.turns.map(({content}) => content), ['d']);
  assert.deepEqual(partsOf('<think>a'), {thoughts: 'a', answer: ''});
  assert.deepEqual(partsOf('\n<think>a</think>\n\nb'), {thoughts: 'a', answer: 'b'});
  assert.deepEqual(partsOf('b <think>'), {thoughts: '', answer: 'b <think>'});
  assert.equal(spokenLength('One. Two'), 4);
  assert.equal(spokenLength('3.5 and'), 0);
  assert.equal(spokenLength('a\nb'), 2);
});
