/** A form for each input of a model: a tensor's, a list of them for a sequence, a line for what is left out. */
import type {Group, Model, PortInfo, StringTensor, Tensor} from '../src/index.ts';
import {Dimensions} from './dimensions.ts';
import {make} from './dom.ts';
import {acceptDrops, Field} from './field.ts';
import {type InputForm, TensorInput} from './tensor_input.ts';

export type {InputForm} from './tensor_input.ts';

/** Files chosen for all elements of a sequence go to them in order. */
function sequenceForm(name: string, parts: readonly TensorInput[]): InputForm<readonly (Tensor | StringTensor)[]> {
  const picker = make('input', {type: 'file', multiple: true});
  const field = new Field(
    name,
    `sequence of ${parts.length}, as compiled`,
    make('label', {className: 'row'}, 'Elements ', make('output', {className: 'number'}, String(parts.length))),
    make('label', {className: 'row', hidden: parts.length === 0}, 'A file an element ', picker),
    ...parts.map(({element}) => element),
  );
  field.element.classList.add('list');
  const take = (files: readonly File[]): void => {
    field.clear();
    if (files.length !== parts.length) {
      field.complain(new Error(`${files.length} files for ${parts.length} elements`));
      return;
    }
    files.forEach((file, at) => void parts[at]?.take([file]));
  };
  picker.addEventListener('change', () => take([...(picker.files ?? [])]));
  acceptDrops(field.element, ({files}) => take([...files]));
  return {name, element: field.element, read: () => parts.map((part) => part.read())};
}

function absentForm(name: string): InputForm<undefined> {
  const box = make('input', {type: 'checkbox', disabled: true});
  const field = new Field(
    name,
    'optional',
    make('label', {className: 'row'}, box, 'given'),
    make('p', {className: 'hint'}, `Left out when the model was compiled (--sequence ${name}=none).`),
  );
  return {name, element: field.element, read: () => undefined};
}

/** The ports and groups of a model's inputs, in order. */
function valuesOf({inputs, groups}: Model): (PortInfo | Group)[] {
  const mine = groups.filter((group) => group.inputs !== undefined);
  const placed = [...inputs.keys()].map((at) => mine.find(({inputs: [first, count] = [0, 0]}) => at >= first && at < first + count));
  const values = inputs.map((port, at) => placed[at] ?? port);
  const empty = mine.filter(({inputs: [, count] = [0, 0]}) => count === 0);
  return [...new Set(values), ...empty];
}

export function makeForms(model: Model, place: HTMLElement): InputForm[] {
  const sizes = make('div', {});
  const dims = new Dimensions(model, sizes);
  const forms = valuesOf(model).map((value): InputForm => {
    if (!('kind' in value)) return new TensorInput(value, dims);
    const [first, count] = value.inputs ?? [0, 0];
    if (value.kind === 'optional') return absentForm(value.name);
    const parts = model.inputs.slice(first, first + count).map((port) => new TensorInput(port, dims));
    return sequenceForm(value.name, parts);
  });
  place.replaceChildren(...forms.map(({element}) => element), sizes);
  if (forms.length === 0) place.append(make('p', {className: 'hint'}, 'The model takes no inputs.'));
  return forms;
}

/** What to run the model with, by name. Throws a FieldProblem, after showing it. */
export const readForms = (forms: readonly InputForm[]): Record<string, ReturnType<InputForm['read']>> =>
  Object.fromEntries(forms.map((form) => [form.name, form.read()]));
