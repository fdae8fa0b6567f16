/** What the files of a model folder say besides its network: config.json, generation_config.json, genai_config.json, tokenizer_config.json. */
import {bytesOf, type Folder} from './folder.ts';
import type {SpecialTokens, TemplateSource} from './template.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Config {
  /** tokenizer.json. */
  readonly tokenizer: object;
  readonly tokenizerConfig: object;
  readonly chatTemplate: TemplateSource | undefined;
  readonly special: SpecialTokens;
  /** Tokens that end a text: numbers, or as they are written. */
  readonly ends: readonly (number | string)[];
  readonly contextLength: number | undefined;
  readonly defaults: Readonly<Record<string, number>>;
  /** ONNX files of onnxruntime-genai's folders. */
  readonly onnxFile: string | undefined;
}

async function text(folder: Folder, name: string): Promise<string | undefined> {
  const bytes = await folder.read(name);
  return bytes && new TextDecoder().decode(await bytesOf(bytes));
}

async function json(folder: Folder, name: string): Promise<Json | undefined> {
  const found = await text(folder, name);
  if (found === undefined) return undefined;
  try {
    return JSON.parse(found) as Json;
  } catch (problem) {
    throw new Error(`load(): ${name} of ${folder.where} is not JSON: ${(problem as Error).message}`, {cause: problem});
  }
}

const fields = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const numbers = (value: unknown): number[] => (Array.isArray(value) ? value : [value]).filter((each): each is number => Number.isInteger(each));
/** A token of tokenizer_config.json: its text, or an object with it. */
const tokenText = (value: unknown): string | undefined => (typeof value === 'string' ? value : typeof fields(value)['content'] === 'string' ? (fields(value)['content'] as string) : undefined);

const SPECIAL = ['bos_token', 'eos_token', 'pad_token', 'unk_token', 'sep_token', 'cls_token', 'mask_token'];
/** Names of the most tokens that a model reads, by architecture. */
const LENGTHS = ['max_position_embeddings', 'n_positions', 'n_ctx', 'max_seq_len', 'seq_length', 'context_length'];
const CHOICES = ['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty'];

/** Sampling of generation_config.json, or of "search" in genai_config.json. Greedy choice is a temperature of 0. */
function defaultsOf(found: Json): Record<string, number> {
  if (found['do_sample'] === false) return {temperature: 0};
  return Object.fromEntries(CHOICES.flatMap((name) => (typeof found[name] === 'number' ? [[name, found[name]]] : [])));
}

/** Throws for files that are missing or wrong. */
export async function readConfig(folder: Folder): Promise<Config> {
  const names = ['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'config.json', 'generation_config.json', 'genai_config.json', 'chat_template.json'];
  const [tokenizer, tokenizerConfig = {}, map = {}, config = {}, generation = {}, genai = {}, templateFile = {}] = await Promise.all(names.map((name) => json(folder, name)));
  const template = await text(folder, 'chat_template.jinja');
  if (!tokenizer) throw new Error(`load(): ${folder.where} has no tokenizer.json. A folder of Hugging Face form is expected, or a compiled package with the tokenizer's files next to it.`);
  const inner = fields(config['text_config']);
  const genaiModel = fields(genai['model']);
  const lengths = [config, inner, genaiModel].flatMap((each) => LENGTHS.map((name) => each[name]));
  const special = Object.fromEntries(SPECIAL.flatMap((name) => {
    const token = tokenText(tokenizerConfig[name]) ?? tokenText(map[name]);
    return token === undefined ? [] : [[name, token]];
  }));
  const decoder = fields(genaiModel['decoder'])['filename'];
  return {
    tokenizer,
    tokenizerConfig,
    chatTemplate: template ?? (templateFile['chat_template'] as TemplateSource | undefined) ?? (tokenizerConfig['chat_template'] as TemplateSource | undefined),
    special,
    ends: [...[generation, config, inner, genaiModel].flatMap((each) => numbers(each['eos_token_id'])), ...(special['eos_token'] === undefined ? [] : [special['eos_token']])],
    contextLength: numbers(lengths)[0],
    defaults: defaultsOf({...fields(genai['search']), ...generation}),
    onnxFile: typeof decoder === 'string' ? decoder : undefined,
  };
}
