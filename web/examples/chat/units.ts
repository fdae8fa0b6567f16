/** Numbers as the page shows them. */

/** Bytes with three digits, in powers of 1000 as browsers show downloads. */
export function bytesText(bytes: number): string {
  const [unit, size] = bytes >= 1e9 ? ['GB', 1e9] : bytes >= 1e6 ? ['MB', 1e6] : ['KB', 1e3];
  const value = bytes / size;
  return `${value.toFixed(value >= 100 || unit === 'KB' ? 0 : value >= 10 ? 1 : 2)} ${unit}`;
}

/** Tokens per second. */
export function rateText(tokens: number, ms: number): string {
  const rate = (1000 * tokens) / Math.max(ms, 0.1);
  return `${rate >= 100 ? rate.toFixed(0) : rate.toFixed(1)} tokens/s`;
}
