import assert from 'node:assert/strict';
import {test} from 'node:test';

import {tokens} from '../../../tests/llm/tiny_model.mjs';
import {StopStrings} from '../src/stop.ts';
import {Tokenizer} from '../src/tokenizer.ts';
import {tokenizer} from './scripted.ts';

let state = 1;
const below = (end: number): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % end;

test('text of tokens one by one is that of all tokens; no piece has half a character', () => {
  for (let round = 0; round < 300; ++round) {
    const text = Array.from({length: 1 + below(12)}, () => ['the', ' world', 'é', '語', '🦎', '\u{10FFFF}', '\n', '👩‍👩‍👧', '<|im_start|>', '\uFEFF'][below(10)]).join('');
    const stream = tokenizer.stream();
    const pieces = [...tokenizer.encode(text).map((id) => stream.push(id)), stream.end()];
    for (const piece of pieces) assert.doesNotMatch(piece, /\uFFFD/);
    assert.equal(pieces.join(''), text.replaceAll('<|im_start|>', ''));
  }
});

test('invalid UTF-8 is one U+FFFD as soon as that is certain', () => {
  const stream = tokenizer.stream();
  assert.deepEqual([0xe8, 0xaa].map((id) => stream.push(id)), ['', '']);
  assert.equal(stream.push(0x61), '\uFFFDa'); // the letter a
  assert.equal(stream.push(0xff), '\uFFFD');
  assert.equal(stream.push(0xf0), '');
  assert.equal(stream.end(), '\uFFFD');
  for (let round = 0; round < 200; ++round) {
    const some = Array.from({length: 20}, () => below(256));
    assert.equal(tokenizer.decode(some), new TextDecoder('utf-8', {ignoreBOM: true}).decode(Uint8Array.from(some)));
  }
});

/** As Llama 2 and Gemma have it. */
function withByteFallback(): Tokenizer {
  const words = ['<unk>', '<s>', '</s>', ...Array.from({length: 256}, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`), '▁', 'a', 'b', '▁a', 'ab', '▁ab', '▁▁'];
  return new Tokenizer({
    added_tokens: words.slice(0, 3).map((content, id) => ({id, content, special: true, normalized: false, single_word: false, lstrip: false, rstrip: false})),
    normalizer: {type: 'Sequence', normalizers: [{type: 'Prepend', prepend: '▁'}, {type: 'Replace', pattern: {String: ' '}, content: '▁'}]},
    pre_tokenizer: null,
    post_processor: null,
    decoder: {type: 'Sequence', decoders: [{type: 'Replace', pattern: {String: '▁'}, content: ' '}, {type: 'ByteFallback'}, {type: 'Fuse'}, {type: 'Strip', content: ' ', start: 1, stop: 0}]},
    model: {type: 'BPE', unk_token: '<unk>', fuse_unk: true, byte_fallback: true, vocab: Object.fromEntries(words.map((word, id) => [word, id])), merges: ['▁ a', 'a b', '▁a b', '▁ ▁']},
  }, {});
}

test('byte fallback: spaces at the beginning, bytes of characters', () => {
  const own = withByteFallback();
  const letters = ['a', 'b', ' ', '語', '🦎', 'é', '\n', '<s>'];
  for (let round = 0; round < 300; ++round) {
    const text = Array.from({length: 1 + below(10)}, () => letters[below(letters.length)]).join('');
    const ids = own.encode(text);
    const shown = ids.filter((id) => id > 2);
    const stream = own.stream();
    const pieces = [...ids.map((id) => stream.push(id)), stream.end()];
    for (const piece of pieces) assert.doesNotMatch(piece, /\uFFFD/);
    assert.equal(pieces.join(''), own.joined(shown), JSON.stringify(text));
  }
  assert.equal(own.decode([3 + 0x20, 3 + 0x61]), 'a');
});

test('a token that is not in the tokenizer, special tokens, and marks of tools', () => {
  assert.equal(tokenizer.decode([0x61, 9999, tokens['<|im_end|>'] as number, tokens['<tool_call>'] as number]), 'a<tool_call>');
  assert.deepEqual(tokenizer.encode(''), [tokens['<|begin|>']]);
  assert.deepEqual(tokenizer.encode('', {special: false}), []);
  assert.equal(tokenizer.decode([]), '');
});

test('stop strings are found wherever the text is divided', () => {
  const text = 'aabaabcaabaa';
  for (const stops of [['abc'], ['aab', 'b'], ['caa', 'abca'], ['x'], ['aabaabcaabaa!']]) {
    const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
    const wanted = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text;
    for (let cut = 0; cut < 2 ** (text.length - 1); cut += 7) {
      const filter = new StopStrings(stops);
      let [said, stopped] = ['', false];
      let piece = '';
      for (let at = 0; at < text.length && !stopped; ++at) {
        piece += text[at];
        if (at + 1 < text.length && !((cut >> at) & 1)) continue;
        const pushed = filter.push(piece);
        [said, stopped, piece] = [said + pushed.text, pushed.stopped, ''];
      }
      assert.equal(said + (stopped ? '' : filter.end()), wanted, `${stops.join()} ${cut}`);
    }
  }
});
