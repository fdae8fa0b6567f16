/** The worker of one model: a module of its own next to the bundle (@gossamer/llm/worker). */
import type {LanguageModel} from './language_model.ts';
import {loadHere} from './local.ts';
import {type FromWorker, problemOf, type ToWorker, type Work} from './messages.ts';
import {Stream} from './stream.ts';

declare const self: {onmessage: ((event: MessageEvent<ToWorker | 'hello'>) => void) | null; postMessage(message: FromWorker | 'ready'): void};

const aborts = new Map<number, AbortController>();
let model: LanguageModel | undefined;

async function load(call: number, {from, options}: Extract<Work, {kind: 'load'}>, signal: AbortSignal): Promise<unknown> {
  model = await loadHere(from, {...options, signal, onProgress: (progress) => self.postMessage({call, kind: 'progress', progress})});
  return {name: model.name, contextLength: model.contextLength};
}

function answer(call: number, work: Work, signal: AbortSignal): Promise<unknown> {
  if (work.kind === 'load') return load(call, work, signal);
  if (!model) throw new Error('no model is loaded');
  switch (work.kind) {
    case 'chat':
      return model.chat.completions.create(work.request, {signal});
    case 'completion':
      return model.completions.create(work.request, {signal});
    case 'encode':
      return model.encode(work.text);
    case 'decode':
      return model.decode(work.ids);
    case 'prompt':
      return model.promptOf(work.request);
    case 'report':
      return model.report();
  }
}

async function serve(call: number, work: Work): Promise<void> {
  const abort = new AbortController();
  aborts.set(call, abort);
  try {
    const result = await answer(call, work, abort.signal);
    if (result instanceof Stream) {
      self.postMessage({call, kind: 'begun'});
      for await (const item of result) self.postMessage({call, kind: 'item', item});
      self.postMessage({call, kind: 'done'});
    } else {
      self.postMessage({call, kind: 'done', result});
    }
  } catch (problem) {
    self.postMessage({call, kind: 'failed', problem: problemOf(problem)});
  } finally {
    aborts.delete(call);
  }
}

self.onmessage = ({data}) => {
  if (data === 'hello') self.postMessage('ready');
  else if (data.kind === 'abort') aborts.get(data.call)?.abort();
  else void serve(data.call, data);
};
