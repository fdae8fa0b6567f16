/** Which token comes next. */

export interface Sampling {
  /** Divides the logits; 0: the likeliest token. */
  readonly temperature: number;
  /** Of the likeliest tokens those that have this share together; 0 or 1: all. */
  readonly topP: number;
}

/** `random` is in [0, 1). */
export function sample(logits: Float32Array, {temperature, topP}: Sampling, random: number): number {
  let best = 0;
  for (let token = 1; token < logits.length; ++token) if ((logits[token] as number) > (logits[best] as number)) best = token;
  if (temperature === 0) return best;
  const most = logits[best] as number;
  const weights = Array.from(logits, (logit) => Math.exp((logit - most) / temperature));
  let total = weights.reduce((sum, each) => sum + each, 0);
  const order = weights.map((_, token) => token).sort((a, b) => (weights[b] as number) - (weights[a] as number));
  let kept = order.length;
  if (topP > 0 && topP < 1) {
    let sum = 0;
    kept = order.findIndex((token) => (sum += weights[token] as number) >= topP * total) + 1 || order.length;
    total = order.slice(0, kept).reduce((all, token) => all + (weights[token] as number), 0);
  }
  let left = random * total;
  for (const token of order.slice(0, kept)) {
    left -= weights[token] as number;
    if (left < 0) return token;
  }
  return order[kept - 1] as number;
}
