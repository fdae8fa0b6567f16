// A trained network as a folder of Hugging Face form.
import {mkdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {CHAT_TEMPLATE} from './byte_pairs.mjs';
import {onnxModel} from './onnx.mjs';

/** Writes what train() gives, and `record`, how it was trained, as training.json. */
export function writeFolder(folder, trained, record) {
  const {tokenizer, shape, weights, context} = trained;
  const id = (token) => tokenizer.idOf(token);
  const ends = {bos_token_id: id('<|endoftext|>'), eos_token_id: id('<|im_end|>'), pad_token_id: id('<|endoftext|>')};
  const json = {
    'config.json': {
      model_type: 'llama', architectures: ['LlamaForCausalLM'], torch_dtype: 'float32', hidden_act: 'silu', tie_word_embeddings: true, attention_bias: false, mlp_bias: false,
      hidden_size: shape.hidden, intermediate_size: shape.inner, num_hidden_layers: shape.layers, num_attention_heads: shape.heads, num_key_value_heads: shape.heads,
      head_dim: shape.hidden / shape.heads, rms_norm_eps: shape.epsilon, rope_theta: shape.theta, vocab_size: weights.get('embed').shape[0], max_position_embeddings: context, ...ends,
    },
    'generation_config.json': {...ends, do_sample: false},
    'tokenizer.json': tokenizer.file(),
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast', bos_token: '<|endoftext|>', eos_token: '<|im_end|>', pad_token: '<|endoftext|>', unk_token: '<|endoftext|>',
      clean_up_tokenization_spaces: false, model_max_length: context, chat_template: CHAT_TEMPLATE,
    },
    'training.json': record,
  };
  mkdirSync(folder, {recursive: true});
  for (const [name, content] of Object.entries(json)) writeFileSync(path.join(folder, name), `${JSON.stringify(content, undefined, 2)}\n`);
  writeFileSync(path.join(folder, 'model.onnx'), onnxModel(trained));
}
