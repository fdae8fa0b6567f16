/** gossamer chat: a conversation with a language model in the terminal. */
import {createInterface} from 'node:readline/promises';
import {text as textOfStream} from 'node:stream/consumers';
import {type ChatRequest, type LanguageModel, load, type LoadOptions, type Message} from '@gossamer/llm';
import {type Command, Option} from 'commander';
import {real, type Target, targetNamed, whole} from './compile_options.ts';
import {Failure} from './failure.ts';
import {runsHere} from './open_runnable.ts';
import {Progress} from './progress.ts';

const HELP = '/new begins anew, /again answers once more, /exit ends; Ctrl+C ends an answer';

interface Options {
  readonly target?: Target;
  readonly prompt?: string;
  readonly system?: string;
  readonly dtype?: NonNullable<LoadOptions['dtype']>;
  readonly file?: string;
  readonly contextLength?: number;
  readonly threads?: number;
  readonly maxTokens?: number;
  readonly seed?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly stats?: boolean;
}

/** Messages so far, and their answers on standard output. */
class Conversation {
  readonly #llm: LanguageModel;
  readonly #first: readonly Message[];
  readonly #request: Partial<ChatRequest>;
  readonly #hasStats: boolean;
  #messages: Message[];

  constructor(llm: LanguageModel, {system, stats, maxTokens, seed, temperature, topP, topK, minP, repetitionPenalty, presencePenalty, frequencyPenalty}: Options) {
    this.#llm = llm;
    this.#first = system === undefined ? [] : [{role: 'system', content: system}];
    this.#messages = [...this.#first];
    this.#hasStats = stats === true;
    this.#request = {
      max_tokens: maxTokens, seed, temperature, top_p: topP, top_k: topK, min_p: minP,
      repetition_penalty: repetitionPenalty, presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty,
    };
  }

  begin(): void {
    this.#messages = [...this.#first];
  }

  /** Prints the answer, which becomes a part of the conversation, also where the signal ends it. */
  async ask(content: string, signal?: AbortSignal): Promise<void> {
    this.#messages.push({role: 'user', content});
    try {
      await this.#answer(signal);
    } catch (problem) {
      this.#messages.pop();
      throw problem;
    }
  }

  async again(signal?: AbortSignal): Promise<void> {
    if (this.#messages.at(-1)?.role === 'assistant') this.#messages.pop();
    if (this.#messages.at(-1)?.role === 'user') await this.#answer(signal);
  }

  async #answer(signal?: AbortSignal): Promise<void> {
    const begin = performance.now();
    let [said, first] = ['', 0];
    let usage, reason;
    try {
      const stream = await this.#llm.chat.completions.create({...this.#request, messages: this.#messages, stream: true, stream_options: {include_usage: true}}, {...(signal && {signal})});
      for await (const {choices: [choice], usage: used} of stream) {
        const piece = choice?.delta.content ?? '';
        if (piece !== '') first ||= performance.now();
        said += piece;
        process.stdout.write(piece);
        usage = used ?? usage;
        reason = choice?.finish_reason ?? reason;
      }
    } catch (problem) {
      if (!signal?.aborted) throw problem;
      process.stdout.write(' ...');
    }
    process.stdout.write('\n');
    this.#messages.push({role: 'assistant', content: said});
    if (!this.#hasStats || !usage) return;
    const rate = (usage.completion_tokens - 1) / Math.max((performance.now() - first) / 1000, 1e-9);
    console.error(`${usage.prompt_tokens} + ${usage.completion_tokens} tokens, first after ${((first - begin) / 1000).toFixed(2)} s, then ${rate.toFixed(1)} tokens/s, ${reason ?? 'ended'}`);
  }
}

async function talk(conversation: Conversation): Promise<void> {
  console.error(HELP);
  const terminal = createInterface({input: process.stdin, output: process.stdout});
  let stop = new AbortController();
  let isAnswering = false;
  terminal.on('SIGINT', () => (isAnswering ? stop.abort() : terminal.close()));
  const closed = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)));
  for (;;) {
    const line = await Promise.race([terminal.question('> ').catch(() => undefined), closed]);
    const said = line?.trim();
    if (said === undefined || said === '/exit') break;
    stop = new AbortController();
    isAnswering = true;
    try {
      if (said === '/new') conversation.begin();
      else if (said === '/again') await conversation.again(stop.signal);
      else if (said.startsWith('/')) console.error(HELP);
      else if (said !== '') await conversation.ask(said, stop.signal);
    } catch (problem) {
      console.error(`gossamer: ${(problem as Error).message}`);
    }
    isAnswering = false;
  }
  terminal.close();
}

async function run(model: string, options: Options): Promise<void> {
  const {target, dtype, file, contextLength, threads, prompt} = options;
  if (target) runsHere(target);
  const progress = new Progress(false);
  let llm;
  try {
    llm = await load(model, {target, dtype, file, contextLength, threads: threads || undefined, onProgress: ({stage, done, total}) => progress.show(stage, total > 0 ? done / total : 0)});
  } catch (problem) {
    throw new Failure('', (problem as Error).message.replace(/^load\(\): /, ''));
  } finally {
    progress.end();
  }
  const conversation = new Conversation(llm, options);
  if (prompt !== undefined) await conversation.ask(prompt);
  else if (process.stdin.isTTY) await talk(conversation);
  else await conversation.ask((await textOfStream(process.stdin)).trim());
  llm.dispose();
}

export function addChat(program: Command): void {
  const share = 'of draws; by default what the folder suggests';
  program
    .command('chat').description('talk to a language model')
    .argument('<model>', 'a folder of Hugging Face form with ONNX or safetensors files, a compiled package with the tokenizer\'s files, a GGUF file, or the URL of one of these')
    .addOption(new Option('-t, --target <target>', 'webgpu or wasm (default: webgpu where there is a GPU and the npm package "webgpu" is installed)').argParser(targetNamed))
    .option('-p, --prompt <text>', 'the one message; without it, messages are read from the terminal, or one from standard input')
    .option('--system <text>', 'the system message')
    .option('--dtype <type>', 'which weights, where the folder has several: q4f16, q4, q8, int8, uint8, fp16, fp32; of safetensors files how they are stored: q4, q8, fp16, fp32')
    .option('--file <path>', "the ONNX file's path in the folder")
    .option('--context-length <tokens>', 'the most tokens of a conversation', whole('--context-length', 1, 2 ** 31))
    .option('--threads <count>', 'for wasm; 0: the default of the run time', whole('--threads', 0, 1024), 0)
    .option('--max-tokens <count>', 'of an answer', whole('--max-tokens', 1, 2 ** 31))
    .option('--seed <number>', 'one seed gives one text', whole('--seed', 0, Number.MAX_SAFE_INTEGER))
    .option('--temperature <number>', share, real('--temperature'))
    .option('--top-p <number>', share, real('--top-p'))
    .option('--top-k <count>', share, whole('--top-k', -1, 2 ** 31))
    .option('--min-p <number>', share, real('--min-p'))
    .addOption(new Option('--repetition-penalty <number>').argParser(real('--repetition-penalty')).hideHelp())
    .addOption(new Option('--presence-penalty <number>').argParser(real('--presence-penalty')).hideHelp())
    .addOption(new Option('--frequency-penalty <number>').argParser(real('--frequency-penalty')).hideHelp())
    .option('--stats', 'print tokens and tokens per second after each answer')
    .action(run);
}
