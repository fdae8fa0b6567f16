/** Numbers for people. */
const PREFIXES = ['', 'K', 'M', 'G', 'T'];

function scaled(value: number, unit: string): string {
  let at = 0;
  let rest = value;
  while (rest >= 999.5 && at < PREFIXES.length - 1) {
    rest /= 1000;
    at += 1;
  }
  const digits = at === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${rest.toFixed(digits)} ${PREFIXES[at]}${unit}`.trim();
}

const unless = (value: number | undefined, say: (known: number) => string): string => (value === undefined || !Number.isFinite(value) ? 'not known' : say(value));

export const bytesText = (value: number | undefined): string => unless(value, (known) => scaled(known, 'B'));
export const countText = (value: number | undefined): string => unless(value, (known) => scaled(known, ''));
export const opsText = (value: number | undefined): string => unless(value, (known) => `${scaled(known, '')} op`.replace(/ ([KMGT]) op$/, ' $1op'));
export const msText = (value: number | undefined): string =>
  unless(value, (known) => (known < 0.9995 ? `${(1000 * known).toFixed(known < 0.01 ? 1 : 0)} µs` : known < 99.95 ? `${known.toFixed(2)} ms` : `${known.toFixed(0)} ms`));
export const percentText = (share: number): string => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
/** A weight's element. */
export const numberText = (value: number | undefined): string => unless(value, (known) => Number(known.toPrecision(4)).toString());
export const plural = (count: number, one: string, many = `${one}s`): string => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
