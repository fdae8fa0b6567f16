// A model folder of Hugging Face form: a decoder of seeded random weights, a byte-level tokenizer, a chat template with tools.
import {mkdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {llama} from '../state/llama.mjs';

/** Prompt and answer together, in tokens. */
export const CONTEXT = 128;

/** GPT-2's bytes_to_unicode(): a character for each byte. */
function byteCharacters() {
  const isShown = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let other = 256;
  return Array.from({length: 256}, (_, byte) => String.fromCharCode(isShown(byte) ? byte : other++));
}

const MERGES = ['t h', 'th e', 'Ġ the', 'i n', 'a n', 'an d', 'Ġ and', 'h e', 'l l', 'he ll', 'hell o', 'Ġ w', 'o r', 'Ġw or', 'l d', 'Ġwor ld'];
const SPECIAL = ['<|begin|>', '<|im_start|>', '<|im_end|>'];
const ADDED = [...SPECIAL, '<tool_call>', '</tool_call>'];

const words = [...byteCharacters(), ...MERGES.map((merge) => merge.replace(' ', ''))];
/** More than the tokenizer has, as padded vocabularies are. */
const WORDS = words.length + ADDED.length + 3;
/** The numbers of added tokens by their text. */
export const tokens = Object.fromEntries(ADDED.map((content, at) => [content, words.length + at]));

export const tokenizer = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: ADDED.map((content) => ({id: tokens[content], content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: SPECIAL.includes(content)})),
  normalizer: null,
  pre_tokenizer: {type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true},
  post_processor: {
    type: 'TemplateProcessing',
    single: [{SpecialToken: {id: '<|begin|>', type_id: 0}}, {Sequence: {id: 'A', type_id: 0}}],
    pair: [{Sequence: {id: 'A', type_id: 0}}, {Sequence: {id: 'B', type_id: 1}}],
    special_tokens: {'<|begin|>': {id: '<|begin|>', ids: [tokens['<|begin|>']], tokens: ['<|begin|>']}},
  },
  decoder: {type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true},
  model: {
    type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false,
    vocab: Object.fromEntries(words.map((word, id) => [word, id])),
    merges: MERGES,
  },
};

/** In the manner of ChatML. */
export const chatTemplate = `{{- bos_token }}
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson + '\\n' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and not loop.first %}
        {{- raise_exception('the system speaks first') }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content }}
    {%- for call in message.tool_calls or [] %}
        {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson + '}\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}`;

export const tokenizerConfig = {bos_token: '<|begin|>', eos_token: {__type: 'AddedToken', content: '<|im_end|>'}, chat_template: chatTemplate};
export const config = {model_type: 'llama', max_position_embeddings: CONTEXT, eos_token_id: tokens['<|im_end|>']};

const SHAPE = {layers: 1, hidden: 64, heads: 2, groups: 1, inner: 64, places: CONTEXT};

/** The files by their paths. `context`: prompt and answer together, in tokens. */
export function tinyModel({context = CONTEXT} = {}) {
  const json = (value) => Buffer.from(JSON.stringify(value));
  return {
    'config.json': json({...config, max_position_embeddings: context}),
    'generation_config.json': json({do_sample: true, temperature: 0.8, top_k: 40, eos_token_id: [tokens['<|im_end|>']]}),
    'tokenizer.json': json(tokenizer),
    'tokenizer_config.json': json(tokenizerConfig),
    'onnx/model.onnx': llama({...SHAPE, places: context, words: WORDS}).file,
  };
}

/** The same network as onnxruntime-genai's folders have it: its configuration, and large weights in files next to the model. */
export function genaiModel() {
  const {'config.json': _config, 'generation_config.json': _generation, 'onnx/model.onnx': _model, ...texts} = tinyModel();
  const files = {};
  const outside = (name, data) => {
    if (data.byteLength < 1024) return undefined;
    files[`${name}.data`] = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    return `${name}.data`;
  };
  const {file} = llama({...SHAPE, words: WORDS, outside});
  const model = {context_length: CONTEXT, eos_token_id: [tokens['<|im_end|>']], decoder: {filename: 'decoder.onnx'}};
  return {...texts, ...files, 'decoder.onnx': file, 'genai_config.json': Buffer.from(JSON.stringify({model, search: {do_sample: false, temperature: 1}}))};
}

export function writeTinyModel(folder) {
  for (const [name, content] of Object.entries(tinyModel())) {
    mkdirSync(path.dirname(path.join(folder, name)), {recursive: true});
    writeFileSync(path.join(folder, name), content);
  }
}
