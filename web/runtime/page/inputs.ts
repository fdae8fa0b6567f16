/** A form for each input: a dropped image where the shape is that of one, values otherwise. */
import {
  type DType,
  type Model,
  type PortInfo,
  type StringTensor,
  tensor,
  type Tensor,
} from '../src/index.ts';
import {arrayOf} from '../src/tensor.ts';
import {make} from './dom.ts';

export interface InputForm {
  readonly name: string;
  read(): Tensor | StringTensor;
}

type NumberPort = PortInfo & {readonly dtype: DType};
const isNumbers = (port: PortInfo): port is NumberPort => port.dtype !== 'string';

/** Where the channels of an image input are, and how many. */
interface ImageShape {
  readonly channels: 1 | 3;
  readonly channelsFirst: boolean;
}

function imageShape({shape, dtype}: PortInfo): ImageShape | undefined {
  if (shape.length !== 4 || !['f32', 'f16', 'u8'].includes(dtype)) return undefined;
  for (const channels of [3, 1] as const) {
    if (shape[1] === channels && shape[2] !== 1) return {channels, channelsFirst: true};
    if (shape[3] === channels && shape[2] !== 1) return {channels, channelsFirst: false};
  }
  return undefined;
}

type Scale = 'unit' | 'imagenet' | 'signed' | 'bytes';

const SCALES: readonly (readonly [Scale, string])[] = [
  ['unit', '0 to 1'],
  ['imagenet', 'ImageNet mean and deviation'],
  ['signed', '−1 to 1'],
  ['bytes', '0 to 255'],
];
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];

function scaled(byte: number, channel: number, scale: Scale): number {
  switch (scale) {
    case 'unit':
      return byte / 255;
    case 'imagenet':
      return (byte / 255 - (MEAN[channel] ?? 0)) / (DEVIATION[channel] ?? 1);
    case 'signed':
      return byte / 127.5 - 1;
    case 'bytes':
      return byte;
  }
}

/** The canvas's pixels as a tensor of the input's layout. */
function pixels(canvas: HTMLCanvasElement, image: ImageShape, scale: Scale, dtype: DType): Tensor {
  const {width, height} = canvas;
  const {channels, channelsFirst} = image;
  const data = canvas.getContext('2d')?.getImageData(0, 0, width, height).data;
  const values = arrayOf(dtype, channels * width * height);
  for (let at = 0; at < width * height; ++at) {
    for (let channel = 0; channel < channels; ++channel) {
      const byte = (sample: number): number => data?.[4 * at + sample] ?? 0;
      const grey = 0.299 * byte(0) + 0.587 * byte(1) + 0.114 * byte(2);
      const index = channelsFirst ? channel * width * height + at : at * channels + channel;
      values[index] = scaled(channels === 1 ? grey : byte(channel), channel, scale);
    }
  }
  const shape = channelsFirst ? [1, channels, height, width] : [1, height, width, channels];
  return tensor(values, shape, dtype);
}

/** A number box for each named dimension, shared by all inputs that have it. */
export class Dimensions {
  readonly #boxes = new Map<string, HTMLInputElement>();
  constructor(model: Model, place: HTMLElement) {
    const names = new Set(model.inputs.flatMap(({shape}) => shape.filter(isName)));
    for (const name of names) {
      const box = make('input', {type: 'number', min: '1', value: isSpatial(model, name) ? '256' : '1'});
      place.append(make('label', {className: 'row'}, `${name} `, box));
      this.#boxes.set(name, box);
    }
  }
  value(extent: number | string): number {
    return typeof extent === 'number' ? extent : Number(this.#boxes.get(extent)?.value ?? 1);
  }
  onChange(act: () => void): void {
    this.#boxes.forEach((box) => box.addEventListener('change', act));
  }
}

const isName = (extent: number | string): extent is string => typeof extent === 'string';

const isSpatial = (model: Model, name: string): boolean =>
  model.inputs.some((port) => imageShape(port) && port.shape.indexOf(name) > 0);

function imageForm(port: NumberPort, image: ImageShape, dims: Dimensions): [HTMLElement, InputForm] {
  const canvas = make('canvas', {});
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `The image that goes into ${port.name}`);
  const picker = make('input', {type: 'file', accept: 'image/*'});
  picker.setAttribute('aria-label', `Image for ${port.name}`);
  const scale = make('select', {});
  for (const [value, text] of SCALES) scale.append(make('option', {value}, text));
  scale.value = image.channels === 3 ? 'imagenet' : 'unit';
  const drop = make('div', {className: 'drop'}, canvas, 'Drop an image here or choose one', picker);
  let source: ImageBitmap | undefined;

