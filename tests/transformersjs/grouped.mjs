// A language model as onnxruntime-genai's builder writes them: GroupQueryAttention, whose lengths come from the attention mask. The exporters of
// export.py make none, so its file is written here.
import {cpSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {random} from './cases.mjs';

const varint = (value) => {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    bytes.push(rest >= 128 ? (rest % 128) | 128 : rest);
    if (rest < 128) return Buffer.from(bytes);
  }
};

/** A message of [number, value]: numbers as varints, texts and bytes with their length. */
const message = (...fields) =>
  Buffer.concat(fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [varint(number * 8), varint(value)];
    const bytes = Buffer.from(value);
    return [varint(number * 8 + 2), varint(bytes.length), bytes];
  }));

const [FLOAT, INT32, INT64] = [1, 6, 7];
const attribute = ([name, value]) => message([1, name], [3, value], [20, 2]);
const node = (type, inputs, outputs, attributes = {}, domain = '') =>
  message(...inputs.map((each) => [1, each]), ...outputs.map((each) => [2, each]), [3, outputs[0]], [4, type], ...Object.entries(attributes).map((each) => [5, attribute(each)]), [7, domain]);
const port = (name, type, shape) =>
  message([1, name], [2, message([1, message([1, type], [2, message(...shape.map((extent) => [1, message([typeof extent === 'number' ? 1 : 2, extent])]))])])]);
const constant = (name, type, shape, data) => message(...shape.map((extent) => [1, extent]), [2, type], [8, name], [9, Buffer.from(data.buffer)]);

/** By the numbers of a config.json. */
function model({hidden_size: hidden, num_attention_heads: heads, num_key_value_heads: groups, num_hidden_layers: layers, vocab_size: words}) {
  const width = hidden / heads;
  const nodes = [], constants = [], inputs = [], outputs = [];
  const weight = (name, rows, columns, size) => {
    constants.push(constant(name, FLOAT, [rows, columns], random(constants.length + 1, rows * columns).map((value) => value * size)));
    return name;
  };
  const add = (type, from, to, attributes, domain) => {
    nodes.push(node(type, from, [to].flat(), attributes, domain));
    return to;
  };
  constants.push(constant('one', INT64, [1], BigInt64Array.of(1n)), constant('axis', INT64, [], BigInt64Array.of(1n)));
  add('ReduceSum', ['attention_mask', 'one'], 'counted', {keepdims: 1});
  add('Cast', [add('Sub', ['counted', 'one'], 'last64')], 'last', {to: INT32});
  add('Cast', [add('Gather', [add('Shape', ['attention_mask'], 'mask_shape'), 'axis'], 'total64', {axis: 0})], 'total', {to: INT32});
  const places = 128, half = width / 2;
  const angles = Float32Array.from({length: places * half}, (_, at) => Math.floor(at / half) / 10000 ** ((at % half) / half));
  constants.push(constant('cosines', FLOAT, [places, half], angles.map(Math.cos)), constant('sines', FLOAT, [places, half], angles.map(Math.sin)));
  let x = add('Gather', [weight('words', words, hidden, 1), 'input_ids'], 'x', {axis: 0});
  for (let at = 0; at < layers; ++at) {
    const [q, k, v] = [['q', hidden], ['k', groups * width], ['v', groups * width]].map(([name, columns]) =>
      add('MatMul', [x, weight(`${name}${at}.weight`, hidden, columns, 0.3)], `${name}${at}`));
    const cache = ['key', 'value'];
    const [past, present] = ['past_key_values', 'present'].map((name) => cache.map((each) => `${name}.${at}.${each}`));
    const attended = [`attended${at}`, ...present];
    add('GroupQueryAttention', [q, k, v, ...past, 'last', 'total', 'cosines', 'sines'], attended, {num_heads: heads, kv_num_heads: groups, do_rotary: 1}, 'com.microsoft');
    x = add('Tanh', [add('Add', [x, add('MatMul', [attended[0], weight(`o${at}.weight`, hidden, hidden, 0.3)], `o${at}`)], `sum${at}`)], `x${at}`);
    for (const name of past) inputs.push(port(name, FLOAT, ['batch_size', groups, 'past_sequence_length', width]));
    for (const name of present) outputs.push(port(name, FLOAT, ['batch_size', groups, 'total_sequence_length', width]));
  }
  add('MatMul', [x, weight('scores.weight', hidden, words, 0.5)], 'logits');
  const graph = message(
    ...nodes.map((each) => [1, each]), [2, 'grouped'], ...constants.map((each) => [5, each]),
    [11, port('input_ids', INT64, ['batch_size', 'sequence_length'])], [11, port('attention_mask', INT64, ['batch_size', 'total_sequence_length'])],
    ...inputs.map((each) => [11, each]),
    [12, port('logits', FLOAT, ['batch_size', 'sequence_length', words])], ...outputs.map((each) => [12, each]),
  );
  return message([1, 8], [7, graph], [8, message([1, ''], [2, 17])], [8, message([1, 'com.microsoft'], [2, 1])]);
}

/** Writes the checkpoint, with the tokenizer and the configuration of the one in `llama`. */
export function writeGrouped(folder, llama) {
  cpSync(llama, folder, {recursive: true, filter: (name) => !name.endsWith('.onnx')});
  mkdirSync(path.join(folder, 'onnx'), {recursive: true});
  writeFileSync(path.join(folder, 'onnx/model.onnx'), model(JSON.parse(readFileSync(path.join(llama, 'config.json'), 'utf8'))));
}
