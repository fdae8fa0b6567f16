/** The controls of one tensor: where its values come from, and those values. */
import {type DType, product, shapeText} from '../src/values/types.ts';
import {type PortInfo, type StringTensor, tensor, type Tensor} from '../src/index.ts';
import type {Dimensions} from './dimensions.ts';
import {make} from './dom.ts';
import {acceptDrops, Field, FieldProblem} from './field.ts';
import {ImageSource, wantsImage} from './image_source.ts';
import {imageAxes} from '../src/image/preprocess.ts';
import {readTensorFile, STRING_FILES, TENSOR_FILES} from './tensor_file.ts';
import {parseTyped} from './typed.ts';

/** What a form gives a model for an input: a tensor, or a list of them for a sequence. */
export interface InputForm<Value = Tensor | StringTensor | readonly (Tensor | StringTensor)[] | undefined> {
  readonly name: string;
  readonly element: HTMLElement;
  /** Throws a FieldProblem, after showing it. */
  read(): Value;
}

type Source = 'image' | 'random' | 'zeros' | 'ones' | 'counting' | 'typed' | 'file';

const TEXTS: Readonly<Record<Source, string>> = {
  image: 'an image', random: 'random, −1 to 1', zeros: 'zeros', ones: 'ones', counting: '0, 1, 2, …',
  typed: 'typed', file: 'a file',
};

const isFloat = (dtype: string): boolean => /^(f32|f16|bf16|f64)$/.test(dtype);

function sourcesOf({shape, dtype}: PortInfo): Source[] {
  if (dtype === 'string') return ['typed', 'file'];
  const image: Source[] = imageAxes(shape, dtype) ? ['image'] : [];
  const filled: Source[] = isFloat(dtype) ? ['random', 'zeros', 'ones'] : ['zeros', 'ones', 'counting'];
  return wantsImage({name: '', shape, dtype}) ? [...image, ...filled, 'typed', 'file'] : [...filled, 'typed', 'file', ...image];
}

function filled(source: Source, dtype: DType, shape: readonly number[]): Tensor {
  let seed = 1;
  const value = (at: number): number => {
    if (source === 'zeros' || source === 'ones') return Number(source === 'ones');
    if (source === 'counting') return dtype === 'bool' ? at % 2 : at % 100;
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; // the same values at each run
    return seed / 2 ** 31 - 1;
  };
  return tensor(Array.from({length: product(shape)}, (_, at) => value(at)), shape, dtype);
}

/** As many texts as an input takes whose open dimensions are 1. */
const textsOf = ({shape}: PortInfo): string =>
  new Array<string>(Math.min(64, product(shape.map((extent) => (typeof extent === 'string' ? 1 : extent)))))
    .fill('text')
    .join('\n');

export class TensorInput implements InputForm<Tensor | StringTensor> {
  readonly name: string;
  readonly element: HTMLElement;
  readonly #port: PortInfo;
  readonly #dims: Dimensions;
  readonly #field: Field;
  readonly #source = make('select', {});
  readonly #text: HTMLTextAreaElement;
  readonly #said = make('span', {className: 'hint'}, 'none yet');
  readonly #panels: Partial<Record<Source, HTMLElement>>;
  readonly #image: ImageSource | undefined;
  #given: Tensor | StringTensor | undefined;