  const paint = (): void => {
    const [height, width] = image.channelsFirst ? [2, 3] : [1, 2];
    canvas.width = dims.value(port.shape[width] ?? 1);
    canvas.height = dims.value(port.shape[height] ?? 1);
    const context = canvas.getContext('2d', {willReadFrequently: true});
    if (!context) return;
    if (source) {
      context.drawImage(source, 0, 0, canvas.width, canvas.height);
      return;
    }
    // Until an image comes: something with edges and colours.
    const gradient = context.createLinearGradient(0, 0, canvas.width, canvas.height);
    gradient.addColorStop(0, '#e07a3f');
    gradient.addColorStop(1, '#2d6cb5');
    context.fillStyle = gradient;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = '#f4f1e8';
    context.beginPath();
    context.arc(canvas.width / 2, canvas.height / 2, canvas.width / 4, 0, 7);
    context.fill();
  };
  const take = async (file: Blob | undefined): Promise<void> => {
    if (!file) return;
    source = await createImageBitmap(file);
    paint();
    drop.dispatchEvent(new Event('ready', {bubbles: true}));
  };
  picker.addEventListener('change', () => void take(picker.files?.[0]));
  drop.addEventListener('dragover', (event) => {
    event.preventDefault();
    drop.classList.add('over');
  });
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    void take(event.dataTransfer?.files[0]);
  });
  dims.onChange(paint);
  paint();
  const body = make('div', {}, drop, make('label', {className: 'row'}, 'Values ', scale));
  const read = (): Tensor => pixels(canvas, image, scale.value as Scale, port.dtype);
  return [body, {name: port.name, read}];
}

/** One string a line, as many as there is room for. */
function textForm(port: PortInfo, dims: Dimensions): [HTMLElement, InputForm] {
  const lines = make('textarea', {rows: 3, value: 'text'});
  const read = (): StringTensor => {
    const shape = port.shape.map((extent) => dims.value(extent));
    const texts = lines.value.split('\n');
    const count = shape.reduce((all, extent) => all * extent, 1);
    return tensor(Array.from({length: count}, (_, at) => texts[at] ?? ''), shape, 'string');
  };
  return [make('label', {className: 'row'}, 'One text a line ', lines), {name: port.name, read}];
}

function valuesForm(port: NumberPort, dims: Dimensions): [HTMLElement, InputForm] {
  const kind = make('select', {});
  const whole = !['f32', 'f16', 'bf16', 'f64'].includes(port.dtype);
  const kinds = whole ? ['zeros', 'ones', '0, 1, 2, …'] : ['random, −1 to 1', 'zeros', 'ones'];
  kinds.forEach((text) => kind.append(make('option', {value: text}, text)));
  const read = (): Tensor => {
    const shape = port.shape.map((extent) => dims.value(extent));
    const count = shape.reduce((all, extent) => all * extent, 1);
    let seed = 1;
    const value = (at: number): number => {
      if (kind.value === 'zeros') return 0;
      if (kind.value === 'ones') return 1;
      if (whole) return port.dtype === 'bool' ? at % 2 : at % 100;
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; // the same values at each run
      return seed / 2 ** 31 - 1;
    };
    return tensor(Array.from({length: count}, (_, at) => value(at)), shape, port.dtype);
  };
  return [make('label', {className: 'row'}, 'Values ', kind), {name: port.name, read}];
}

export function makeForms(model: Model, place: HTMLElement): InputForm[] {
  place.replaceChildren();
  const sizes = make('div', {});
  const dims = new Dimensions(model, sizes);
  const forms = model.inputs.map((port) => {
    const image = imageShape(port);
    const [body, form] = !isNumbers(port)
      ? textForm(port, dims)
      : image
        ? imageForm(port, image, dims)
        : valuesForm(port, dims);
    place.append(
      make(
        'fieldset',
        {},
        make('legend', {}, port.name),
        make('div', {className: 'port'}, `${port.dtype} [${port.shape.join(', ')}]`),
        body,
      ),
    );
    return form;
  });
  place.append(sizes);
  return forms;
}
