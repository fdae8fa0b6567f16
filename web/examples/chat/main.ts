/** A conversation with a language model in the page, by @gossamer/llm. */
import type {LanguageModel, Usage} from '@gossamer/llm';

import {button, byId, fail, onPress, setState, show, showTrouble, tell} from '../page/page.ts';
import {Conversation} from './conversation.ts';
import {forgetModels, keptModels} from './kept_models.ts';
import {isSend, MessagesView} from './messages_view.ts';
import {startModelPanel} from './model_panel.ts';
import {restoreSettings, sampling, systemPrompt} from './settings.ts';
import {Speaker} from './speaker.ts';
import {partsOf} from './thoughts.ts';
import {bytesText, rateText} from './units.ts';

const field = byId('message', HTMLTextAreaElement);
const send = button('send');
const stop = button('stop');

const conversation = new Conversation(localStorage);
const speaker = new Speaker(byId('spoken', HTMLElement));
const view = new MessagesView(byId('messages', HTMLElement), byId('log', HTMLElement), {
  edited: (at, text) => {
    conversation.edit(at, text);
    field.focus();
    void answer();
  },
  again: (at) => {
    conversation.forgetFrom(at);
    field.focus();
    void answer();
  },
});

let llm: LanguageModel | undefined;
let generation: AbortController | undefined;

function showConversation(): void {
  show('empty', conversation.turns.length === 0);
  show('ideas', conversation.turns.length === 0 && llm !== undefined);
  view.show(conversation.turns);
}

for (const idea of byId('ideas', HTMLElement).querySelectorAll('button')) {
  idea.addEventListener('click', () => {
    field.value = idea.textContent;
    ask();
    field.focus();
  });
}

function showControls(): void {
  const isBusy = generation !== undefined;
  view.setBusy(isBusy || !llm);
  send.disabled = !llm || isBusy;
  send.hidden = isBusy;
  stop.hidden = !isBusy;
  button('new').disabled = isBusy;
  field.placeholder = llm ? 'Write a message' : 'Load a model first';
}

function showContext(tokens: number): void {
  const most = llm?.contextLength;
  const meter = byId('used', HTMLMeterElement);
  Object.assign(meter, {max: most ?? 1, high: 0.85 * (most ?? 1), value: most ? tokens : 0});
  tell('used-text', most ? `${tokens} of ${most} tokens` : '–');
}

/** Tokens of the conversation without its first `skipped` turns. Templates refuse some, such as an empty one. */
async function promptTokens(model: LanguageModel, skipped = 0): Promise<number> {
  const messages = conversation.messages(systemPrompt(), skipped);
  const text = messages.length > 0 ? await model.promptOf({messages}).catch(() => '') : '';
  return text === '' ? 0 : (await model.encode(text)).length;
}

/** How many of the first turns to leave out, so that an answer has room, and the tokens of the others. */
async function fitting(model: LanguageModel): Promise<{readonly skipped: number; readonly tokens: number}> {
  const room = Math.min(256, model.contextLength / 4);
  let skipped = 0;
  for (;;) {
    const tokens = await promptTokens(model, skipped);
    const next = conversation.nextQuestion(skipped);
    if (tokens + room <= model.contextLength || next === undefined) return {skipped, tokens};
    skipped = next;
  }
}

async function showMemory(): Promise<void> {
  if (!llm) return;
  const {memory} = await llm.report();
  tell('memory', bytesText(memory.persistent + memory.transient));
}

interface Said {
  readonly text: string;
  readonly note: string;
}

