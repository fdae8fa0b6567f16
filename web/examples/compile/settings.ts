/** What can be fixed of a model's inputs before compiling: as --shape, --dim, --sequence and --constant do. */
import type {CompileOptions} from '../../compiler/src/index.ts';
import {make} from '../../runtime/page/dom.ts';
import {Field, FieldProblem} from '../../runtime/page/field.ts';
import {readTensorFile, STRING_FILES, TENSOR_FILES} from '../../runtime/page/tensor_file.ts';
import type {PortInfo, StringTensor, Tensor} from '../../runtime/src/index.ts';
import {shapeText} from '../../runtime/src/values/types.ts';
import type {ModelInput} from './model_file.ts';

export interface Chosen {
  readonly options: Pick<CompileOptions, 'shapes' | 'dims' | 'lengths'>;
  readonly constants: Record<string, Tensor | StringTensor>;
}

type Extent = number | string;
const isOpen = (extent: Extent): boolean => typeof extent === 'string';

/** "1, 3, ?, 8": null leaves a dimension open. Throws an Error that says what is no dimension. */
export function parseShape(text: string, declared: readonly Extent[] | undefined): (number | null)[] {
  const words = text.replace(/^\s*\[|\]\s*$/g, '').split(/[\s,]+|(?<=\d)[x×](?=[\d?])/).filter((word) => word !== '');
  const shape = words.map((word, axis) => {
    if (word === '?' || word === declared?.[axis]) return null;
    if (!/^\d+$/.test(word)) throw new Error(`"${word}" is no dimension: write a number, or ? to leave it open`);
    return Number(word);
  });
  if (declared && shape.length !== declared.length) {
    throw new Error(`${shape.length} dimensions, the input has ${declared.length}: ${shapeText(declared)}`);
  }
  return shape;
}

function typeText({dtype, shape, sequence, optional}: ModelInput): string {
  const tensor = `${dtype} ${shape ? shapeText(shape) : '[…]'}`;
  return `${optional ? 'optional ' : ''}${sequence ? 'sequence of ' : ''}${tensor}`;
}

/** The controls of one input. */
class InputSettings {
  readonly name: string;
  readonly field: Field;
  readonly #input: ModelInput;
  readonly #shape = make('input', {type: 'text', spellcheck: false});
  readonly #given = make('input', {type: 'checkbox', checked: true});
  readonly #length = make('input', {type: 'number', min: '0', step: '1', value: '1'});
  readonly #said = make('span', {className: 'hint'});
  #constant: Tensor | StringTensor | undefined;

  constructor(input: ModelInput) {
    this.#input = input;
    this.name = input.name;
    const {shape, sequence, optional, dtype} = input;
    const body: HTMLElement[] = [];
    if (optional) body.push(make('label', {className: 'row'}, this.#given, 'given'));
    if (sequence) body.push(make('label', {className: 'row'}, 'Elements', this.#length));
    if (!shape || shape.some(isOpen)) {
      this.#shape.placeholder = shape ? shape.join(', ') : '1, 3, ?, ?';
      body.push(make('label', {className: 'row'}, 'Shape', this.#shape));
    }
    if (!sequence && !optional) {
      const picker = make('input', {type: 'file', accept: dtype === 'string' ? STRING_FILES : TENSOR_FILES});
      picker.addEventListener('change', () => void this.#take(picker));
      const clear = make('button', {type: 'button', className: 'quiet small'}, 'Not a constant');
      clear.addEventListener('click', () => {
        picker.value = '';
        void this.#take(picker);
      });
      const row = make('div', {className: 'row'}, make('label', {}, 'Value ', picker), clear, this.#said);
      body.push(make('details', {className: 'plain'}, make('summary', {}, 'Make it a constant'), row));
    }
    this.field = new Field(input.name, typeText(input), ...body);
  }

  async #take(picker: HTMLInputElement): Promise<void> {
    this.#constant = undefined;
    this.#said.textContent = '';
    this.field.clear();
    const [file] = picker.files ?? [];
    if (!file) return;
    try {
      const {name, dtype, shape} = this.#input;
      const known = shape?.map((extent) => (typeof extent === 'number' ? extent : 1)) ?? [];
      const value = await readTensorFile(file, {name, dtype: dtype as PortInfo['dtype'], shape: shape ?? []}, known);
      const fits =
        !shape ||
        (shape.length === value.shape.length && shape.every((extent, axis) => isOpen(extent) || extent === value.shape[axis]));
      if (!fits) throw new Error(`${file.name} has shape ${shapeText(value.shape)}, the input takes ${shapeText(shape)}`);
      this.#constant = value;
      this.#said.textContent = `${value.dtype} ${shapeText(value.shape)}`;
    } catch (problem) {
      this.field.complain(problem);
    }
  }

  #read(shapes: Record<string, (number | null)[]>, lengths: Record<string, number>): void {
    const {name, shape, sequence, optional} = this.#input;
    if (optional && !this.#given.checked) lengths[name] = -1;
    else if (sequence) {
      const length = Number(this.#length.value || NaN);
      if (!Number.isInteger(length) || length < 0) throw new Error('say how many elements the sequence has');
      lengths[name] = length;
    }
    if (this.#shape.value.trim() !== '') shapes[name] = parseShape(this.#shape.value, shape);
  }

  /** Adds what is fixed of this input. Throws a FieldProblem, after showing it. */
  read(
    shapes: Record<string, (number | null)[]>,
    lengths: Record<string, number>,
    constants: Record<string, Tensor | StringTensor>,
  ): void {
    this.field.clear();
    try {
      if (this.#constant) constants[this.name] = this.#constant;
      else this.#read(shapes, lengths);
    } catch (problem) {
      this.field.complain(problem);
      throw new FieldProblem(this.name, problem);
    }
  }
}

export class Settings {
  readonly #inputs: readonly InputSettings[];
  readonly #dims = new Map<string, HTMLInputElement>();

  constructor(inputs: readonly ModelInput[], place: HTMLElement) {
    this.#inputs = inputs.map((input) => new InputSettings(input));
    const names = inputs.flatMap(({shape}) => shape?.filter((extent) => typeof extent === 'string') ?? []);
    const sizes = make('div', {className: 'named'});
    for (const name of new Set(names)) {
      if (name === '?' || name === '') continue;
      const box = make('input', {type: 'number', min: '0', step: '1', placeholder: 'open'});
      sizes.append(make('label', {}, make('code', {}, name), box));
      this.#dims.set(name, box);
    }
    place.replaceChildren(...this.#inputs.map(({field}) => field.element));
    if (this.#dims.size > 0) place.append(make('div', {}, make('h3', {}, 'Dimensions'), sizes));
  }

  /** Throws a FieldProblem, after showing it. */
  read(): Chosen {
    const shapes: Record<string, (number | null)[]> = {};
    const lengths: Record<string, number> = {};
    const dims: Record<string, number> = {};
    const constants: Record<string, Tensor | StringTensor> = {};
    for (const input of this.#inputs) input.read(shapes, lengths, constants);
    for (const [name, {value, validity}] of this.#dims) {
      if (!validity.valid) throw new Error(`dimension ${name} is no whole number`);
      if (value !== '') dims[name] = Number(value);
    }
    return {options: {shapes, dims, lengths}, constants};
  }

  /** Shows a problem by the input that it names, if any. */
  complain(where: string, problem: Error): void {
    this.#inputs.find(({name}) => where === `input "${name}"`)?.field.complain(problem);
  }
}
