// Trains a byte-level BPE tokenizer, and writes it as tokenizer.json.

export const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];

/** In the manner of ChatML, with a token that divides conversations. */
export const CHAT_TEMPLATE = `{{- bos_token }}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}`;

/** GPT-2's bytes_to_unicode(): a character for each byte. */
function byteCharacters() {
  const isShown = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let other = 256;
  return Array.from({length: 256}, (_, byte) => String.fromCharCode(isShown(byte) ? byte : other++));
}

const CHARACTERS = byteCharacters();
/** GPT-2's pieces, after digits were split off (`Digits` of tokenizer.json). */
const PIECES = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** Words as characters of bytes. */
function* words(text) {
  for (const [part] of text.matchAll(/\p{N}|\P{N}+/gu)) {
    for (const [piece] of part.matchAll(PIECES)) yield [...new TextEncoder().encode(piece)].map((byte) => CHARACTERS[byte]);
  }
}

/** Joins this pair wherever it is. */
function joined(parts, left, right) {
  const made = [];
  for (let at = 0; at < parts.length; ++at) {
    const isPair = parts[at] === left && parts[at + 1] === right;
    made.push(isPair ? left + right : parts[at]);
    if (isPair) at += 1;
  }
  return made;
}

export class BytePairs {
  /** Pairs in the order in which they were joined. */
  #merges;
  #ranks;
  #ids;
  #kept = new Map();

  constructor(merges) {
    this.#merges = merges;
    this.#ranks = new Map(merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
    const all = [...CHARACTERS, ...merges.map((pair) => pair.join(''))];
    this.#ids = new Map([...SPECIAL, ...all].map((each, id) => [each, id]));
  }

  get size() {
    return this.#ids.size;
  }

  /** Joins the most frequent pair until there are `size` tokens, special ones included. */
  static train(texts, size) {
    const counts = new Map();
    for (const text of texts) for (const word of words(text)) counts.set(word.join(' '), (counts.get(word.join(' ')) ?? 0) + 1);
    let all = [...counts].map(([word, count]) => ({parts: word.split(' '), count}));
    const merges = [];
    while (merges.length < size - 256 - SPECIAL.length) {
      const pairs = new Map();
      for (const {parts, count} of all) for (let at = 0; at + 1 < parts.length; ++at) pairs.set(`${parts[at]} ${parts[at + 1]}`, (pairs.get(`${parts[at]} ${parts[at + 1]}`) ?? 0) + count);
      const [best, count] = [...pairs].reduce((most, each) => (each[1] > most[1] || (each[1] === most[1] && each[0] < most[0]) ? each : most), ['', 0]);
      if (count < 2) break;
      const [left, right] = best.split(' ');
      merges.push([left, right]);
      all = all.map((each) => ({...each, parts: joined(each.parts, left, right)}));
    }
    return new BytePairs(merges);
  }

  idOf(token) {
    return this.#ids.get(token);
  }

  #word(parts) {
    for (;;) {
      let best = Infinity;
      for (let at = 0; at + 1 < parts.length; ++at) best = Math.min(best, this.#ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity);
      if (best === Infinity) return parts.map((part) => this.#ids.get(part));
      parts = joined(parts, ...this.#merges[best]);
    }
  }

  /** Tokens of a text without special tokens. */
  encode(text) {
    const made = [];
    for (const word of words(text)) {
      const key = word.join(' ');
      let ids = this.#kept.get(key);
      if (!ids) this.#kept.set(key, (ids = this.#word(word)));
      made.push(...ids);
    }
    return made;
  }

  /** tokenizer.json. */
  file() {
    const added = SPECIAL.map((content, id) => ({id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true}));
    return {
      version: '1.0', truncation: null, padding: null, added_tokens: added, normalizer: null,
      pre_tokenizer: {type: 'Sequence', pretokenizers: [{type: 'Digits', individual_digits: true}, {type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true}]},
      post_processor: null,
      decoder: {type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true},
      model: {
        type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false,
        vocab: Object.fromEntries(this.#ids), merges: this.#merges.map((pair) => pair.join(' ')),
      },
    };
  }
}
