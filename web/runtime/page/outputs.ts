import type {Output, Report, TensorData} from '../src/index.ts';
import {make} from './dom.ts';

const TOP = 5;

function numberText(value: number | bigint): string {
  if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(3) : value.toPrecision(5);
}

/** Scores of classes: one vector of more than one value. */
const isScores = ({shape, dtype}: Output): boolean =>
  dtype.startsWith('f') &&
  shape.reduce((all, extent) => all * extent, 1) === Math.max(...shape) &&
  Math.max(...shape) > 1 &&
  Math.max(...shape) <= 100_000;

/** Probabilities as they are, other scores through softmax. */
function probabilities(values: readonly number[]): {shares: number[]; softmax: boolean} {
  const sum = values.reduce((all, value) => all + value, 0);
  if (values.every((value) => value >= 0) && Math.abs(sum - 1) < 1e-2) {
    return {shares: [...values], softmax: false};
  }
  const top = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const powers = values.map((value) => Math.exp(value - top));
  const total = powers.reduce((all, value) => all + value, 0);
  return {shares: powers.map((value) => value / total), softmax: true};
}

function bars(values: readonly number[], labels: readonly string[]): HTMLElement[] {
  const {shares, softmax} = probabilities(values);
  const order = shares.map((_, at) => at).sort((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0));
  const list = make('ol', {className: 'bars'});
  for (const at of order.slice(0, TOP)) {
    const share = shares[at] ?? 0;
    const bar = make('div', {className: 'bar'});
    bar.style.width = `${Math.max(1, 100 * share)}%`;
    list.append(
      make(
        'li',
        {},
        make('span', {className: 'label'}, labels[at] ?? `class ${at}`),
        bar,
        make('span', {className: 'number'}, `${(100 * share).toFixed(1)} %`),
      ),
    );
  }
  return softmax ? [list, make('p', {className: 'hint'}, 'Shares are softmax of the scores.')] : [list];
}

/** Numbers of a tensor: how many, their spread, the first few. */
function numbers(values: TensorData): HTMLElement {
  let low = Infinity;
  let high = -Infinity;
  let sum = 0;
  for (const each of values) {
    const value = Number(each);
    low = Math.min(low, value);
    high = Math.max(high, value);
    sum += value;
  }
  const head = Array.from(values.slice(0, 12) as Float32Array, numberText).join(', ');
  const spread = values.length
    ? `least ${numberText(low)}, greatest ${numberText(high)}, mean ${numberText(sum / values.length)}`
    : 'empty';
  return make('pre', {}, `${spread}\n${head}${values.length > 12 ? ', …' : ''}`);
}

/** An output that is an image of one or three planes, drawn. */
function picture({shape}: Output, values: TensorData): HTMLElement | undefined {
  const [batch, planes = 0, height = 0, width = 0] = shape;
  if (shape.length !== 4 || batch !== 1 || (planes !== 1 && planes !== 3)) return undefined;
  if (height < 16 || width < 16) return undefined;
  const canvas = make('canvas', {width, height});
  const context = canvas.getContext('2d');
  if (!context) return undefined;
  const image = context.createImageData(width, height);
  let high = 0;
  for (const value of values) high = Math.max(high, Number(value));
  const scale = high > 2 ? 1 : 255;
  for (let at = 0; at < width * height; ++at) {
    for (let channel = 0; channel < 3; ++channel) {
      const plane = planes === 3 ? channel : 0;
      image.data[4 * at + channel] = Number(values[plane * width * height + at]) * scale;
    }
    image.data[4 * at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return make('div', {className: 'drop'}, canvas);
}

export async function showOutput(output: Output, labels: readonly string[]): Promise<HTMLElement> {
  const field = make(
    'fieldset',
    {},
    make('legend', {}, output.name),
    make('div', {className: 'port'}, `${output.dtype} [${output.shape.join(', ')}]`),
  );
  if (output.dtype === 'string') {
    const texts = await output.data<string[]>();
    field.append(make('pre', {}, texts.slice(0, 100).join('\n')));
    return field;
  }
  const values = await output.data();
  if (isScores(output)) field.append(...bars(Array.from(values, Number), labels));
  const drawn = picture(output, values);
  if (drawn) field.append(drawn);
  field.append(numbers(values));
  return field;
}

export function showReport(report: Report): HTMLElement {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(2)} MB`;
  const facts: [string, string][] = [
    ['Device', `${report.device} (${report.adapter})`],
    ['Threads', String(report.threads)],
    ['Loaded in', `${report.times.loadMs.toFixed(0)} ms`],
    ['Memory', `${megabytes(report.memory.persistent)} weights, ${megabytes(report.memory.transient)} for a run`],
    ...report.fallbacks.map(({what, reason}): [string, string] => [what, reason]),
  ];
  const table = make('table', {});
  for (const [what, value] of facts) {
    table.append(make('tr', {}, make('th', {scope: 'row'}, what), make('td', {}, value)));
  }
  const kernels = make('table', {});
  const cells = (tag: 'th' | 'td', texts: readonly string[]): HTMLElement =>
    make('tr', {}, ...texts.map((text) => make(tag, {}, text)));
  kernels.append(cells('th', ['', 'Kernel', 'Computes', 'Schedule', 'Runs', 'Device']));
  report.kernels.forEach(({name, origin, schedule, phase, times, device}, at) => {
    const first = phase === 'init';
    const count = first ? '' : String(times);
    kernels.append(cells('td', [first ? 'once' : String(at + 1), name, origin, schedule, count, device]));
  });
  return make('div', {className: 'scroll'}, table, kernels);
}
