// The small chat model (tools/chat_model): its texts, its tokenizer against that of @gossamer/llm, and a training of seconds, after which
// the model answers questions that it never read. Where `make chat-model` was run, its model as well.
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {conversation, heldOut, isHeldOut, KINDS, numbers} from '../../tools/chat_model/conversations.mjs';
import {evaluate} from '../../tools/chat_model/evaluate.mjs';
import {writeFolder} from '../../tools/chat_model/folder.mjs';
import {train} from '../../tools/chat_model/train.mjs';
import {load} from '../../web/llm/dist/llm.js';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
/** Of a model that was trained for seconds on two kinds of questions, and of the whole one. */
const [LEAST_OF_SMALL, LEAST] = [0.6, 0.9];
const tally = new Tally();

const random = numbers(5);
const read = new Set(Array.from({length: 3000}, () => conversation(random)).flat().filter(({role}) => role === 'user').map(({content}) => content));
const asked = heldOut(300);
const known = asked.filter(({question}) => read.has(question) || !isHeldOut(question));
tally.record('held-out questions are not in training texts', known.length > 0 && known[0].question);
tally.record('one seed, one text', JSON.stringify(conversation(numbers(3))) !== JSON.stringify(conversation(numbers(3))) && 'they differ');

const {smallTalk, greeting} = KINDS;
const kinds = {smallTalk, greeting};
const shape = {layers: 2, hidden: 64, heads: 2, inner: 160, epsilon: 1e-5, theta: 10_000};
const folder = mkdtempSync(path.join(os.tmpdir(), 'chat-model-'));
try {
  const losses = [];
  const trained = await train({steps: 300, threads: 1, rate: 6e-3, rows: 4, length: 128, words: 512, shape, kinds, told: ({loss}) => losses.push(loss)});
  tally.record('the loss falls', losses.at(-1) < losses[0] / 5 ? undefined : `${losses[0]} to ${losses.at(-1)}`);
  writeFolder(folder, trained, {});
  const names = ['input_ids', 'attention_mask', 'position_ids', 'past_key_values.1.key', 'past_key_values.1.value', 'present.1.key', 'present.1.value'];
  const file = readFileSync(path.join(folder, 'model.onnx'), 'latin1');
  tally.record('the ONNX file has the names of Optimum', names.filter((name) => !file.includes(name)));

  const llm = await load(folder, {target: 'wasm', cache: false});
  const texts = [...read, ...asked.map(({answer}) => answer), 'Zoë  ate 12½ crêpes\n\n\t(at 7:30)!  ', '日本語 🙂 x'];
  const wrong = [];
  for (const text of texts.slice(-1500)) {
    const ids = await llm.encode(text);
    if (String(ids) !== String(trained.tokenizer.encode(text)) || (await llm.decode(ids)) !== text) wrong.push(JSON.stringify(text));
  }
  tally.record('tokens are those of @gossamer/llm', wrong.length > 0 && `${wrong.length} differ: ${wrong[0]}`);
  const prompt = await llm.promptOf({messages: [{role: 'user', content: 'Hello'}]});
  tally.record('the chat template begins as training texts do', prompt === '<|endoftext|><|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n' ? undefined : prompt);
  llm.dispose();

  const {questions, right, wrong: others} = await evaluate(folder, 100, kinds);
  console.log(`small: ${right} of ${questions} held-out questions are answered right`);
  tally.record('a training of seconds answers held-out questions', right < LEAST_OF_SMALL * questions && `${right} of ${questions}, such as ${JSON.stringify(others[0])}`);
} finally {
  rmSync(folder, {recursive: true});
}

const whole = path.join(root, 'build/chat-model');
if (existsSync(path.join(whole, 'model.onnx'))) {
  const {questions, right, wrong} = await evaluate(whole);
  console.log(`whole: ${right} of ${questions} held-out questions are answered right`);
  tally.record('the whole model answers held-out questions', right < LEAST * questions && `${right} of ${questions}, such as ${JSON.stringify(wrong[0])}`);
} else {
  tally.skip('the whole model answers held-out questions', 'make chat-model was not run');
}
tally.end();
