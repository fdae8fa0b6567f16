/** Conversations as the text that a model was trained on. */
import {Template} from '@huggingface/jinja';
import type {Message, Tool} from './api_types.ts';
import {badRequest} from './errors.ts';
import {STRIPS, usePythonStrip} from './python_strip.ts';

/** chat_template of tokenizer_config.json: one, or several by name. */
export type TemplateSource = string | readonly {readonly name: string; readonly template: string}[];

/** Tokens that templates write, by their names there: bos_token, eos_token, ... */
export type SpecialTokens = Readonly<Record<string, string>>;

const joined = (content: Message['content']): string | null =>
  typeof content === 'string' || !content ? (content ?? null) : content.map(({text}) => text).join('');

/** JSON as the value that templates print; a text that is none stays. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** A message as templates expect it: content is text, arguments of calls are objects, and developers are the system. */
function forTemplate({role, content, tool_calls: calls, ...rest}: Message): Record<string, unknown> {
  return {
    role: role === 'developer' ? 'system' : role,
    content: joined(content) ?? '',
    ...(calls && {tool_calls: calls.map((call) => ({...call, function: {...call.function, arguments: parsed(call.function.arguments)}}))}),
    ...rest,
  };
}

export class ChatTemplate {
  readonly #templates = new Map<string, Template>();
  readonly #special: SpecialTokens;

  /** Throws for a template that is wrong. */
  constructor(source: TemplateSource, special: SpecialTokens) {
    const named = typeof source === 'string' ? [{name: 'default', template: source}] : source;
    for (const {name, template} of named) {
      const parsed = new Template(template);
      usePythonStrip(parsed.parsed);
      this.#templates.set(name, parsed);
    }
    this.#special = special;
  }

  /** The prompt of an answer. Throws a 400 for a conversation that the template refuses. */
  prompt(messages: readonly Message[], tools: readonly Tool[] | undefined, variables: Readonly<Record<string, unknown>> = {}): string {
    const template = (tools && this.#templates.get('tool_use')) ?? this.#templates.get('default') ?? [...this.#templates.values()][0];
    try {
      return (template as Template).render({...STRIPS, ...this.#special, messages: messages.map(forTemplate), ...(tools && {tools}), add_generation_prompt: true, ...variables});
    } catch (problem) {
      throw badRequest(`The model's chat template refuses the messages: ${(problem as Error).message}`, 'messages', 'invalid_messages');
    }
  }
}
