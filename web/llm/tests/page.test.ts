/** The published bundle in a page of Chromium: in a worker, on the page's thread, from a folder on a server and a compiled package. */
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';
import {gzipSync} from 'node:zlib';

import {tinyModel, writeTinyModel} from '../../../tests/llm/tiny_model.mjs';
import {compile} from '../../compiler/src/index.ts';
import {type Page, startBrowser} from '../../tests/src/browser.ts';
import {folder, startServer, text} from '../../tests/src/server.ts';
import {inPage} from '../../tests/src/tensor_page.ts';
import {load} from '../src/index.ts';

const dist = join(import.meta.dirname, '../../../../../web/llm/dist');
const wasm = pathToFileURL(join(dist, 'compiler.wasm'));
const skip = existsSync(join(dist, 'compiler.wasm')) && existsSync(join(dist, 'llm.js')) ? false : '@gossamer/llm is not built (make web)';
/** What a page that chats downloads, after gzip, without compiler and model. */
const MOST_KB = 105;

const REQUEST = `{messages: [{role: 'user', content: 'hello world'}], temperature: 1, top_k: -1, seed: 4, max_tokens: 24}`;

interface Served {
  readonly page: Page;
  /** Files of the package and of models that were fetched since the last call. */
  readonly fetched: () => string[];
}

async function withPage(use: (served: Served) => Promise<void>): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'llm-page-'));
  const server = await startServer();
  const browser = await startBrowser();
  try {
    writeTinyModel(join(work, 'tiny'));
    const {'onnx/model.onnx': model, ...texts} = tinyModel();
    const files = await compile(model as Uint8Array, {target: 'wasm', state: true, generate: true, wasm});
    mkdirSync(join(work, 'compiled'));
    for (const [name, bytes] of [...Object.entries(texts), ...files]) writeFileSync(join(work, 'compiled', name), bytes);
    let names: string[] = [];
    const scripts = folder(dist);
    server.put('/dist', (rest, request, response) => {
      names.push(basename(rest));
      return scripts(rest, request, response);
    });
    const models = folder(work);
    server.put('/models', (rest, request, response) => {
      if (request.method === 'GET') names.push(basename(rest));
      response.setHeader('ETag', '"1"');
      return models(rest, request, response);
    });
    server.put('/favicon.ico', text('', 'image/png'));
    server.put('/index.html', text(`<!doctype html><meta charset="utf-8"><title>chat</title>
<script type="module">
  import * as llm from './dist/llm.js';
  Object.assign(globalThis, llm, {ready: true});
</script>`, 'text/html'));
    const page = await browser.newPage();
    await page.goto(`${server.origin}/index.html`);
    await page.waitFor('globalThis.ready');
    await use({page, fetched: () => [names, (names = [])][0] as string[]});
  } finally {
    await browser.close();
    server.close();
    rmSync(work, {recursive: true});
  }
}

const gzip = (name: string): number => gzipSync(readFileSync(join(dist, name)), {level: 9}).length;