  constructor(port: PortInfo, dims: Dimensions) {
    this.#port = port;
    this.#dims = dims;
    this.name = port.name;
    const strings = port.dtype === 'string';
    const sources = sourcesOf(port);
    for (const source of sources) this.#source.append(make('option', {value: source}, TEXTS[source]));
    const axes = imageAxes(port.shape, port.dtype);
    this.#image = axes && new ImageSource(port, axes, dims);
    this.#text = make('textarea', {rows: 3, spellcheck: false, value: strings ? textsOf(port) : ''});
    if (!strings) this.#text.placeholder = '1, 2.5, -3   or   [[1, 2], [3, 4]]';
    const picker = make('input', {type: 'file', accept: strings ? STRING_FILES : TENSOR_FILES});
    picker.setAttribute('aria-label', `File for ${port.name}`);
    picker.addEventListener('change', () => void this.take([...(picker.files ?? [])]));
    this.#panels = {
      typed: make('label', {className: 'column'}, strings ? 'One text a line' : 'Numbers', this.#text),
      file: make('div', {className: 'row'}, picker, this.#said),
      ...(this.#image ? {image: this.#image.element} : {}),
    };
    this.#field = new Field(
      port.name,
      `${port.dtype} [${port.shape.join(', ')}]`,
      make('label', {className: 'row'}, 'Values from ', this.#source),
      ...Object.values(this.#panels),
    );
    this.element = this.#field.element;
    this.#source.addEventListener('change', () => this.#show());
    this.element.addEventListener('files', (event) => void this.take((event as CustomEvent<File[]>).detail));
    acceptDrops(this.element, ({files}) => void this.take([...files]));
    this.#show();
  }

  #show(): void {
    for (const [source, panel] of Object.entries(this.#panels)) panel.hidden = source !== this.#source.value;
  }

  #choose(source: Source): void {
    this.#source.value = source;
    this.#show();
  }

  /** A file that was dropped or chosen: an image, or values. */
  async take([file]: readonly File[]): Promise<void> {
    if (!file) return;
    this.#field.clear();
    const image = this.#image && (/^image\//.test(file.type) || /\.(png|jpe?g|webp|gif|bmp|avif)$/i.test(file.name));
    this.#choose(image ? 'image' : 'file');
    try {
      if (image) {
        await this.#image?.take(file);
        this.element.dispatchEvent(new Event('ready', {bubbles: true}));
        return;
      }
      this.#given = undefined;
      this.#said.textContent = 'none yet';
      const given = await readTensorFile(file, this.#port, this.#shapeOr(() => []));
      this.#check(given.shape, file.name);
      this.#given = given;
      this.#dims.learn(this.#port, given.shape);
      this.#said.textContent = `${file.name}: ${given.dtype} ${shapeText(given.shape)}`;
    } catch (problem) {
      this.#field.complain(problem);
    }
  }

  #shapeOr(fallback: () => number[]): number[] {
    try {
      return this.#dims.resolve(this.#port.shape);
    } catch {
      return fallback();
    }
  }

  #check(shape: readonly number[], what: string): void {
    const {shape: wanted} = this.#port;
    const fits =
      shape.length === wanted.length &&
      wanted.every((extent, axis) => typeof extent === 'string' || extent === shape[axis]);
    if (!fits) throw new Error(`${what} has shape ${shapeText(shape)}, the input takes ${shapeText(wanted)}`);
  }

  /** The shape of so many values, where brackets do not say it: a single open dimension follows. */
  #shapeOf(count: number): number[] {
    const {shape} = this.#port;
    const resolved = this.#dims.resolve(shape);
    if (product(resolved) === count) return resolved;
    const open = shape.flatMap((extent, axis) => (typeof extent === 'string' ? [axis] : []));
    const rest = product(resolved.filter((_, axis) => axis !== open[0]));
    if (open.length === 1 && rest > 0 && count > 0 && count % rest === 0) {
      return resolved.map((extent, axis) => (axis === open[0] ? count / rest : extent));
    }
    throw new Error(`${shapeText(resolved)} takes ${product(resolved)} values, there are ${count}`);
  }

  #typed(): Tensor | StringTensor {
    const {dtype} = this.#port;
    if (dtype === 'string') {
      const texts = this.#text.value.replace(/\n$/, '').split('\n');
      const shape = this.#shapeOf(texts.length);
      this.#dims.learn(this.#port, shape);
      return tensor(texts, shape, 'string');
    }
    const {data, shape = this.#shapeOf(data.length)} = parseTyped(this.#text.value, dtype);
    this.#check(shape, 'what is typed');
    this.#dims.learn(this.#port, shape);
    return {data, shape, dtype};
  }

  #read(): Tensor | StringTensor {
    const source = this.#source.value as Source;
    if (source === 'image' && this.#image) return this.#image.read();
    if (source === 'typed') return this.#typed();
    if (source === 'file') {
      if (!this.#given) throw new Error(`choose a file (${this.#port.dtype === 'string' ? STRING_FILES : TENSOR_FILES})`);
      return this.#given;
    }
    return filled(source, this.#port.dtype as DType, this.#dims.resolve(this.#port.shape));
  }

  read(): Tensor | StringTensor {
    this.#field.clear();
    try {
      return this.#read();
    } catch (problem) {
      this.#field.complain(problem);
      throw new FieldProblem(this.name, problem);
    }
  }
}
