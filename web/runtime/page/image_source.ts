/** An image as an input: a file dropped or chosen, what becomes of its bytes, and a look at what the model gets. */
import type {PortInfo, Tensor} from '../src/index.ts';
import type {DType} from '../src/values/types.ts';
import type {Dimensions} from './dimensions.ts';
import {make} from './dom.ts';
import {pixelsOf, readPicture} from './picture.ts';
import {
  defaultNormal, fit, type Fitted, type ImageAxes, imageAxes, imageTensor, type Layout, type Normal, type Picture,
} from '../src/image/preprocess.ts';

interface Preset {
  readonly text: string;
  readonly scale: string;
  readonly mean: string;
  readonly std: string;
}

const PRESETS: Readonly<Record<string, Preset>> = {
  imagenet: {
    text: 'ImageNet mean and deviation', scale: '1/255', mean: '0.485, 0.456, 0.406', std: '0.229, 0.224, 0.225',
  },
  unit: {text: '0 to 1', scale: '1/255', mean: '0', std: '1'},
  signed: {text: '−1 to 1', scale: '1/255', mean: '0.5', std: '0.5'},
  bytes: {text: '0 to 255', scale: '1', mean: '0', std: '1'},
};

/** "0.5", "1/255" or several between commas. Throws an Error that names the control. */
function numbersOf(text: string, what: string): number[] {
  return text.split(',').map((part) => {
    const [over = '', under = '1'] = part.split('/');
    const value = over.trim() === '' ? NaN : Number(over) / Number(under);
    if (!Number.isFinite(value)) throw new Error(`${what}: "${part.trim()}" is no number`);
    return value;
  });
}

/** Scale, mean and deviation, with names for usual ones. */
class NormalControls {
  readonly element: HTMLElement;
  readonly #preset = make('select', {});
  readonly #boxes = {scale: box('1'), mean: box('0'), std: box('1')};

