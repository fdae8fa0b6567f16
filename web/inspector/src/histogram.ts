/** A weight's numbers as a picture and a line of text. */
import type {Weight} from './document.ts';
import {h, s} from './dom.ts';
import {bytesText, countText, numberText, percentText} from './units.ts';

const [WIDTH, HEIGHT] = [224, 48];

export function histogram(weight: Weight, name: string): HTMLElement {
  const {bins = [], least, most, mean, deviation, elements, seen = 0, zeros = 0, notFinite = 0} = weight;
  if (elements === undefined) return h('p', {class: 'hint'}, `${bytesText(weight.bytes)}; its numbers were not given`);
  const largest = Math.max(...bins, 1);
  const wide = WIDTH / Math.max(1, bins.length);
  const said = [
    `${numberText(least)} to ${numberText(most)}`, `mean ${numberText(mean)}`, `deviation ${numberText(deviation)}`,
    zeros > 0 ? `${percentText(zeros / seen)} zeros` : '', notFinite > 0 ? `${countText(notFinite)} not finite` : '',
    seen < elements ? `of ${countText(seen)} of ${countText(elements)} elements` : `${countText(elements)} elements`, bytesText(weight.bytes),
  ].filter((word) => word !== '').join(', ');
  const bars = bins.map((count, at) => s('rect', {x: at * wide + 0.5, y: HEIGHT - (HEIGHT * count) / largest, width: Math.max(1, wide - 1), height: (HEIGHT * count) / largest}));
  return h('figure', {class: 'histogram'},
    bins.length > 0 && s('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Histogram of ${name}: ${said}`}, ...bars),
    h('figcaption', {class: notFinite > 0 ? 'alarm' : ''}, said));
}
