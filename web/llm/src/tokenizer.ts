/** Text and tokens of a model, by tokenizer.json. */
import {Tokenizer as Library} from '@huggingface/tokenizers';

interface Decoder {
  readonly type?: string;
  readonly pattern?: {readonly String?: string};
  readonly content?: string;
  readonly stop?: number;
  readonly replacement?: string;
}

/** The parts of tokenizer.json that are read here. */
interface TokenizerFile {
  readonly added_tokens?: readonly {readonly id: number; readonly content: string; readonly special?: boolean}[];
  readonly decoder?: (Decoder & {readonly decoders?: readonly Decoder[]}) | null;
}

/** What tokens have in place of spaces. */
const SPACE = '\u2581';

/** Whether a decoder does nothing to tokens within a text but put spaces. */
const putsSpaces = ({type, pattern, content, stop = 0, replacement = SPACE}: Decoder): boolean =>
  type === 'ByteFallback' || type === 'Fuse' || (type === 'Strip' && stop === 0) || (type === 'Metaspace' && replacement === SPACE) || (type === 'Replace' && pattern?.String === SPACE && content === ' ');

/** Special tokens that are part of the text: markup that readers of the text parse. */
const SHOWN = /^<\/?(tool_call|think|tool_response)>$/;
const BYTE = /^<0x([0-9A-Fa-f]{2})>$/;

/** The characters by which byte-level tokenizers write bytes: GPT-2's bytes_to_unicode(). */
function byteOfCharacter(): Map<string, number> {
  const isShown = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let other = 256;
  return new Map(Array.from({length: 256}, (_, byte) => [String.fromCharCode(isShown(byte) ? byte : other++), byte]));
}

const encoder = new TextEncoder();

export class Tokenizer {
  readonly #library: Library;
  readonly #hidden: ReadonlySet<number>;
  readonly #isByteLevel: boolean;
  readonly #hasByteTokens: boolean;
  readonly #isSpaced: boolean;
  /** Whether the first token of a text loses the space that it begins with; undefined: not known yet. */
  #losesSpace: boolean | undefined;
  readonly #bytes = new Map<number, Uint8Array>();
  readonly #byteOf = byteOfCharacter();

  /** Of tokenizer.json and tokenizer_config.json. Throws for a kind of tokenizer that the library does not know. */
  constructor(file: object, config: object) {
    const {added_tokens: added = [], decoder} = file as TokenizerFile;
    // Fields that may be missing in files, of which the library wants all.
    const parts = {normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [], ...file};
    this.#library = new Library(parts, config);
    this.#hidden = new Set(added.filter(({special, content}) => special && !SHOWN.test(content)).map(({id}) => id));
    const decoders = decoder?.decoders ?? (decoder ? [decoder] : []);
    this.#isSpaced = decoders.length > 0 && decoders.every(putsSpaces);
    const kinds = [decoder?.type, ...(decoder?.decoders ?? []).map(({type}) => type)];
    this.#isByteLevel = kinds.includes('ByteLevel');
    this.#hasByteTokens = kinds.includes('ByteFallback');
  }

  /** Tokens of a text. `special`: with those that the model's texts begin and end with. */
  encode(text: string, {special = true} = {}): number[] {
    return text === '' && !special ? [] : this.#library.encode(text, {add_special_tokens: special}).ids;
  }

  /** The text of tokens, without special ones. */
  decode(ids: Iterable<number>): string {
    const stream = this.stream();
    let text = '';
    for (const id of ids) text += stream.push(id);
    return text + stream.end();
  }

  idOf(token: string): number | undefined {
    return this.#library.token_to_id(token);
  }

  /** For tokens that arrive one by one. */
  stream(): Detokenizer {
    return new Detokenizer(this);
  }

