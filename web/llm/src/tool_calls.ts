/** Calls of tools in a text: <tool_call>{"name": ..., "arguments": ...}</tool_call>, as Qwen, Hermes and others write them. */
import type {ToolCall} from './api_types.ts';
import {overlap} from './stop.ts';

export const OPEN = '<tool_call>';
export const CLOSE = '</tool_call>';

/** Letters and digits that are not used twice. */
export const identifier = (prefix: string): string =>
  prefix + Array.from({length: 24}, () => Math.floor(Math.random() * 36).toString(36)).join('');

/** Undefined for what is not a call. */
function callOf(text: string): ToolCall | undefined {
  try {
    const {name, arguments: given, parameters = {}} = JSON.parse(text) as {name?: unknown; arguments?: unknown; parameters?: unknown};
    if (typeof name !== 'string') return undefined;
    const values = given ?? parameters;
    return {id: identifier('call_'), type: 'function', function: {name, arguments: typeof values === 'string' ? values : JSON.stringify(values)}};
  } catch {
    return undefined;
  }
}

export interface Said {
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** Divides a text that comes in pieces into calls and the rest. What looks like a call and is none stays text. */
export class ToolCalls {
  #held = '';

  push(piece: string): Said {
    let rest = this.#held + piece;
    let text = '';
    const calls: ToolCall[] = [];
    for (;;) {
      const open = rest.indexOf(OPEN);
      if (open < 0) {
        const from = rest.length - overlap(rest, OPEN);
        this.#held = rest.slice(from);
        return {text: text + rest.slice(0, from), calls};
      }
      const close = rest.indexOf(CLOSE, open);
      if (close < 0) {
        this.#held = rest.slice(open);
        return {text: text + rest.slice(0, open), calls};
      }
      const call = callOf(rest.slice(open + OPEN.length, close));
      text += call ? rest.slice(0, open) : rest.slice(0, close + CLOSE.length);
      if (call) calls.push(call);
      rest = rest.slice(close + CLOSE.length);
    }
  }

  /** What is left. The closing mark may be missing: some models end their turn with the call. */
  end(): Said {
    const held = this.#held;
    this.#held = '';
    const call = held.startsWith(OPEN) ? callOf(held.slice(OPEN.length)) : undefined;
    return call ? {text: '', calls: [call]} : {text: held, calls: []};
  }
}
