/** What a model gave: classes, pictures, numbers, and files to keep. */
import type {Output, TensorData} from '../src/index.ts';
import {make} from './dom.ts';
import {writeNpy} from './npy.ts';

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

/** The likeliest classes of scores, each with its share. */
export function bars(values: readonly number[], labels: readonly string[]): HTMLElement[] {
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
  let [low, high] = [0, 0];
  for (const value of values) {
    low = Math.min(low, Number(value));
    high = Math.max(high, Number(value));
  }
  // 0 to 1, 0 to 255, or anything else from its least to its greatest.
  const plain = low > -0.1 && high < 300;
  const scale = plain ? (high > 2 ? 1 : 255) : 255 / (high - low);
  const begin = plain ? 0 : low;
  for (let at = 0; at < width * height; ++at) {
    for (let channel = 0; channel < 3; ++channel) {
      const plane = planes === 3 ? channel : 0;
      image.data[4 * at + channel] = (Number(values[plane * width * height + at]) - begin) * scale;
    }
    image.data[4 * at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return make('div', {className: 'drop'}, canvas);
}

/** Hands the browser a file to save. */
export function download(name: string, bytes: Uint8Array | string): void {
  const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>]));
  const link = make('a', {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Strings in lists, one level an axis. */
function nested(texts: readonly string[], shape: readonly number[]): unknown {
  const [extent, ...rest] = shape;
  if (extent === undefined) return texts[0];
  const size = rest.reduce((all, each) => all * each, 1);
  return Array.from({length: extent}, (_, at) => nested(texts.slice(at * size, (at + 1) * size), rest));
}

/** Saves under the name that `gossamer run --save` would give. */
function saveButton(name: string, ending: string, content: () => Uint8Array | string): HTMLElement {
  const file = `${name.replaceAll('/', '_')}${ending}`;
  const button = make('button', {type: 'button', className: 'quiet small'}, `Download ${file}`);
  button.addEventListener('click', () => download(file, content()));
  return button;
}

async function showTensor(output: Output, labels: readonly string[]): Promise<HTMLElement> {
  const {name, dtype, shape} = output;
  const type = make('div', {className: 'port'}, `${dtype} [${shape.join(', ')}]`);
  const field = make('fieldset', {}, make('legend', {}, name), type);
  if (dtype === 'string') {
    const texts = await output.data<string[]>();
    field.append(make('pre', {}, texts.slice(0, 100).join('\n') + (texts.length > 100 ? '\n…' : '')));
    field.append(saveButton(name, '.json', () => JSON.stringify(nested(texts, shape))));
    return field;
  }
  const values = await output.data();
  if (isScores(output)) field.append(...bars(Array.from(values, Number), labels));
  const drawn = picture(output, values);
  if (drawn) field.append(drawn);
  field.append(numbers(values), saveButton(name, '.npy', () => writeNpy({data: values, shape, dtype})));
  return field;
}

/** What a model gave under a name: a tensor, a list of them, or nothing. */
export async function showOutput(
  name: string,
  output: Output | readonly Output[] | undefined,
  labels: readonly string[],
): Promise<HTMLElement> {
  if (output !== undefined && 'data' in output) return showTensor(output, labels);
  const parts = await Promise.all((output ?? []).map((part) => showTensor(part, labels)));
  const type = output ? `sequence of ${output.length}` : 'optional, holds nothing';
  const field = make('fieldset', {}, make('legend', {}, name), make('div', {className: 'port'}, type), ...parts);
  field.classList.toggle('list', parts.length > 0);
  return field;
}

/** All results of a run, in the place of earlier ones. */
export async function showOutputs(
  place: HTMLElement,
  results: Readonly<Record<string, Output | readonly Output[] | undefined>>,
  labels: readonly string[],
): Promise<void> {
  const shown = Object.entries(results).map(([name, output]) => showOutput(name, output, labels));
  place.replaceChildren(...(await Promise.all(shown)));
}