/** One answer; `told` is called with the text so far, at most once a frame. */
async function generate(model: LanguageModel, signal: AbortSignal, told: (text: string) => void): Promise<Said> {
  const begin = performance.now();
  let text = '';
  let pieces = 0;
  let first = 0;
  let prompt = 0;
  let usage: Usage | null | undefined;
  let reason: string | null | undefined;
  let frame = 0;
  const draw = (): void => {
    frame = 0;
    told(text);
    showContext(prompt + pieces);
    if (pieces > 1) tell('answer-speed', rateText(pieces - 1, performance.now() - first));
  };
  let note: string;
  try {
    const {skipped, tokens} = await fitting(model);
    prompt = tokens;
    const request = {messages: conversation.messages(systemPrompt(), skipped), stream: true, stream_options: {include_usage: true}, ...sampling()} as const;
    const asked = performance.now();
    for await (const chunk of await model.chat.completions.create(request, {signal})) {
      usage = chunk.usage ?? usage;
      const [choice] = chunk.choices;
      reason = choice?.finish_reason ?? reason;
      const piece = choice?.delta.content;
      if (!piece) continue;
      if (pieces === 0) {
        first = performance.now();
        tell('prompt-speed', rateText(prompt, first - asked));
      }
      text += piece;
      pieces += 1;
      frame ||= requestAnimationFrame(draw);
    }
    if (usage && usage.completion_tokens > 1) tell('answer-speed', rateText(usage.completion_tokens - 1, performance.now() - first));
    showContext(usage?.total_tokens ?? prompt + pieces);
    note = `${usage?.completion_tokens ?? pieces} tokens in ${((performance.now() - begin) / 1000).toFixed(1)} s`;
    if (reason === 'length') note += '; cut off: the limit of tokens is reached';
    if (skipped > 0) note += `; the first ${skipped} messages no longer fit the context`;
  } catch (problem) {
    note = signal.aborted ? 'stopped' : (problem as Error).message;
    if (!signal.aborted) showTrouble(problem);
  } finally {
    cancelAnimationFrame(frame);
  }
  told(text);
  return {text, note};
}

async function answer(): Promise<void> {
  if (!llm || generation) return;
  showTrouble();
  showConversation();
  generation = new AbortController();
  showControls();
  setState('answering');
  const growing = view.begin();
  speaker.begin();
  const {text, note} = await generate(llm, generation.signal, (so) => {
    growing.show(so);
    speaker.update(partsOf(so).answer);
  });
  conversation.answer(text, note);
  speaker.end(partsOf(text).answer || note);
  generation = undefined;
  showConversation();
  showControls();
  await showMemory();
  if (llm) setState('ready');
}

async function showKept(): Promise<void> {
  const kept = await keptModels().catch(() => undefined);
  button('forget').disabled = !kept?.count;
  if (!kept) tell('kept', 'This page cannot store models: it needs https or localhost.');
  else if (kept.count === 0) tell('kept', 'No compiled models are stored in this browser.');
  else tell('kept', `${kept.count} compiled model${kept.count > 1 ? 's' : ''} with weights: ${bytesText(kept.bytes)}. They load without a download.`);
}

function ask(): void {
  const text = field.value.trim();
  if (!llm || generation || text === '') return;
  field.value = '';
  conversation.ask(text);
  answer().catch(fail);
}

byId('composer', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  ask();
});
field.addEventListener('keydown', (event) => {
  if (!isSend(event)) return;
  event.preventDefault();
  ask();
});
stop.addEventListener('click', () => {
  generation?.abort();
  field.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') generation?.abort();
});
button('new').addEventListener('click', () => {
  conversation.clear();
  showConversation();
  showContext(0);
  field.focus();
});
onPress('forget', async () => {
  await forgetModels();
  await showKept();
});
byId('kept-panel', HTMLDetailsElement).addEventListener('toggle', () => void showKept());

restoreSettings();
showConversation();
showControls();
setState('idle');
startModelPanel((loaded) => {
  generation?.abort();
  llm?.dispose();
  llm = loaded;
  showConversation();
  showControls();
  for (const id of ['prompt-speed', 'answer-speed', 'memory']) tell(id, '–');
  showContext(0);
  if (!llm) return;
  field.focus();
  Promise.all([promptTokens(llm).then(showContext), showMemory()])
    .then(() => setState('ready'))
    .catch(fail);
  void showKept();
});
