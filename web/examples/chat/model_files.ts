/** The files of a model before it is loaded: which weights it has, their sizes, and what config.json says about its memory. */
import type {GivenFiles, WeightType} from '@gossamer/llm';

type Json = Readonly<Record<string, unknown>>;

/** One of the networks in the folder, with its files of weights. */
export interface Weights {
  /** As load() names it; undefined: the name of the file does not say. */
  readonly dtype: WeightType | undefined;
  readonly file: string;
  /** Undefined: the server does not say. */
  readonly bytes: number | undefined;
  /** Bytes once they are loaded, where these are others: of files that load() quantises, if they have 16 bits a number. */
  readonly memory?: number | undefined;
}

export interface Sizes {
  readonly layers: number;
  /** Numbers that each layer keeps of a token's key; as many for its value. */
  readonly keys: number;
  readonly words: number;
  readonly hidden: number;
}

export interface ModelFiles {
  /** For load(). */
  readonly from: string | GivenFiles;
  readonly name: string;
  readonly hasTokenizer: boolean;
  readonly hasTemplate: boolean;
  /** In the order in which load() would choose. Empty for compiled models. */
  readonly weights: readonly Weights[];
  /** The target and the needs of a model that is compiled already. */
  readonly compiled: {readonly target: string; readonly needs: readonly string[]; readonly bytes: number | undefined} | undefined;
  /** Undefined: config.json does not say. */
  readonly sizes: Sizes | undefined;
  /** The most tokens of a prompt and its answer. */
  readonly context: number | undefined;
}

interface Reader {
  /** Undefined: there is no such file. `bytes` is undefined where the server does not say. */
  readonly look: (name: string) => Promise<{readonly bytes: number | undefined} | undefined>;
  readonly text: (name: string) => Promise<string | undefined>;
}

/** As @gossamer/llm looks for them: small weights first. */
const SUFFIXES: readonly (readonly [WeightType, string])[] = [
  ['q4f16', '_q4f16'], ['q4', '_q4'], ['q8', '_quantized'], ['int8', '_int8'], ['uint8', '_uint8'], ['fp16', '_fp16'], ['fp32', ''],
];

const isGguf = (name: string): boolean => name.toLowerCase().endsWith('.gguf');

/** The address of a model's folder, or of its GGUF file. The page of a model or a file on Hugging Face becomes the address of what it shows. */
export function modelAddress(typed: string, base: string): string {
  const url = new URL(typed.trim(), base);
  const [, owner, name, ...rest] = url.pathname.replace(/\/$/, '').split('/');
  if (url.host === 'huggingface.co' && owner && name && (rest.length === 0 || rest[0] === 'tree' || rest[0] === 'blob')) {
    url.pathname = `/${owner}/${name}/resolve/${rest.slice(1).join('/') || 'main'}`;
  }
  if (!/^https?:$/.test(url.protocol)) throw new Error(`${url.protocol} addresses cannot be read; https is expected`);
  if (!isGguf(url.pathname)) url.pathname = url.pathname.replace(/\/?$/, '/');
  return url.href;
}

function onServer(address: string): Reader {
  const ask = async (name: string, init: RequestInit): Promise<Response | undefined> => {
    const url = new URL(address);
    url.pathname += name;
    const response = await fetch(url, init);
    // Some servers answer with a page for a file that they do not have.
    return response.ok && !response.headers.get('content-type')?.startsWith('text/html') ? response : undefined;
  };
  return {
    look: async (name) => {
      const found = await ask(name, {method: 'HEAD'});
      const length = found?.headers.get('content-length');
      // The length of a compressed answer is not the file's.
      return found && {bytes: length && !found.headers.get('content-encoding') ? Number(length) : undefined};
    },
    text: async (name) => (await ask(name, {}))?.text(),
  };
}

function inMemory(files: ReadonlyMap<string, File>): Reader {
  return {
    look: (name) => Promise.resolve(files.get(name) && {bytes: files.get(name)?.size}),
    text: (name) => files.get(name)?.text() ?? Promise.resolve(undefined),
  };
}

/** The paths of chosen files below the one folder that they are in. */
export function byPath(files: Iterable<readonly [path: string, file: File]>): Map<string, File> {
  const all = [...files];
  const top = /^[^/]*\//.exec(all[0]?.[0] ?? '')?.[0] ?? '';
  const cut = all.every(([path]) => path.startsWith(top)) ? top.length : 0;
  return new Map(all.map(([path, file]) => [path.slice(cut), file]));
}

async function json(reader: Reader, name: string): Promise<Json | undefined> {
  const text = await reader.text(name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new Error(`${name} of this model is not JSON. Download it again.`);
  }
}

const sum = (sizes: readonly (number | undefined)[]): number | undefined =>
  sizes.some((size) => size === undefined) ? undefined : sizes.reduce<number>((all, size) => all + (size as number), 0);

/** The network of this path and its files of weights, which exporters name after it. */
async function weightsAt(reader: Reader, file: string, dtype: WeightType | undefined): Promise<Weights | undefined> {
  const found = await reader.look(file);
  if (!found) return undefined;
  const sizes = [found.bytes];
  const [data, other] = await Promise.all([reader.look(`${file}_data`), reader.look(`${file}.data`)]);
  for (const each of [data, other]) if (each) sizes.push(each.bytes);
  for (let part = 1, more = data; more; ++part) {
    more = await reader.look(`${file}_data_${part}`);
    if (more) sizes.push(more.bytes);
  }
  return {file, dtype, bytes: sum(sizes)};
}

