// The page that tells stories: its tokens against those of a reference, seeds, and what it says without a model.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {sample} from '../examples/stories/sampling.ts';
import {BEGIN, Tokenizer} from '../examples/stories/tokenizer.ts';
import {compile} from '../compiler/src/index.ts';
import {load, tensor} from '../runtime/src/index.ts';
import {pieces} from '../../tests/models/example_data.mjs';
import {compilerWasm, type Example, own, skip, testdata, withExample} from './src/example.ts';

const folder = join(testdata, 'models/stories260k');
const fileOf = (name: string): Buffer => readFileSync(join(folder, name));
const tokenizer = (): Tokenizer => new Tokenizer(Uint8Array.from(fileOf('tok512.bin')).buffer);

/** The text of highest logits of the model here, each token by a run on all before it, without a cache. */
async function withoutCache(count: number): Promise<{text: string; tokens: number[]}> {
  using model = await load(await compile(fileOf('model.onnx'), {target: 'wasm', wasm: readFileSync(compilerWasm), dims: {P: 0}}), {threads: 1});
  const empty = tensor(new Float32Array(), [5, 1, 4, 0, 8]);
  const tokens = [BEGIN];
  while (tokens.length <= count) {
    const {logits} = await model.run({ids: tensor(BigInt64Array.from(tokens, BigInt), [1, tokens.length]), past_k: empty, past_v: empty});
    const last = ((await logits?.data<Float32Array>()) as Float32Array).subarray(-pieces.length);
    tokens.push(last.indexOf(Math.max(...last)));
  }
  return {text: tokens.map(tokenizer().decoder()).join(''), tokens};
}

/** The same of the shared model, made from the weights in NumPy, and the same by onnxruntime (the model's SOURCE.json). */
function known(): {text: string; tokens: number[]} {
  const {text, greedy_tokens: tokens} = JSON.parse(fileOf('greedy.json').toString()) as {text: string; greedy_tokens: number[]};
  return {text: text.replaceAll('<0x0A>', '\n').trim(), tokens};
}

async function told(example: Example): Promise<string> {
  await example.forget();
  await example.press('#start');
  await example.reach('done');
  return example.text('#story');
}

test('a story is told token by token, the same as by others', {skip}, () =>
  withExample('stories', async ({open}) => {
    const {text: gold, tokens} = own ? await withoutCache(160) : known();
    if (own) assert.ok(new Set(tokens).size > 8, String(tokens));
    for (const device of ['cpu', 'webgpu', 'webgl']) {
      const count = device === 'cpu' ? 150 : 30;
      const example = await open(`device=${device}&temperature=0&prompt=&tokens=${count}`);
      await example.reach('ready');
      const story = await told(example);
      assert.ok(story.length > count && gold.startsWith(story), `${device}: ${story}`);
      assert.match(await example.text('#speed'), new RegExp(`^${count} tokens, [\\d.]+ tokens a second$`));
      await example.screenshot(`stories-${device}`);
      // A prompt goes in at once, its caches are those of its tokens one by one.
      const prompt = tokens.slice(0, 12).map(tokenizer().decoder()).join('');
      await example.enter('#prompt', prompt);
      await example.enter('#tokens', 15);
      const longer = await told(example);
      assert.ok(longer.length > prompt.length + 15 && gold.startsWith(longer), `${device}: ${longer}`);
      await example.page.close();
    }
  }));

test('a seed decides the story', {skip}, () =>
  withExample('stories', async ({open}) => {
    const example = await open('device=cpu&tokens=40&seed=3');
    await example.reach('ready');
    const first = await told(example);
    assert.match(first, /^Once upon a time/);
    assert.equal(await told(example), first);
    await example.enter('#seed', 4);
    assert.notEqual(await told(example), first);
    await example.screenshot('stories-seed');
  }));

test('without the model the page says what it wants, and takes it', {skip}, () =>
  withExample('stories', async ({open, server}) => {
    server.remove('/data');
    const example = await open('device=cpu&temperature=0&prompt=&tokens=5');
    await example.reach('waiting');
    assert.match(await example.text('#given'), /models\/stories260k\/model.onnx[^]*tok512.bin/);
    await example.screenshot('stories-waiting');
    const give = (id: string, name: string): Promise<void> => example.page.choose(id, [{name, bytes: fileOf(name)}]);
    await give('#given-model', 'model.onnx');
    await give('#given-tokenizer', 'tok512.bin');
    await example.reach('ready');
    assert.equal(await told(example), own ? (await withoutCache(5)).text : 'Once upon a time,');
  }));

test('texts become tokens and texts again', {skip}, () => {
  for (const text of ['Once upon a time', 'Ünïcode, 你好 🙂\n', ' spaces  kept']) {
    const tokens = tokenizer().encode(text);
    assert.equal(tokens[0], BEGIN);
    assert.equal(tokens.map(tokenizer().decoder()).join(''), text);
  }
  if (own) assert.deepEqual(tokenizer().encode('bad io'), [BEGIN, ...[' ba', 'd', ' ', 'i', 'o'].map((piece) => pieces.indexOf(piece))]);
  // As llama2.c splits it.
  else assert.deepEqual(tokenizer().encode('Once upon a time'), [1, 403, 407, 261, 378]);
  assert.throws(() => new Tokenizer(new ArrayBuffer(9)), /no tokenizer.bin/);
});

test('tokens are drawn by their shares', () => {
  const logits = Float32Array.of(0, Math.log(5), Math.log(3), Math.log(1));
  const at = (random: number, topP: number, temperature = 1): number => sample(logits, {temperature, topP}, random);
  // Shares 0.5, 0.3, 0.1, 0.1 of tokens 1, 2, 0 and 3.
  assert.deepEqual([0, 0.49, 0.51, 0.79, 0.81, 0.99].map((random) => at(random, 1)), [1, 1, 2, 2, 0, 3]);
  assert.deepEqual([0, 0.62, 0.63, 0.99].map((random) => at(random, 0.75)), [1, 1, 2, 2]);
  assert.deepEqual([0, 0.99].map((random) => at(random, 0.4)), [1, 1]);
  assert.equal(at(0.99, 1, 0), 1);
});