  /** @internal The bytes of a token, where it has any that may be a part of a character; undefined: it is text. */
  bytesOf(id: number): Uint8Array | undefined {
    if (!this.#isByteLevel && !this.#hasByteTokens) return undefined;
    const known = this.#bytes.get(id);
    if (known) return known;
    const token = this.#library.id_to_token(id) ?? '';
    const byte = BYTE.exec(token)?.[1];
    if (!this.#isByteLevel && byte === undefined) return undefined;
    const codes = this.#isByteLevel ? [...token].map((each) => this.#byteOf.get(each)) : [parseInt(byte as string, 16)];
    // An added token of other characters is written as it is.
    const bytes = codes.includes(undefined) ? encoder.encode(token) : Uint8Array.from(codes as number[]);
    this.#bytes.set(id, bytes);
    return bytes;
  }

  /** @internal A token by itself, as it is after another one. Invalid UTF-8 is U+FFFD in its text. */
  pieceOf(id: number): {text: string; bytes: Uint8Array} {
    const own = this.bytesOf(id);
    if (own) return {text: new TextDecoder().decode(own), bytes: own};
    // The library takes 30 us for two tokens, too long for a whole vocabulary.
    const text = this.#isSpaced ? this.#spaced(id) : this.joined([id, id]).slice(this.joined([id]).length);
    return {text, bytes: encoder.encode(text)};
  }

  #spaced(id: number): string {
    return (this.#library.id_to_token(id) ?? '').replaceAll(SPACE, ' ');
  }

  /** @internal The bytes of a token that is the first of a text. */
  firstBytesOf(id: number): Uint8Array {
    const own = this.bytesOf(id);
    if (own && own.length > 1) return own;
    if (own || !this.#isSpaced) {
      const alone = this.joined([id]);
      return own && alone !== '' ? own : encoder.encode(alone);
    }
    const text = this.#spaced(id);
    if (!text.startsWith(' ')) return encoder.encode(text);
    this.#losesSpace ??= !this.joined([id]).startsWith(' ');
    return encoder.encode(this.#losesSpace ? text.slice(1) : text);
  }

  /** @internal Whether a token is part of the text. */
  isShown(id: number): boolean {
    return !this.#hidden.has(id) && this.#library.id_to_token(id) !== undefined;
  }

  /** @internal The text of a few tokens by the file's decoder. */
  joined(ids: number[]): string {
    return ids.length === 0 ? '' : this.#library.decode(ids, {skip_special_tokens: false, clean_up_tokenization_spaces: false});
  }
}

/** Tokens that arrive one by one, as text. Never gives a part of a character. */
export class Detokenizer {
  readonly #tokenizer: Tokenizer;
  // Also holds the bytes of a character that is not whole.
  readonly #decoder = new TextDecoder('utf-8', {ignoreBOM: true});
  /** The last token, which decides how the next one begins: with a space, say. */
  #last: number | undefined;
  #lastText = '';

  /** @internal Use Tokenizer.stream(). */
  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** The text that is certain after this token and was not before. */
  push(id: number): string {
    if (!this.#tokenizer.isShown(id)) return '';
    const bytes = this.#tokenizer.bytesOf(id);
    const isFirst = this.#last === undefined;
    if (bytes) {
      this.#last = id;
      this.#lastText = '';
      // Decoders that strip a space at the beginning of a text do so where it is a byte, too.
      return isFirst && bytes.length === 1 && this.#tokenizer.joined([id]) === '' ? '' : this.#decoder.decode(bytes, {stream: true});
    }
    const before = this.end();
    const context = isFirst ? '' : this.#lastText || this.#tokenizer.joined([this.#last as number]);
    const text = this.#tokenizer.joined(isFirst ? [id] : [this.#last as number, id]);
    this.#last = id;
    this.#lastText = this.#tokenizer.joined([id]);
    return before + text.slice(context.length);
  }

  /** The rest of the text. Invalid UTF-8 is U+FFFD. */
  end(): string {
    return this.#decoder.decode();
  }
}
