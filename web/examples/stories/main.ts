/** A small Llama tells stories, a token at a time. */
import {givenFiles} from '../page/given.ts';
import {numbers} from '../page/numbers.ts';
import {button, byId, chosenDevice, fail, offerDevices, onPress, setState, show, takeAddress, TARGETS, tell, valueOf} from '../page/page.ts';
import {Llama} from './llama.ts';
import {sample} from './sampling.ts';
import {BEGIN, Tokenizer} from './tokenizer.ts';

/** What the model was trained with. */
const CONTEXT = 512;
const story = byId('story', HTMLElement);

let files: Readonly<Record<'model' | 'tokenizer', Blob>>;
let tokenizer: Tokenizer;
let ready: Promise<Llama> | undefined;
let stopped = false;

async function open(): Promise<Llama> {
  const target = TARGETS[chosenDevice()];
  tell('status', `Compiling for ${target} …`);
  const llama = await Llama.open(files.model, target);
  tell('status', `On ${llama.adapter}; the cache stays there.`);
  return llama;
}

async function write(): Promise<void> {
  const llama = await (ready ??= open());
  const sampling = {temperature: valueOf('temperature'), topP: valueOf('top-p')};
  if (!(sampling.temperature >= 0)) throw new Error('The temperature has to be 0 or more.');
  const random = numbers(valueOf('seed'));
  const decode = tokenizer.decoder();
  const prompt = tokenizer.encode(byId('prompt', HTMLTextAreaElement).value);
  const most = Math.min(CONTEXT, prompt.length + valueOf('tokens'));
  setState('telling');
  stopped = false;
  show('stop');
  byId('device', HTMLSelectElement).disabled = true;
  story.ariaBusy = 'true';
  story.textContent = prompt.map(decode).join('');
  let made = 0;
  let token = BEGIN;
  let start = 0;
  let logits = await llama.begin(prompt);
  for (let length = prompt.length; length < most && !stopped; ++length) {
    if (made > 0) logits = await llama.follow(token);
    token = sample(logits.subarray(-tokenizer.size), sampling, random());
    if (token === BEGIN) break;
    story.append(decode(token));
    made += 1;
    // The first token is the prompt's work.
    if (made === 1) start = performance.now();
    else tell('speed', `${made} tokens, ${((1000 * (made - 1)) / (performance.now() - start)).toFixed(1)} tokens a second`);
    // A token takes less than a frame, and a page that only awaits is never drawn.
    if (made % 4 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  story.ariaBusy = 'false';
  setState('done');
}

async function start(): Promise<void> {
  offerDevices();
  takeAddress('prompt', 'temperature', 'top-p', 'seed', 'tokens');
  files = await givenFiles({model: 'models/stories260k/model.onnx', tokenizer: 'models/stories260k/tok512.bin'});
  tokenizer = new Tokenizer(await files.tokenizer.arrayBuffer());
  await (ready = open());
  button('start').disabled = false;
  setState('ready');
}

onPress('start', () =>
  write().finally(() => {
    show('stop', false);
    byId('device', HTMLSelectElement).disabled = false;
  }),
);
button('stop').addEventListener('click', () => (stopped = true));
byId('device', HTMLSelectElement).addEventListener('change', () => {
  void ready?.then((model) => model.dispose(), () => undefined);
  ready = open();
  ready.catch(fail);
});
start().catch(fail);