  constructor(dtype: string, channels: number, changed: () => void) {
    for (const [value, {text}] of Object.entries(PRESETS)) {
      if (value !== 'imagenet' || channels === 3) this.#preset.append(make('option', {value}, text));
    }
    this.#preset.append(make('option', {value: ''}, 'as typed'));
    const {scale, mean} = defaultNormal(dtype, channels);
    this.#preset.value = mean.length === 3 ? 'imagenet' : scale === 1 ? 'bytes' : 'unit';
    this.#show();
    this.#preset.addEventListener('change', () => {
      this.#show();
      changed();
    });
    const row = make('div', {className: 'named'});
    for (const [name, input] of Object.entries(this.#boxes)) {
      input.addEventListener('input', () => (this.#preset.value = ''));
      row.append(make('label', {}, make('span', {}, name), input));
    }
    this.element = make('div', {}, make('label', {className: 'row'}, 'Values ', this.#preset), row);
  }

  #show(): void {
    const preset = PRESETS[this.#preset.value];
    if (preset) for (const name of ['scale', 'mean', 'std'] as const) this.#boxes[name].value = preset[name];
  }

  /** Throws an Error that names the control. */
  read(channels: number): Normal {
    const {scale, mean, std} = this.#boxes;
    const [factor = 1] = numbersOf(scale.value, 'scale');
    const normal = {scale: factor, mean: numbersOf(mean.value, 'mean'), std: numbersOf(std.value, 'std')};
    for (const name of ['mean', 'std'] as const) {
      if (![1, channels].includes(normal[name].length)) {
        throw new Error(`${name}: ${normal[name].length} values, the image has ${channels} channels`);
      }
    }
    if (normal.std.includes(0)) throw new Error('std: 0 divides by nothing');
    return normal;
  }
}

const box = (value: string): HTMLInputElement => make('input', {type: 'text', value, size: 18, spellcheck: false});

/** Until an image comes: something with edges and colours. */
function placeholder(width: number, height: number): Picture {
  const canvas = make('canvas', {width, height});
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (context) {
    const gradient = context.createLinearGradient(0, 0, width, height);
    gradient.addColorStop(0, '#e07a3f');
    gradient.addColorStop(1, '#2d6cb5');
    context.fillStyle = gradient;
    context.fillRect(0, 0, width, height);
    context.fillStyle = '#f4f1e8';
    context.beginPath();
    context.arc(width / 2, height / 2, Math.min(width, height) / 4, 0, 7);
    context.fill();
  }
  return pixelsOf(canvas);
}

function paint(canvas: HTMLCanvasElement, {width, height, channels, values}: Fitted): void {
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  for (let at = 0; at < width * height; ++at) {
    const byte = (channel: number): number => values[at * channels + (channels === 1 ? 0 : channel)] ?? 0;
    image.data.set([byte(0), byte(1), byte(2), channels === 4 ? byte(3) : 255], 4 * at);
  }
  canvas.getContext('2d')?.putImageData(image, 0, 0);
}

/** Whether an image is what this input most likely takes. */
export function wantsImage({shape, dtype}: PortInfo): boolean {
  const axes = shape.length === 4 && ['f32', 'f16', 'u8'].includes(dtype) ? imageAxes(shape, dtype) : undefined;
  const [height = 0, width = 0] = axes ? shape.slice(axes.rowAxis) : [];
  return axes !== undefined && height !== 1 && width !== 1;
}

export class ImageSource {
  readonly element: HTMLElement;
  readonly #port: PortInfo;
  readonly #dims: Dimensions;
  readonly #canvas = make('canvas', {});
  readonly #normal: NormalControls;
  readonly #layout = make('select', {});
  readonly #said = make('p', {className: 'hint'});
  #picture: Picture | undefined;

  constructor(port: PortInfo, axes: ImageAxes, dims: Dimensions) {
    this.#port = port;
    this.#dims = dims;
    this.#canvas.setAttribute('role', 'img');
    this.#canvas.setAttribute('aria-label', `The image that goes into ${port.name}`);
    const picker = make('input', {type: 'file', accept: 'image/*'});
    picker.setAttribute('aria-label', `Image for ${port.name}`);
    picker.addEventListener('change', () => {
      const [file] = picker.files ?? [];
      if (file) this.element.dispatchEvent(new CustomEvent('files', {bubbles: true, detail: [file]}));
    });
    this.#normal = new NormalControls(port.dtype, axes.channels, () => this.#show());
    for (const layout of ['nchw', 'nhwc'] as const) {
      if (imageAxes(port.shape, port.dtype, layout)) this.#layout.append(make('option', {value: layout}, layout));
    }
    this.#layout.value = axes.channelAxis < axes.rowAxis ? 'nchw' : 'nhwc';
    this.#layout.addEventListener('change', () => this.#show());
    const layouts = make('label', {className: 'row'}, 'Axes ', this.#layout);
    layouts.hidden = this.#layout.length < 2;
    this.element = make(
      'div',
      {},
      make('div', {className: 'drop'}, this.#canvas, make('span', {}, 'Drop an image here or choose one'), picker),
      this.#said,
      this.#normal.element,
      layouts,
    );
    dims.onChange(() => this.#show());
    this.#show();
  }

  /** Throws an Error where the file is no image. */
  async take(file: File): Promise<void> {
    try {
      this.#picture = await readPicture(file);
    } catch (problem) {
      throw new Error(`${file.name} is no image that this browser reads`, {cause: problem});
    }
    const {width, height} = this.#picture;
    const own: number[] = [];
    const {rowAxis} = this.#axes();
    own[rowAxis] = height;
    own[rowAxis + 1] = width;
    this.#dims.learn(this.#port, own);
    this.#said.textContent = `${file.name}, ${width} × ${height}: the shorter side fits, the middle is cut out`;
    this.#show();
  }

  #axes(): ImageAxes {
    const {shape, dtype} = this.#port;
    return imageAxes(shape, dtype, (this.#layout.value || undefined) as Layout | undefined) as ImageAxes;
  }

  #fitted(): Fitted {
    const {channels, rowAxis} = this.#axes();
    const [height = 1, width = 1] = this.#dims.resolve(this.#port.shape).slice(rowAxis);
    if (height * width === 0) return {height, width, channels, values: new Float64Array()};
    return fit(this.#picture ?? placeholder(width, height), channels, height, width);
  }

  #show(): void {
    try {
      const fitted = this.#fitted();
      if (fitted.values.length > 0) paint(this.#canvas, fitted);
    } catch {
      // A dimension that is half typed; reading says so.
    }
  }

  /** Throws an Error where a control holds nothing sensible. */
  read(): Tensor {
    const axes = this.#axes();
    const {shape, dtype} = this.#port;
    return imageTensor(this.#fitted(), axes, shape.length, dtype as DType, this.#normal.read(axes.channels));
  }
}
