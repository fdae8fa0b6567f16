// A small decoder as onnxruntime-genai's builder writes them: products of 4-bit weights, RMS norms with the sum kept, attention of grouped heads
// over caches, a gate.
import {message, node, block, integer, model, stored, tensor, value} from '../cli/models.mjs';

/** ATTRIBUTES of floats, which tests/cli/models.mjs has no other use for, and a domain. */
const contrib = (operator, inputs, outputs, integers = {}, floats = {}) =>
  message(
    [node(operator, inputs, outputs, {integers})],
    Object.entries(floats).map(([key, number]) => {
      const bytes = Buffer.alloc(5);
      bytes[0] = (2 << 3) | 5;
      bytes.writeFloatLE(number, 1);
      return block(5, message(block(1, key), bytes, integer(20, 1)));
    }),
    [block(7, 'com.microsoft')]);

/**
 * Its file, and the state that its runs keep. `outside`: writes a weight into a file of its own and returns the file's name; undefined keeps the
 * weight in the model. `window`: how many tokens attention sees; `slides`: caches hold no more. `streams`: positions in time,
 * height and width are an input, of which the first count. `mask`: the type of one that says of each token which others it sees, as exports
 * of Optimum and of torch.onnx have it; logits are then those of the last `num_logits_to_keep` tokens.
 */
export function llama({layers = 2, hidden = 256, heads = 4, groups = 2, inner = 512, words = 256, places = 128, window = -1, slides = false, streams = false, mask = undefined, outside = () => undefined}) {
  const width = hidden / heads;
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const nodes = [], weights = [], inputs = [value('input_ids', 'i64', ['b', 's']), mask ? value('attention_mask', mask, ['b', 1, 's', 't']) : value('attention_mask', 'i64', ['b', 't'])];
  const outputs = [value('logits', 'f32', ['b', 's', words])];
  const weight = (name, type, shape, data) => {
    const location = outside(name, data);
    weights.push(location ? tensor(name, type, shape, {location}) : stored({type, shape, data}, name));
    return name;
  };
  const floats = (name, shape, of) => weight(name, 'f32', shape, Float32Array.from({length: shape.reduce((a, b) => a * b)}, of));
  const add = (made, output) => (nodes.push(made), output);
  const product = (x, name, rows, columns) => {
    const blocks = rows / 32;
    const bytes = weight(`${name}.q`, 'u8', [columns, blocks, 16], Uint8Array.from({length: columns * blocks * 16}, () => 256 * random()));
    const scales = floats(`${name}.s`, [columns * blocks], () => (0.5 + random()) * 0.2 / Math.sqrt(rows));
    return add(contrib('MatMulNBits', [x, bytes, scales], [name], {K: rows, N: columns, bits: 4, block_size: 32}), name);
  };
  weight('one', 'i64', [1], BigInt64Array.of(1n));
  weight('axis', 'i64', [], BigInt64Array.of(mask ? 3n : 1n));
  add(node('Shape', ['attention_mask'], ['mask_shape']));
  add(node('Gather', ['mask_shape', 'axis'], ['total64'], {integers: {axis: 0}}));
  add(node('Cast', ['total64'], ['total'], {integers: {to: 6}}));
  let bias = '';
  if (mask) {
    add(node('Sub', ['total64', 'one'], ['last64']));
    add(node('Cast', ['last64'], ['last'], {integers: {to: 6}})); // one text
    floats('seen', [1], () => 0);
    floats('hidden', [1], () => -1e4);
    bias = mask === 'bool' ? add(node('Where', ['attention_mask', 'seen', 'hidden'], ['bias']), 'bias') : 'attention_mask';
  } else {
    add(node('ReduceSum', ['attention_mask', 'one'], ['counted'], {integers: {keepdims: 1}}));
    add(node('Sub', ['counted', 'one'], ['last64']));
    add(node('Cast', ['last64'], ['last'], {integers: {to: 6}}));
  }
  if (streams) {
    inputs.push(value('position_ids', 'i64', [3, 'b', 's']));
    weight('first', 'i64', [], BigInt64Array.of(0n));
    add(node('Gather', ['position_ids', 'first'], ['positions'], {integers: {axis: 0}}));
  }
  const angle = (at) => Math.floor(at / (width / 2)) / 10000 ** ((at % (width / 2)) / (width / 2));
  floats('cosines', [places, width / 2], (_, at) => Math.cos(angle(at)));
  floats('sines', [places, width / 2], (_, at) => Math.sin(angle(at)));
  floats('words', [words, hidden], () => random() - 0.5);
  const gain = (name) => floats(name, [hidden], () => 0.5 + random());
  let sum = add(node('Gather', ['words', 'input_ids'], ['embedded'], {integers: {axis: 0}}), 'embedded');
  let x = add(node('SimplifiedLayerNormalization', [sum, gain('gain')], ['x']), 'x');
  const skip = (name, by) => {
    add(contrib('SkipSimplifiedLayerNormalization', [sum, by, gain(`${name}.gain`)], [`${name}.x`, '', '', `${name}.sum`], {}, {epsilon: 1e-5}));
    sum = `${name}.sum`;
    x = `${name}.x`;
  };
  const state = {};
  for (let at = 0; at < layers; ++at) {
    const parts = [['q', hidden], ['k', groups * width], ['v', groups * width]].map(([name, columns]) => product(x, `${name}${at}`, hidden, columns));
    const [past, present] = ['past', 'present'].map((name) => ['key', 'value'].map((each) => `${name}.${at}.${each}`));
    add(contrib('GroupQueryAttention', [...parts, ...past, 'last', 'total', 'cosines', 'sines', ...(streams ? ['positions'] : mask ? ['', bias] : [])], [`attended${at}`, ...present], {num_heads: heads, kv_num_heads: groups, do_rotary: 1, local_window_size: window, sliding_window_cache: Number(slides)}));
    skip(`middle${at}`, product(`attended${at}`, `o${at}`, hidden, hidden));
    const [gate, up] = ['gate', 'up'].map((name) => product(x, `${name}${at}`, hidden, inner));
    add(node('Sigmoid', [gate], [`sigmoid${at}`]));
    add(node('Mul', [gate, `sigmoid${at}`], [`silu${at}`]));
    add(node('Mul', [`silu${at}`, up], [`gated${at}`]));
    skip(`end${at}`, product(`gated${at}`, `down${at}`, inner, hidden));
    past.forEach((name, which) => {
      // The builder leaves the width open.
      inputs.push(value(name, 'f32', ['b', groups, slides ? 'past_sliding_length' : 'p', 'kv_cache_dim']));
      outputs.push(value(present[which], 'f32', ['b', groups, slides ? 'total_sliding_length' : 't', 'kv_cache_dim']));
      state[name] = present[which];
    });
  }
  if (mask) {
    inputs.push(value('num_logits_to_keep', 'i64', []));
    weight('end', 'i64', [1], BigInt64Array.of(2n ** 60n));
    add(node('Neg', ['num_logits_to_keep'], ['first_kept']));
    add(node('Reshape', ['first_kept', 'one'], ['first_kept1']));
    x = add(node('Slice', [x, 'first_kept1', 'end', 'one'], ['kept']), 'kept');
  }
  product(x, 'logits', hidden, words);
  const file = Buffer.concat([model({nodes, inputs, outputs, weights}), block(8, message(block(1, 'com.microsoft'), integer(2, 1)))]);
  return {file, state, layers};
}