test('a page says what Node.js says, in a worker and on its own thread; it downloads little', {skip}, () =>
  withPage(async ({page, fetched}) => {
    using here = await load(tinyModel(), {target: 'wasm', threads: 1, compilerWasm: wasm});
    const wanted = (await here.chat.completions.create({messages: [{role: 'user', content: 'hello world'}], temperature: 1, top_k: -1, seed: 4, max_tokens: 24})).choices[0]?.message.content;

    const said = (await inPage(page, `
      const llm = await load('models/compiled');
      globalThis.llm = llm;
      const answer = await llm.chat.completions.create(${REQUEST});
      let streamed = '';
      for await (const {choices: [choice]} of await llm.chat.completions.create({...${REQUEST}, stream: true})) streamed += choice.delta.content ?? '';
      return {answer: answer.choices[0].message.content, streamed, name: llm.name, device: (await llm.report()).device};
    `)) as Record<string, string>;
    assert.deepEqual(said, {answer: wanted, streamed: wanted, name: 'compiled', device: 'wasm'});
    const names = fetched();
    assert.ok(names.includes('llm_worker.js') && !names.includes('compiler.wasm'), names.join());
    const scripts = names.filter((name) => name.endsWith('.js'));
    const bytes = scripts.reduce((sum, name) => sum + gzip(name), 0);
    console.log(`a page that chats downloads ${(bytes / 1024).toFixed(1)} KB gzip in ${scripts.length} files`);
    assert.ok(bytes <= MOST_KB * 1024, `${bytes} bytes: ${names.join()}`);
    // Grammars are fetched when a request asks for a form.
    assert.ok(!names.some((name) => name.startsWith('structure-')), names.join());
    const formed = (await inPage(page, `
      const request = {...${REQUEST}, response_format: {type: 'json_schema', json_schema: {name: 'pair', schema: {type: 'object', properties: {n: {type: 'integer', minimum: 10, maximum: 99}}, required: ['n']}}}};
      const {choices: [choice]} = await llm.chat.completions.create(request);
      const unmet = await llm.chat.completions.create({...request, response_format: {type: 'regex', pattern: '[]'}}).catch((problem) => problem);
      return {content: choice.message.content, unmet: [unmet instanceof APIError, unmet.param]};
    `)) as {content: string; unmet: unknown};
    assert.match(formed.content, /^\{"n": \d\d\}$/);
    assert.deepEqual(formed.unmet, [true, 'response_format']);
    assert.ok(fetched().some((name) => name.startsWith('structure-')));

    // Errors, aborts and several calls pass through the worker.
    const ends = (await inPage(page, `
      const messages = [{role: 'user', content: 'a'}];
      const wrong = await llm.chat.completions.create({messages, wat: 1}).catch((problem) => problem);
      const late = await llm.chat.completions.create({messages: [], stream: true}).catch((problem) => problem);
      const stop = new AbortController();
      const stream = await llm.chat.completions.create({messages, stream: true, max_tokens: 100}, {signal: stop.signal});
      let aborted;
      try {
        for await (const chunk of stream) if (chunk.choices[0].delta.content) stop.abort();
      } catch (problem) {
        aborted = problem.name;
      }
      for await (const chunk of await llm.completions.create({prompt: 'a', stream: true, max_tokens: 100})) break;
      const both = await Promise.all([llm.completions.create({prompt: 'the', seed: 1}), llm.completions.create({prompt: 'the', seed: 1})]);
      const same = both[0].choices[0].text === both[1].choices[0].text;
      const ids = await llm.encode('hello world');
      const round = await llm.decode(ids);
      const prompt = await llm.promptOf({messages});
      llm.dispose();
      const over = await llm.completions.create({prompt: 'a'}).catch((problem) => problem.message);
      return {wrong: [wrong instanceof APIError, wrong.status, wrong.param], late: late.param, aborted, same, round, prompt, over};
    `)) as Record<string, unknown>;
    assert.deepEqual(ends, {
      wrong: [true, 400, 'wat'], late: 'messages', aborted: 'AbortError', same: true, round: 'hello world',
      prompt: '<|begin|><|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n', over: 'the model was disposed',
    });

    // Compiled in the page, from a folder whose files cannot be listed; then it is kept.
    for (const worker of ['true', 'false', `new Worker('dist/llm_worker.js', {type: 'module'})`]) {
      assert.equal(await inPage(page, `
        const stages = new Set();
        let bytes = 0;
        const told = ({stage, done, total}) => {
          stages.add(stage);
          if (stage === 'download' && done === total) bytes = total;
        };
        const llm = await load('models/tiny/', {target: 'wasm', worker: ${worker}, onProgress: told});
        const answer = await llm.chat.completions.create(${REQUEST});
        llm.dispose();
        const compiled = stages.has('compile') && bytes === ${tinyModel()['onnx/model.onnx']?.length};
        return ${worker === 'true'} === compiled ? answer.choices[0].message.content : [...stages, bytes].join();
      `), wanted, `worker: ${worker}`);
      assert.equal(fetched().includes('model.onnx'), worker === 'true');
    }
    assert.match(String(await inPage(page, `return load('models/none').catch((problem) => problem.message)`)), /has no tokenizer\.json/);
  }));

test('webgpu in a worker; wasm where it gives no device', {skip}, () =>
  withPage(async ({page}) => {
    const said = await inPage(page, `
      const llm = await load('models/tiny/', {target: 'webgpu'});
      const {choices: [choice]} = await llm.chat.completions.create({...${REQUEST}, temperature: 0, max_tokens: 8});
      return [(await llm.report()).device, choice.message.content.length > 0];
    `);
    assert.deepEqual(said, ['webgpu', true]);
    // A GPU that gives no device.
    assert.deepEqual(await inPage(page, `
      GPUAdapter.prototype.requestDevice = () => Promise.reject(new Error('refused'));
      const llm = await load('models/tiny/', {worker: false});
      const named = await load('models/tiny/', {worker: false, target: 'webgpu'}).catch((problem) => problem.code);
      return [(await llm.report()).device, named];
    `), ['wasm', 'unsupported']);
  }));
