/** How likely a model found tokens. */

export interface TokenLogprob {
  readonly id: number;
  /** Natural logarithm of the probability that the model gives it, before temperature, filters and penalties. */
  readonly logprob: number;
}

/** Of the token that was chosen. */
export interface TokenLogprobs extends TokenLogprob {
  /** The likeliest tokens in its place, the likeliest first; of two as likely, the smaller one first. */
  readonly top: readonly TokenLogprob[];
}

/** `logits`: of all words, for the place of the token. */
export function logprobsOf(logits: ArrayLike<number>, id: number, count: number): TokenLogprobs {
  const values = Array.from(logits);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const whole = most + Math.log(values.reduce((sum, each) => sum + Math.exp(each - most), 0));
  const top: {id: number; logprob: number}[] = [];
  values.forEach((value, word) => {
    const logprob = value - whole;
    if (top.length === count && !(logprob > (top.at(-1)?.logprob ?? Infinity))) return;
    const place = top.findIndex((each) => logprob > each.logprob);
    top.splice(place < 0 ? top.length : place, 0, {id: word, logprob});
    top.length = Math.min(top.length, count);
  });
  return {id, logprob: (values[id] as number) - whole, top};
}