async function allWeights(reader: Reader, named: string | undefined): Promise<Weights[]> {
  const found = await Promise.all(SUFFIXES.map(async ([dtype, suffix]) =>
    (await weightsAt(reader, `onnx/model${suffix}.onnx`, dtype)) ?? weightsAt(reader, `model${suffix}.onnx`, dtype)));
  const other = named !== undefined && (await weightsAt(reader, named, undefined));
  const weights = [...(other ? [other] : []), ...found.filter((each) => each !== undefined)];
  return weights.length > 0 ? weights : safetensorsWeights(reader);
}

/** Files that load() quantises: each form that it makes of them. */
async function safetensorsWeights(reader: Reader): Promise<Weights[]> {
  const index = await json(reader, 'model.safetensors.index.json');
  const one = index ?? (await reader.look('model.safetensors'));
  if (!one) return [];
  const bytes = numberOf(index ? inner(index['metadata']) : one, index ? 'total_size' : 'bytes');
  const bits = {q4: 4.5, q8: 8.5, fp16: 16};
  return (['q4', 'q8', 'fp16'] as const).map((dtype) => ({dtype, file: 'model.safetensors', bytes, memory: bytes && (bytes * bits[dtype]) / 16}));
}

const numberOf = (from: Json, ...names: readonly string[]): number | undefined =>
  names.map((name) => from[name]).find((value): value is number => typeof value === 'number');

const inner = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

export function sizesOf(config: Json): Sizes | undefined {
  const all = {...config, ...inner(config['text_config'])};
  const hidden = numberOf(all, 'hidden_size', 'n_embd');
  const heads = numberOf(all, 'num_attention_heads', 'n_head');
  const layers = numberOf(all, 'num_hidden_layers', 'n_layer');
  const words = numberOf(all, 'vocab_size');
  if (!hidden || !heads || !layers || !words) return undefined;
  const width = numberOf(all, 'head_dim') ?? hidden / heads;
  return {layers, words, hidden, keys: (numberOf(all, 'num_key_value_heads') ?? heads) * width};
}

async function compiledModel(reader: Reader): Promise<ModelFiles['compiled']> {
  const manifest = await json(reader, 'manifest.json');
  // Several packages: the run time chooses one when it loads.
  if (!manifest) return (await reader.look('index.json')) && {target: '', needs: [], bytes: undefined};
  const list = <T>(name: string): T[] => (Array.isArray(manifest[name]) ? (manifest[name] as T[]) : []);
  const target = typeof manifest['target'] === 'string' ? manifest['target'] : '';
  return {target, needs: list<string>('needs'), bytes: sum(list<Json>('files').map((each) => numberOf(each, 'bytes')))};
}

/** One file that has everything; what it says is read when it is loaded. Undefined: it is a folder. */
async function ggufModel(from: string | ReadonlyMap<string, File>): Promise<ModelFiles | undefined> {
  const [path = ''] = typeof from === 'string' ? [new URL(from).pathname] : from.size === 1 ? from.keys() : [];
  if (!isGguf(path)) return undefined;
  const file = decodeURIComponent(path.split('/').at(-1) ?? path);
  let bytes = typeof from === 'string' ? undefined : from.get(path)?.size;
  if (typeof from === 'string') {
    const answer = await fetch(from, {method: 'HEAD'});
    if (!answer.ok) throw new Error(`${from} cannot be read: its server answers ${answer.status}.`);
    bytes = Number(answer.headers.get('content-length')) || undefined;
  }
  return {
    from, name: file.replace(/\.gguf$/i, ''), hasTokenizer: true, hasTemplate: true, weights: [{file, dtype: undefined, bytes}],
    compiled: undefined, sizes: undefined, context: undefined,
  };
}

/** Reads small files and the sizes of large ones. Rejects for an address that cannot be reached. */
export async function lookAt(from: string | ReadonlyMap<string, File>): Promise<ModelFiles> {
  const gguf = await ggufModel(from);
  if (gguf) return gguf;
  const reader = typeof from === 'string' ? onServer(from) : inMemory(from);
  const names = ['config.json', 'tokenizer_config.json', 'genai_config.json'];
  const [config = {}, tokenizer = {}, genai = {}] = await Promise.all(names.map((name) => json(reader, name)));
  const [hasTokenizer, ...templates] = await Promise.all(['tokenizer.json', 'chat_template.jinja', 'chat_template.json'].map(async (name) => Boolean(await reader.look(name))));
  const genaiModel = inner(genai['model']);
  const decoder = inner(genaiModel['decoder'])['filename'];
  const compiled = await compiledModel(reader);
  const lengths = ['max_position_embeddings', 'n_positions', 'n_ctx', 'max_seq_len', 'seq_length', 'context_length'];
  return {
    from,
    name: typeof from === 'string' ? nameOf(from) : 'your folder',
    hasTokenizer: hasTokenizer === true,
    hasTemplate: tokenizer['chat_template'] !== undefined || templates.includes(true),
    weights: compiled ? [] : await allWeights(reader, typeof decoder === 'string' ? decoder : undefined),
    compiled,
    sizes: sizesOf(config),
    context: numberOf({...genaiModel, ...inner(config['text_config']), ...config}, ...lengths),
  };
}

/** The folder's name; for a model on Hugging Face the model's. */
function nameOf(address: string): string {
  const parts = new URL(address).pathname.split('/').filter(Boolean);
  const at = parts.indexOf('resolve');
  return decodeURIComponent(parts[at > 0 ? at - 1 : parts.length - 1] ?? 'model');
}
