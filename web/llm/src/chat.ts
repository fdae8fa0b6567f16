/** chat.completions.create() of OpenAI's API. */
import type {GenerateOptions} from '../../runtime/src/index.ts';
import type {ChatChoice, ChatCompletion, ChatLogprobs, ChatCompletionChunk, ChatDelta, ChatRequest, FinishReason, RequestOptions, Tool, ToolCall} from './api_types.ts';
import {checkChat} from './arguments.ts';
import {stopsOf, usageOf} from './completions.ts';
import type {Engine} from './engine.ts';
import type {Wanted} from './grammar/structure.ts';
import {badRequest} from './errors.ts';
import type {ChatCompletions} from './language_model.ts';
import {Logprobs} from './logprobs.ts';
import {controllerOf, Stream} from './stream.ts';
import type {ChatTemplate} from './template.ts';
import {identifier, type Said, ToolCalls} from './tool_calls.ts';

/** Tools that the model may call. */
const toolsOf = ({tools, tool_choice: choice}: ChatRequest): readonly Tool[] | undefined => (tools?.length && choice !== 'none' ? tools : undefined);

/** What the answer may be, if the request says, and the argument that says so. */
function wantedOf(request: ChatRequest): {readonly wanted: Wanted; readonly param: string} | undefined {
  const {tool_choice: choice, parallel_tool_calls: parallel, response_format: given} = request;
  const tools = toolsOf(request) ?? [];
  const format = given?.type === 'text' ? undefined : given;
  const name = typeof choice === 'object' ? choice.function.name : undefined;
  const isForced = choice === 'required' || name !== undefined;
  if (isForced || tools.some(({function: {strict}}) => strict === true)) {
    const all = name === undefined ? tools : tools.filter(({function: of}) => of.name === name);
    return {wanted: {format, tools: {all, isForced, isParallel: parallel !== false && name === undefined}}, param: 'tools'};
  }
  // Who may call tools or answer in a form does the one or the other.
  return format && {wanted: {format, ...(tools.length > 0 && {tools: {all: tools, isForced, isParallel: parallel !== false}})}, param: 'response_format'};
}

type Tell = (index: number, delta: ChatDelta, logprobs: ChatLogprobs | null, reason: FinishReason | null) => void;

export class ChatAnswers implements ChatCompletions {
  readonly #engine: Engine;
  readonly #model: string;
  readonly #template: ChatTemplate | undefined;

  /** @internal */
  constructor(engine: Engine, model: string, template: ChatTemplate | undefined) {
    this.#engine = engine;
    this.#model = model;
    this.#template = template;
  }

  /** The prompt of a conversation, as the model reads it. */
  promptOf(request: ChatRequest): string {
    if (!this.#template) throw badRequest('This model has no chat template: use completions.create(), or give load() a `chatTemplate`.', 'messages', 'no_chat_template');
    return this.#template.prompt(request.messages, toolsOf(request), request.chat_template_kwargs);
  }

  create(request: ChatRequest & {readonly stream: true}, options?: RequestOptions): Promise<Stream<ChatCompletionChunk>>;
  create(request: ChatRequest & {readonly stream?: false | null}, options?: RequestOptions): Promise<ChatCompletion>;
  create(request: ChatRequest, options?: RequestOptions): Promise<ChatCompletion | Stream<ChatCompletionChunk>>;
  async create(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletion | Stream<ChatCompletionChunk>> {
    const given = checkChat(request);
    options.signal?.throwIfAborted();
    // Templates write the tokens that texts begin with.
    const prompt = this.#engine.fit(this.#engine.texts.tokenizer.encode(this.promptOf(given as unknown as ChatRequest), {special: false}), 'messages');
    const form = wantedOf(given as unknown as ChatRequest);
    const constraints = form && (await this.#engine.constraints(form.wanted, form.param));
    const head = {id: identifier('chatcmpl-'), created: Math.floor(Date.now() / 1000), model: this.#model};
    const controller = controllerOf(options);
    const {n = 1} = given as {n?: number};
    const choices: ChatChoice[] = [];
    let [tokens, cached] = [0, 0];
    const run = async (tell: Tell): Promise<void> => {
      for (let index = 0; index < n; ++index) {
        const {choice, count, cached: had} = await this.#answer(given, prompt, index, {...(constraints && {constraint: constraints()}), signal: controller.signal}, tell);
        choices.push(choice);
        tokens += count;
        if (index === 0) cached = had;
      }
    };
    if (given['stream'] !== true) {
      await run(() => undefined);
      return {...head, object: 'chat.completion', choices, usage: usageOf(prompt.length, tokens, cached)};
    }
    const withUsage = request.stream_options?.include_usage ?? false;
    return new Stream<ChatCompletionChunk>(controller, async (give) => {
      const object = 'chat.completion.chunk';
      const none = withUsage && {usage: null};
      await run((index, delta, logprobs, reason) => give({...head, object, choices: [{index, delta, logprobs, finish_reason: reason}], ...none}));
      if (withUsage) give({...head, object, choices: [], usage: usageOf(prompt.length, tokens, cached)});
    });
  }

  async #answer(request: Readonly<Record<string, unknown>>, prompt: readonly number[], index: number, more: Pick<GenerateOptions, 'constraint' | 'signal'>, tell: Tell): Promise<{choice: ChatChoice; count: number; cached: number}> {
    const parser = toolsOf(request as unknown as ChatRequest) && new ToolCalls();
    const calls: ToolCall[] = [];
    const logprobs = request['logprobs'] === true ? new Logprobs(this.#engine.texts.tokenizer) : undefined;
    const all: ChatLogprobs['content'][number][] = [];
    const latest = (): ChatLogprobs | null => {
      const made = logprobs?.forChat() ?? null;
      all.push(...(made?.content ?? []));
      return made;
    };
    let content = '';
    const say = ({text, calls: more}: Said): void => {
      content += text;
      if (text !== '') tell(index, {content: text}, latest(), null);
      if (more.length > 0) tell(index, {tool_calls: more.map((call, at) => ({index: calls.length + at, ...call}))}, latest(), null);
      calls.push(...more);
    };
    tell(index, {role: 'assistant', content: ''}, null, null);
    const options = {...this.#engine.optionsOf(request, prompt, index, logprobs), ...more};
    const {reason, tokens, cached} = await this.#engine.generate(prompt, options, stopsOf(request), (text) => say(parser ? parser.push(text) : {text, calls: []}));
    if (parser) say(parser.end());
    const finish = calls.length > 0 && reason === 'stop' ? 'tool_calls' : reason;
    tell(index, {}, latest(), finish);
    const said = calls.length > 0 && content.trim() === '' ? null : content;
    const message = {role: 'assistant', content: said, refusal: null, ...(calls.length > 0 && {tool_calls: calls})} as const;
    return {choice: {index, message, logprobs: logprobs ? {content: all, refusal: null} : null, finish_reason: finish}, count: tokens, cached};
  }
}
