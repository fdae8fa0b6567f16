/** Models that reason write their thoughts first: `<think>...</think>`. */

export interface Parts {
  readonly thoughts: string;
  readonly answer: string;
}

/** Also of a text that is not complete yet. */
export function partsOf(text: string): Parts {
  const begin = /^\s*<think>/.exec(text);
  if (!begin) return {thoughts: '', answer: text};
  const end = text.indexOf('</think>');
  if (end < 0) return {thoughts: text.slice(begin[0].length), answer: ''};
  return {thoughts: text.slice(begin[0].length, end), answer: text.slice(end + '</think>'.length).trimStart()};
}
